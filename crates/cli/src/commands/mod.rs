//! One file per command.

mod approve;
mod audit;
mod demo;
mod doctor;
mod eval;
mod explain;
mod find;
mod mcp;
mod open;
mod permissions;
mod procedure;
mod receipt;
mod receipt_verify;
mod run;
mod serve;
mod session;
mod setup_git;
mod skill;
mod skill_check;
mod skill_install;
mod skill_lock;
mod skill_sign;
mod sop;
mod stats;
mod tokens;
mod tool;
mod tool_lint;
mod touch;
mod transcript;
mod trust;
mod upstream;

use crate::args::{Arguments, Command, SetupCommand, SkillCommand};
use crate::error::CliError;
use crate::output::Output;

/// Runs the command and gives its exit code.
pub(crate) fn run(arguments: Arguments, out: &mut Output) -> Result<u8, CliError> {
    match arguments.command {
        Command::Demo(args) => demo::run(&args, out),
        Command::Doctor => doctor::run(out),
        Command::Serve(args) => serve::run(&args, out),
        Command::Run(args) => run::run(&args, out),
        Command::Skill(SkillCommand::List(args)) => skill::list(&args, out),
        Command::Skill(SkillCommand::Show(args)) => skill::show(&args, out),
        Command::Skill(SkillCommand::Check(args)) => skill_check::check(&args, out),
        Command::Skill(SkillCommand::Plan { name, place }) => skill::plan(&name, &place, out),
        Command::Skill(SkillCommand::Install(args)) => skill_install::install(&args, out),
        Command::Skill(SkillCommand::Update(args)) => skill_install::update(&args, out),
        Command::Skill(SkillCommand::Lock(args)) => skill_lock::lock(&args, out),
        Command::Skill(SkillCommand::Keygen(args)) => skill_sign::keygen(&args, out),
        Command::Skill(SkillCommand::Sign(args)) => skill_sign::sign_skill(&args, out),
        Command::Skill(SkillCommand::Verify(args)) => skill_sign::verify(&args, out),
        Command::Sop(command) => sop::run(&command, out),
        Command::Tool(command) => tool::run(&command, out),
        Command::Find(args) => find::run(&args, out),
        Command::Open(args) => open::open(&args, out),
        Command::Call(args) => open::call(&args, out),
        Command::Close(args) => open::close(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Touch(args) => touch::run(&args, out),
        Command::Trust(args) => trust::run(&args, out),
        Command::Session(command) => session::run(command, out),
        Command::Upstream(command) => upstream::run(&command, out),
        Command::Mcp(args) => mcp::run(&args, out),
        Command::Approve(command) => approve::run(&command, out),
        Command::Audit(command) => audit::run(&command, out),
        Command::Receipt(command) => receipt::run(&command, out),
        Command::Setup(SetupCommand::Git(args)) => setup_git::run(&args, out),
        Command::Permissions(command) => permissions::run(&command, out),
        Command::Eval(command) => eval::run(&command, out),
        Command::Stats(command) => stats::run(&command, out),
        Command::Tokens(args) => tokens::run(&args, out),
        Command::Guard => {
            concertina_mcp::upstream::guard(std::io::stdin().lock());
            Ok(0)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::args::command(), "concertina", &mut script);
            out.raw(&String::from_utf8_lossy(&script))?;
            Ok(0)
        }
    }
}
