//! `concertina doctor`.

use concertina_runtime::doctor;

use crate::args::{DoctorArgs, PlaceArgs};
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::place;

pub(crate) fn run(args: &DoctorArgs, out: &mut Output) -> Result<u8, CliError> {
    let place = PlaceArgs { root: args.root.clone(), ..PlaceArgs::default() };
    let workspace = place::workspace(&place, out)?;
    let report = doctor::examine(&workspace, &place::variable);
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.raw(&report.text())?;
    }
    Ok(if report.complete { 0 } else { Exit::Findings as u8 })
}
