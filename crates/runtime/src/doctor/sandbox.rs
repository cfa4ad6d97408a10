//! How programs are held on this machine, tried.

use concertina_format::config::Tier as Floor;
use concertina_sandbox::{Confinement, Limits, Network, Tier, choose, self_test};

use super::report::SandboxReport;
use crate::tools::machine;
use crate::workspace::Workspace;

/// What runs where, and whether the tier for programs that write is worth what it says.
pub(super) fn report(workspace: &Workspace) -> SandboxReport {
    let machine = machine();
    let lines: Vec<String> = machine.to_string().lines().map(str::to_owned).collect();
    let mut report = SandboxReport {
        reading: None,
        writing: None,
        reason: None,
        machine: lines,
        tried: 0,
        open: Vec::new(),
    };
    let floor = match workspace.loaded().config.sandbox.tier {
        Floor::None => {
            let why = "`tier = \"none\"` under [sandbox]: programs run with all that you may do";
            report.reason = Some(why.to_owned());
            return report;
        }
        Floor::L1 => Tier::L1,
        Floor::L2 => Tier::L2,
        Floor::L3 => Tier::L3,
    };
    let of = |write: &[&str]| {
        choose(
            &Confinement {
                read: Vec::new(),
                write: write.iter().map(Into::into).collect(),
                execute: Vec::new(),
                protect: Vec::new(),
                closed: Vec::new(),
                pins: Vec::new(),
                network: Network::None,
                at_least: floor,
                limits: Limits::default(),
            },
            machine,
        )
    };
    for (slot, write) in [(&mut report.reading, &[][..]), (&mut report.writing, &["/tmp"])] {
        match of(write) {
            Ok(choice) => *slot = Some(choice.tier.to_string()),
            Err(error) => report.reason = Some(error.to_string()),
        }
    }
    let highest = of(&["/tmp"]).or_else(|_| of(&[])).ok().map(|choice| choice.tier);
    if let Some(tier) = highest {
        match self_test(machine, tier) {
            Ok(escapes) => {
                report.tried = escapes.len();
                let open = escapes.iter().filter(|escape| !escape.is_held);
                report.open = open.map(|escape| escape.name.to_owned()).collect();
            }
            Err(error) => report.reason = Some(error.to_string()),
        }
    }
    report
}
