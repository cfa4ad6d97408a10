//! Events from commands.

mod calls;
mod changes;
mod commands;
mod consent;
mod draft;
mod fold;
mod fork;
mod open;
mod procedure;
mod turn;

use concertina_types::Timestamp;

use super::answer::{Answer, Refusal};
use super::approval::Ask;
use super::command::Command;
use super::skill::PreparedSkill;
use super::state::State;
use super::ticket::Intent;
use super::world::World;
use draft::Deciding;

/// What a command leads to. The runtime stores `content`, appends `drafts` with compare-and-set at
/// the state's sequence number, and only then acts.
#[derive(Debug, Default)]
pub struct Decision {
    /// The events, in order.
    pub drafts: Vec<concertina_types::Draft>,
    /// Texts that the events name by digest.
    pub content: Vec<String>,
    /// What whoever asked is told, unless that waits for an effect.
    pub answer: Option<Answer>,
    /// Why the request was not met, where it was not. The answer says the same.
    pub refusal: Option<Refusal>,
    /// The question that a person has to answer before the request can be met. Then there is no answer
    /// yet: the same command is given again once they did, or the request is refused.
    pub ask: Option<Ask>,
    /// Questions about checkpoints that were asked with it; nothing waits for the answers but the procedure.
    pub waits: Vec<Ask>,
    /// What the model was shown of the index without having asked.
    pub shown: Option<String>,
    /// The call to run once the events are in the log.
    pub intent: Option<Intent>,
    /// The skill to fork once the events are in the log.
    pub fork: Option<Box<PreparedSkill>>,
}

/// What `command`, given at `now`, leads to in `state`. Pure: the same input, the same decision.
pub fn decide(state: &State, world: &World<'_>, now: Timestamp, command: Command) -> Decision {
    let world = &World { now: Some(now), ..*world };
    let mut deciding = Deciding::new(state, world, now);
    match command {
        Command::Start { principal, parent, mode, settings } => {
            deciding.start(principal, parent, mode, settings);
        }
        Command::Settings { settings } => deciding.settings(settings),
        Command::Index { snapshot } => deciding.index(snapshot),
        Command::Task { text } => deciding.task(text),
        Command::Turn => deciding.turn(),
        Command::Touch { path, activated, nested } => deciding.touch(&path, activated, nested),
        Command::Find { origin, query, hits, enough, words_alone } => {
            deciding.find(&origin, query, &hits, enough, words_alone);
        }
        Command::OpenSkill { origin, skill, can_fork, held } => {
            deciding.open_skill(&origin, skill, can_fork, held.as_deref());
        }
        Command::OpenRoot { origin } => deciding.open_root(&origin),
        Command::OpenMenu { origin, menu } => deciding.open_menu(&origin, &menu),
        Command::OpenTool { origin, tool, lines } => deciding.open_tool(&origin, &tool, lines),
        Command::Show { origin, shown } => deciding.show(&origin, shown),
        Command::MayOpen { origin, skill } => deciding.may_open(&origin, &skill),
        Command::Call { origin, tool, arguments, targets } => {
            deciding.call(&origin, &tool, arguments, targets);
        }
        Command::RunCommand { origin, skill, command, targets } => {
            deciding.run_command(&origin, &skill, &command, targets);
        }
        Command::Agree { id, scope, by, typed } => {
            deciding.agree(&id, scope, by, typed.as_deref());
        }
        Command::Disagree { id, by } => deciding.disagree(&id, by),
        Command::Follow { origin, texts, inputs } => deciding.follow(&origin, texts, inputs),
        Command::Leave { origin } => deciding.leave(&origin),
        Command::Look { inputs } => deciding.look(inputs),
        Command::Hear(statement) => deciding.hear(*statement),
        Command::Settle { id, outcome, output, held } => {
            deciding.settle(id, outcome, &output, held);
        }
        Command::Done { origin, id, outcome, output, held } => {
            deciding.done(&origin, id, outcome, &output, held);
        }
        Command::Forked { child, skill } => deciding.forked(child, skill),
        Command::Joined { origin, unfolded } => deciding.joined(&origin, unfolded),
        Command::Close { origin, reference } => deciding.close(&origin, &reference),
        Command::Refuse { origin, request, refusal } => {
            deciding.refuse(&origin, request, refusal);
        }
        Command::Decline { origin, request, refusal } => {
            deciding.decline(&origin, request, refusal);
        }
        Command::Compact => deciding.compact(),
        Command::Recover => deciding.recover(),
        Command::Observe(fact, content) => deciding.observe(*fact, content),
    }
    deciding.into_decision()
}
