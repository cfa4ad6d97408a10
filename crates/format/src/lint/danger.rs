//! Skills that do what cannot be undone.

use std::sync::LazyLock;

use super::Report;
use super::description::short;
use super::outline::{Outline, Piece};
use super::phrases::{Phrases, words};
use crate::skill::Document;
use crate::skill::codes::Code;

/// Text by which a body asks before it acts.
static CONFIRMATION: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "confirmation|confirmations|approval|approvals|approve|approves|approved|consent|authorization",
        "confirm|confirms … user|before|first|proceed|proceeding|with|deletion|explicitly|them|human",
        "user|human|they|you … confirm|confirms|confirmed",
        "must|to|please|asks|ask|explicitly|not|unless|until … confirm|confirmed",
        "ask|asks|asking|prompt|check|verify with|the|for|before|first|user|whether|permission",
        "ask them|your|a",
        "permission to|from|before",
        "wait|waits for",
        "explicit|explicitly request|requests|requested|instruction|ask|asks|asked|told|agree|agrees|permission",
        "unless|until|only|if|when … user … asks|says|agrees|requests|confirms|approves|explicitly",
        "askuserquestion",
        "dry run",
        "确认",
        "同意",
        "批准",
        "征得",
        "许可",
        "询问用户",
        "先问",
        "授权",
    ])
});

/// Commands that destroy, in lower case.
const COMMANDS: &[&str] = &[
    "rm -rf",
    "rm -fr",
    "rm -r ",
    "drop table",
    "drop database",
    "drop schema",
    "truncate table",
    "delete from ",
    "push --force",
    "push -f ",
    "reset --hard",
    "clean -fd",
    "terraform destroy",
    "terraform apply",
    "kubectl delete",
    "mkfs",
    "dd if=",
    "-x delete",
    "aws s3 rm",
    "npm publish",
    "cargo publish",
    "gh release create",
    "docker system prune",
];

/// Imperatives that open a step which cannot be undone.
static ACTIONS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "delete|erase|wipe|purge|overwrite|uninstall|revoke … file|files|record|records|row|rows|data|database|table|tables|user|users|account|accounts|branch|branches|directory|folder|bucket|resource|resources|message|messages|order|orders|everything|all|it|them",
        "drop the|a|all|this|that|old|every|each|any table|tables|database|databases|column|columns|schema|collection",
        "drop table|tables|database|databases|collection",
        "send … email|emails|mail|message|messages|sms|payment|money|funds|invoice|invoices|invitation|invitations|newsletter|it|them",
        "transfer|pay|refund|charge … money|funds|amount|order|orders|invoice|invoices|customer|payment|balance",
        "cancel … order|orders|subscription|subscriptions|booking|bookings",
        "publish|post … it|post|article|package|release|tweet|thread|message|page|video|campaign",
        "deploy … production|prod|live",
        "place … order|orders",
        "buy|sell … shares|stock|token|tokens|position|asset",
    ])
});

/// The same in Chinese, at the beginning of a step.
const ACTIONS_CHINESE: &[&str] = &[
    "删除文件",
    "删除数据",
    "删除记录",
    "删除页面",
    "删除文章",
    "删除用户",
    "删除邮件",
    "删除所有",
    "删除该",
    "删除这",
    "删除订单",
    "覆盖文件",
    "覆盖原",
    "覆盖写入",
    "清空",
    "发送邮件",
    "发送电子邮件",
    "发送消息",
    "发送短信",
    "发送到",
    "发送给",
    "发布到",
    "发布文章",
    "转账",
    "退款给",
    "付款",
    "下单",
    "部署到生产",
];

/// What a cleaning may delete: it can be made again.
const REMADE: &[&str] = &[
    "/tmp",
    "node_modules",
    "target",
    "dist",
    "build",
    "deriveddata",
    "cache",
    "__pycache__",
    "coverage",
    "tmp/",
    ".next",
];

/// Methods that change nothing (RFC 9110, section 9.2.1).
const SAFE_METHODS: &[&str] = &["GET", "HEAD", "OPTIONS", "TRACE"];

pub(super) fn look(document: &Document, outline: &Outline, report: &mut Report<'_>) {
    let asks = || {
        let prose = outline.words().any(|piece| CONFIRMATION.is_in(&piece.text));
        // Bodies show the question itself in a block.
        prose || outline.blocks.iter().any(|piece| CONFIRMATION.is_in(&piece.text))
    };
    let Some((at, what)) = danger(document, outline) else { return };
    if asks() {
        return;
    }
    let message = format!("{what}, and the body asks for no confirmation");
    match at {
        Some(at) => report.body(Code::NoConfirmation, at, message),
        None => report.whole(Code::NoConfirmation, message),
    }
}

/// What is dangerous about a skill, and where the body says so.
fn danger(document: &Document, outline: &Outline) -> Option<(Option<usize>, String)> {
    let permissions = &document.permissions;
    let declared = [
        ("write files", permissions.write.iter().any(|scope| !scope.paths.is_empty())),
        ("run commands", !permissions.execute.is_empty()),
        (
            "change what others hold on the network",
            permissions.network.iter().any(|scope| {
                scope.methods.iter().any(|method| !SAFE_METHODS.contains(&method.as_str()))
            }),
        ),
        ("do what it says needs consent", !permissions.confirm.is_empty()),
    ];
    if let Some((what, _)) = declared.iter().find(|(_, declared)| *declared) {
        return Some((None, format!("the skill may {what}")));
    }
    let code = outline.blocks.iter().chain(&outline.spans).find_map(command);
    let step = || outline.prose.iter().find_map(action);
    code.or_else(step).map(|(at, words)| (Some(at), format!("the body says `{}`", short(words))))
}

fn command(piece: &Piece) -> Option<(usize, &str)> {
    let lower = piece.text.to_ascii_lowercase();
    COMMANDS.iter().find_map(|command| {
        let at = lower.find(command)?;
        let start = piece.text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
        let line = piece.text.get(start..)?.lines().next()?.trim();
        // A comment or a rule against it is no order.
        let order = !line.starts_with(['#', '/'])
            && !["never", "don't", "not "]
                .iter()
                .any(|no| lower.get(start..at).unwrap_or_default().contains(no));
        let cleaning = command.starts_with("rm ") && {
            let line = line.to_ascii_lowercase();
            REMADE.iter().any(|name| line.contains(name))
        };
        (order && !cleaning).then_some((piece.at + start, line))
    })
}

/// A paragraph or item that begins with an order which cannot be undone.
fn action(piece: &Piece) -> Option<(usize, &str)> {
    let text = piece.text.trim_start_matches(|c: char| !c.is_alphabetic());
    let skipped = piece.text.len() - text.len();
    if ACTIONS_CHINESE.iter().any(|action| text.starts_with(action)) {
        return Some((piece.at, text.lines().next()?));
    }
    // An order begins with its verb, possibly after `then`.
    let (at, found) = ACTIONS.find(text)?;
    let before = words(text.get(..at)?);
    let opens = before
        .iter()
        .all(|word| matches!(word.folded.as_str(), "then" | "next" | "finally" | "now" | "and"));
    opens.then_some((piece.at + skipped, found))
}
