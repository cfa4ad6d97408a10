//! From a table of calls to the program that the kernel runs for each of them.
//!
//! The calls are put into ranges with one answer, and the ranges into a search tree: the kernel runs
//! the program once for every call there is when it is loaded, so a list of comparisons would cost
//! more than all the rest of a start.

use super::{Rule, Test, Verdict};

/// One instruction of a filter, as the kernel takes it.
pub(in crate::linux) type Instruction = libc::sock_filter;

/// Where things are in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

/// The last call that the table was written for. A newer one could be anything, and programs know
/// how to live without it: it is answered like one that there is not. This also covers the numbers of
/// the x32 interface, which start far above.
pub(super) const LAST: u32 = 469;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const RETURN_ALLOW: u32 = 0x7fff_0000;
const RETURN_ERRNO: u32 = 0x0005_0000;
const RETURN_KILL_PROCESS: u32 = 0x8000_0000;

/// The filter that answers as `rules` say.
pub(in crate::linux) fn compile(rules: &[Rule]) -> Vec<Instruction> {
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        // Another interface to the same kernel has other numbers: `int 0x80` of 32-bit programs.
        branch(JUMP_EQUAL, NATIVE, 1, 0),
        answer(Verdict::Kill),
        plain(LOAD, NUMBER),
    ];
    program.extend(tree(&ranges(rules)));
    program
}

/// Calls from `start` on, up to the next range, and the rules for them.
struct Range<'a> {
    start: u32,
    rules: Vec<&'a Rule>,
}

fn ranges(rules: &[Rule]) -> Vec<Range<'_>> {
    let mut by_number: Vec<Vec<&Rule>> = vec![Vec::new(); LAST as usize + 1];
    for rule in rules {
        for call in rule.calls {
            let own = usize::try_from(*call).ok().and_then(|number| by_number.get_mut(number));
            if let Some(own) = own {
                own.push(rule);
            }
        }
    }
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for (start, own) in (0..).zip(by_number) {
        let is_same = ranges.last().is_some_and(|last| {
            last.rules.len() == own.len()
                && last.rules.iter().zip(&own).all(|(a, b)| std::ptr::eq(*a, *b))
        });
        if !is_same {
            ranges.push(Range { start, rules: own });
        }
    }
    ranges.push(Range { start: LAST + 1, rules: vec![&UNKNOWN] });
    ranges
}

/// Calls that are not known.
static UNKNOWN: Rule = Rule { calls: &[], tests: &[], verdict: Verdict::Refuse(libc::ENOSYS) };

fn tree(ranges: &[Range<'_>]) -> Vec<Instruction> {
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let Some(pivot) = right.first() else { return vec![answer(Verdict::Allow)] };
    if left.is_empty() {
        return leaf(&pivot.rules);
    }
    let left = tree(left);
    // A conditional jump reaches 255 instructions, a plain one any.
    let over_left = u32::try_from(left.len()).unwrap_or(u32::MAX);
    let mut program = vec![branch(JUMP_AT_LEAST, pivot.start, 0, 1), plain(JUMP, over_left)];
    program.extend(left);
    program.extend(tree(right));
    program
}

fn leaf(rules: &[&Rule]) -> Vec<Instruction> {
    let mut program = Vec::new();
    for rule in rules {
        if rule.tests.is_empty() {
            program.push(answer(rule.verdict));
            return program;
        }
        for test in rule.tests {
            program.extend(tested(*test, rule.verdict));
        }
    }
    program.push(answer(Verdict::Allow));
    program
}

/// Answers `verdict` where `test` holds, and goes on behind it where it does not.
fn tested(test: Test, verdict: Verdict) -> Vec<Instruction> {
    match test {
        Test::In { argument, mask, values } => {
            let mut program = masked(argument, mask);
            for (index, value) in values.iter().enumerate() {
                let rest = values.len() - index - 1;
                // Equal: over the other comparisons to the answer. After the last: over the answer.
                program.push(branch(JUMP_EQUAL, *value, short(rest), u8::from(rest == 0)));
            }
            program.push(answer(verdict));
            program
        }
        Test::NotIn { argument, mask, values } => {
            let mut program = masked(argument, mask);
            for (index, value) in values.iter().enumerate() {
                let rest = values.len() - index - 1;
                // Equal: over the other comparisons and over the answer.
                program.push(branch(JUMP_EQUAL, *value, short(rest + 1), 0));
            }
            program.push(answer(verdict));
            program
        }
        Test::NotNull { argument } => vec![
            plain(LOAD, lower(argument)),
            branch(JUMP_EQUAL, 0, 0, 2),
            plain(LOAD, lower(argument) + 4),
            branch(JUMP_EQUAL, 0, 1, 0),
            answer(verdict),
        ],
    }
}

fn masked(argument: u8, mask: u32) -> Vec<Instruction> {
    let mut program = vec![plain(LOAD, lower(argument))];
    if mask != u32::MAX {
        program.push(plain(AND, mask));
    }
    program
}

/// The lower half of an argument; every supported processor is little-endian.
const fn lower(argument: u8) -> u32 {
    ARGUMENTS + 8 * argument as u32
}

/// A distance within one rule of the table; none has more than a few values.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

const fn plain(code: u16, k: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k }
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

const fn answer(verdict: Verdict) -> Instruction {
    plain(
        RETURN,
        match verdict {
            Verdict::Allow => RETURN_ALLOW,
            Verdict::Refuse(number) => RETURN_ERRNO | number.cast_unsigned(),
            Verdict::Kill => RETURN_KILL_PROCESS,
        },
    )
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "halves of words are meant")]
mod test {
    use super::super::{Profile, table};
    use super::*;

