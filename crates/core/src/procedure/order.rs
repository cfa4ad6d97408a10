//! Skills that have to be done before others.

use std::collections::BTreeSet;
use std::fmt;

/// Skills that wait for each other, in order; the first stands again at the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Cycle(pub Vec<String>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "these skills require each other: {}", self.0.join(" → "))
    }
}

/// Everything that `skill` needs, in an order in which it can be done, `skill` last.
///
/// `requires` gives the direct needs of a skill. Skills of equal standing keep the order in which
/// they are named.
///
/// ```
/// use concertina_core::procedure::closure;
/// let requires = |name: &str| match name {
///     "report" => vec!["analyse".to_owned()],
///     "analyse" => vec!["query".to_owned()],
///     _ => vec![],
/// };
/// assert_eq!(closure("report", &requires)?, ["query", "analyse", "report"]);
/// # Ok::<(), concertina_core::procedure::Cycle>(())
/// ```
pub fn closure(skill: &str, requires: &dyn Fn(&str) -> Vec<String>) -> Result<Vec<String>, Cycle> {
    let mut ordered = Vec::new();
    let mut done = BTreeSet::new();
    let mut under_way = BTreeSet::from([skill.to_owned()]);
    // Each frame is a skill and what is still to be visited of its needs. An explicit stack, since
    // the depth is given by files that anyone may write.
    let mut stack = vec![(skill.to_owned(), requires(skill).into_iter())];
    while let Some((_, needs)) = stack.last_mut() {
        match needs.next() {
            Some(need) if done.contains(&need) => {}
            Some(need) => {
                if !under_way.insert(need.clone()) {
                    let names = stack.into_iter().map(|(name, _)| name);
                    let mut cycle: Vec<_> = names.skip_while(|name| *name != need).collect();
                    cycle.push(need);
                    return Err(Cycle(cycle));
                }
                let needs = requires(&need).into_iter();
                stack.push((need, needs));
            }
            None => {
                if let Some((name, _)) = stack.pop() {
                    under_way.remove(&name);
                    done.insert(name.clone());
                    ordered.push(name);
                }
            }
        }
    }
    Ok(ordered)
}

/// What of `skill`'s needs has not been `opened` yet, in the order in which to open it.
pub fn missing(
    skill: &str,
    requires: &dyn Fn(&str) -> Vec<String>,
    opened: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, Cycle> {
    let mut needed = closure(skill, requires)?;
    needed.pop();
    needed.retain(|name| !opened(name));
    Ok(needed)
}
