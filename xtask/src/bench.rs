//! What a cold listing costs, beside the floor: a program that only reads the same bytes.
//!
//! CPU time is user and system time of the process as the kernel counts it (`wait4`), so that other
//! work on the machine disturbs it little; the best of several runs is the one disturbed least. The
//! kernel starts counting the peak before the new program is loaded, so none is below this program's.

pub(crate) mod mcp;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use wait4::Wait4 as _;

use crate::Outcome;
use crate::workspace::Workspace;

/// The size named in the project's bar for a cold start.
const SKILLS: usize = 2_000;
const SKILL_BYTES: usize = 4 * 1024;
/// Runs of each command.
const RUNS: usize = 20;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    cpu: Duration,
    /// The most memory it held, in bytes.
    peak: u64,
}

/// Builds, generates the skills, measures, prints.
pub(crate) fn run(workspace: &Workspace) -> Outcome<()> {
    let build = ["build", "--release", "-p", "concertina-cli", "-p", "xtask"];
    if !workspace.cargo(&build).status()?.success() {
        return Err("the release build failed".into());
    }
    let programs = workspace.target_directory()?.join("release");
    let skills = tempfile::tempdir()?;
    generate(skills.path())?;
    let root = skills.path().to_str().ok_or("the temporary directory is not UTF-8")?;

    let rows: [(&str, &str, &[&str]); 3] = [
        ("floor", "xtask", &["floor", root]),
        ("--version", "concertina", &["--version"]),
        ("skill list", "concertina", &["skill", "list", "--root", root]),
    ];
    println!(
        "{SKILLS} skills of {SKILL_BYTES} bytes; best and median of {RUNS} runs; CPU = user + system"
    );
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "best ms", "median ms", "of floor", "peak MB", "of floor"
    );
    let mut floor = None;
    for (title, program, arguments) in rows {
        let costs = (0..RUNS)
            .map(|_| measure(&programs.join(program), arguments))
            .collect::<Outcome<Vec<_>>>()?;
        let (best, median) = best_and_median(&costs).ok_or("nothing was measured")?;
        println!("{}", row(title, best, median, *floor.get_or_insert(best)));
    }
    Ok(())
}

/// Reads every SKILL.md below a directory; the number of bytes.
pub(crate) fn floor(directory: &Path) -> Outcome<usize> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        bytes += fs::read(entry?.path().join("SKILL.md"))?.len();
    }
    Ok(bytes)
}

fn generate(root: &Path) -> Outcome<()> {
    for number in 0..SKILLS {
        let directory = root.join(format!("skill-{number:04}"));
        fs::create_dir(&directory)?;
        fs::write(directory.join("SKILL.md"), skill(number)?)?;
    }
    Ok(())
}

/// A skill of exactly [`SKILL_BYTES`]; its words vary with its number.
fn skill(number: usize) -> Outcome<String> {
    const VERBS: &[&str] = &["Summarises", "Checks", "Converts", "Plans", "Repairs", "Compares"];
    const OBJECTS: &[&str] = &["invoices", "schemas", "test reports", "logs", "release notes"];
    let pick = |words: &[&'static str], n: usize| words.get(n % words.len()).copied().unwrap_or("");
    let (verb, object) = (pick(VERBS, number), pick(OBJECTS, number / VERBS.len()));
    let mut text = format!(
        "---\nname: skill-{number:04}\ndescription: {verb} {object} of team {number}. \
         Use when someone asks for {object}. Not for anything else.\nversion: 1.0.{number}\n---\n\n# {verb} {object}\n"
    );
    for step in 1.. {
        if text.len() >= SKILL_BYTES {
            break;
        }
        write!(text, "\n{step}. Read the next of the {object} and write down what differs.")?;
    }
    text.truncate(SKILL_BYTES - 1);
    text.push('\n');
    Ok(text)
}

fn measure(program: &Path, arguments: &[&str]) -> Outcome<Cost> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let used = child.wait4()?;
    if !used.status.success() {
        let mut words = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut words)?;
        }
        let command = format!("{} {}", program.display(), arguments.join(" "));
        return Err(format!("`{command}` ended with {}: {}", used.status, words.trim_end()).into());
    }
    Ok(Cost { cpu: used.rusage.utime + used.rusage.stime, peak: used.rusage.maxrss })
}

/// The least CPU time and the least peak; the median of each.
fn best_and_median(costs: &[Cost]) -> Option<(Cost, Cost)> {
    let mut cpu: Vec<_> = costs.iter().map(|cost| cost.cpu).collect();
    let mut peak: Vec<_> = costs.iter().map(|cost| cost.peak).collect();
    cpu.sort();
    peak.sort_unstable();
    let at = |n: usize| Some(Cost { cpu: *cpu.get(n)?, peak: *peak.get(n)? });
    Some((at(0)?, at(costs.len() / 2)?))
}

fn row(title: &str, best: Cost, median: Cost, floor: Cost) -> String {
    let ms = |cost: Cost| cost.cpu.as_secs_f64() * 1e3;
    #[allow(clippy::cast_precision_loss, reason = "a few megabytes, shown with one decimal")]
    let mb = |cost: Cost| cost.peak as f64 / 1e6;
    format!(
        "{title:<12} {:>9.1} {:>9.1} {:>9.2} {:>9.1} {:>9.2}",
        ms(best),
        ms(median),
        ms(best) / ms(floor),
        mb(best),
        mb(best) / mb(floor)
    )
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn skills_have_the_size_they_claim() {
        for number in [0, 7, SKILLS - 1] {
            let text = skill(number).unwrap();
            assert_eq!(text.len(), SKILL_BYTES);
            assert!(text.starts_with(&format!("---\nname: skill-{number:04}\n")), "{text}");
        }
    }

    #[test]
    fn the_floor_reads_every_byte() {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in [("a", "12"), ("b", "345")] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("SKILL.md"), content).unwrap();
        }
        assert_eq!(floor(root.path()).unwrap(), 5);
    }

    #[test]
    fn the_best_run_is_shown_beside_the_median() {
        let cost = |ms, peak| Cost { cpu: Duration::from_millis(ms), peak };
        let (best, median) =
            best_and_median(&[cost(9, 4_000_000), cost(3, 6_000_000), cost(5, 5_000_000)]).unwrap();
        assert_eq!((best, median), (cost(3, 4_000_000), cost(5, 5_000_000)));
        let row = row("x", best, median, cost(2, 2_000_000));
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["x", "3.0", "5.0", "1.50", "4.0", "2.00"]
        );
        assert!(best_and_median(&[]).is_none());
    }

    #[test]
    fn a_process_costs_something() {
        let cost =
            measure(Path::new("sh"), &["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]);
        let cost = cost.unwrap();
        assert!(cost.cpu > Duration::ZERO && cost.peak > 100_000, "{cost:?}");
        assert!(measure(Path::new("sh"), &["-c", "echo why >&2; exit 3"]).is_err());
    }
}