    /// What the table says, read line by line.
    fn said(rules: &[Rule], number: u32, arguments: [u64; 6]) -> u32 {
        if number > LAST {
            return RETURN_ERRNO | libc::ENOSYS.cast_unsigned();
        }
        for rule in rules {
            if !rule.calls.contains(&libc::c_long::from(number)) {
                continue;
            }
            let holds = |test: &Test| match *test {
                Test::In { argument, mask, values } => {
                    values.contains(&(arguments[argument as usize] as u32 & mask))
                }
                Test::NotIn { argument, mask, values } => {
                    !values.contains(&(arguments[argument as usize] as u32 & mask))
                }
                Test::NotNull { argument } => arguments[argument as usize] != 0,
            };
            if rule.tests.is_empty() || rule.tests.iter().any(holds) {
                return answer(rule.verdict).k;
            }
        }
        RETURN_ALLOW
    }

    /// What the kernel would do: the instructions, one after the other.
    fn done(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            NUMBER => number,
            ARCHITECTURE => architecture,
            _ => {
                let argument = arguments[(offset - ARGUMENTS) as usize / 8];
                if (offset - ARGUMENTS).is_multiple_of(8) {
                    argument as u32
                } else {
                    (argument >> 32) as u32
                }
            }
        };
        let (mut at, mut value) = (0_usize, 0_u32);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            at += 1;
            let mut jump = |is_so: bool| at += usize::from(if is_so { jt } else { jf });
            match code {
                LOAD => value = word(k),
                AND => value &= k,
                JUMP => at += k as usize,
                JUMP_EQUAL => jump(value == k),
                JUMP_AT_LEAST => jump(value >= k),
                RETURN => return k,
                other => panic!("unknown instruction {other}"),
            }
        }
    }

    fn profiles() -> Vec<Profile> {
        (0..8)
            .map(|bits| Profile {
                is_networked: bits & 1 != 0,
                is_mounted: bits & 2 != 0,
                may_signal: bits & 4 != 0,
            })
            .collect()
    }

    #[test]
    fn the_filter_answers_what_the_table_says() {
        let interesting: Vec<u64> = [0_u64, 1, 2, 3, 5, 6, 10, 16, 38, 132, 0x5412, 0x541c]
            .into_iter()
            .chain([u64::MAX, 1 << 32, (1 << 32) | 0x5412, 0o4755, 0o2755, 0o644, 0o60000])
            .chain((0..32).map(|bit| 1 << bit))
            .collect();
        // A walk over all pairs of values, the rest drawn by a linear congruence.
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            interesting[(state >> 33) as usize % interesting.len()]
        };
        for profile in profiles() {
            let rules = table(profile);
            let program = compile(&rules);
            for number in (0..=LAST + 3).chain([0x4000_0000, 0x4000_003b, u32::MAX]) {
                for _ in 0..60 {
                    let arguments = [next(), next(), next(), next(), next(), next()];
                    assert_eq!(
                        done(&program, NATIVE, number, arguments),
                        said(&rules, number, arguments),
                        "{profile:?} {number} {arguments:x?}"
                    );
                }
            }
        }
    }

    #[test]
    fn another_interface_to_the_kernel_kills() {
        for profile in profiles() {
            let program = compile(&table(profile));
            assert_eq!(done(&program, 0x4000_0003, 1, [0; 6]), RETURN_KILL_PROCESS);
        }
    }

    #[test]
    fn the_filter_fits_the_kernel() {
        for profile in profiles() {
            let length = compile(&table(profile)).len();
            assert!(length < 4096, "{length}");
        }
    }
}
