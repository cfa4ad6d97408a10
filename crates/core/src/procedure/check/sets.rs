//! Sets of answers to many yes-or-no questions at once, as reduced ordered decision diagrams.
//!
//! Twenty checkpoints that any call may win or lose make millions of situations for each state, nearly all of which
//! are alike. A diagram holds them in a few nodes, so that the check can be exact where a list of situations could
//! only give up. See Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", 1986. The crates that do
//! this bring threads or random numbers, which have no place here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A question, by its place in the order in which they are asked.
pub(super) type Variable = u32;

/// A set of answers. The same set is always the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Set(u32);

impl Set {
    /// No answers.
    pub(super) const NONE: Self = Self(0);
    /// All of them.
    pub(super) const ALL: Self = Self(1);

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }
}

/// Answers to all questions.
pub(super) type Point = Vec<bool>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    variable: Variable,
    no: Set,
    yes: Set,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    And,
    Or,
    Without,
    Not,
    Forget,
    Lower,
    Raise,
}

/// All sets of one check.
#[derive(Debug)]
pub(super) struct Sets {
    nodes: Vec<Node>,
    known: HashMap<Node, Set, Quick>,
    done: HashMap<(Operation, Set, Set), Set, Quick>,
    limit: usize,
    is_full: bool,
}

impl Sets {
    /// Room for `limit` nodes.
    pub(super) fn new(limit: usize) -> Self {
        let end = |set| Node { variable: Variable::MAX, no: set, yes: set };
        Self {
            nodes: vec![end(Set::NONE), end(Set::ALL)],
            known: HashMap::default(),
            done: HashMap::default(),
            limit,
            is_full: false,
        }
    }

    /// Whether there was no room for a set. From then on answers mean nothing.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Gives `more` room after a question was too much: its own answer is lost, those before it stand.
    pub(super) fn give_up(&mut self, more: usize) {
        self.limit += more;
        self.is_full = false;
        self.done.clear();
    }

    fn node(&self, set: Set) -> Node {
        let end = Node { variable: Variable::MAX, no: Set::NONE, yes: Set::NONE };
        self.nodes.get(set.0 as usize).copied().unwrap_or(end)
    }

    fn make(&mut self, node: Node) -> Set {
        if node.no == node.yes {
            return node.no;
        }
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let room = u32::try_from(self.nodes.len()).ok().filter(|_| self.nodes.len() < self.limit);
        let Some(at) = room else {
            self.is_full = true;
            return Set::NONE;
        };
        self.nodes.push(node);
        self.known.insert(node, Set(at));
        Set(at)
    }

    /// Where `variable` is answered with yes, or with no.
    pub(super) fn literal(&mut self, variable: Variable, is: bool) -> Set {
        let (no, yes) = if is { (Set::NONE, Set::ALL) } else { (Set::ALL, Set::NONE) };
        self.make(Node { variable, no, yes })
    }

    /// Where all of `literals` are as they say.
    pub(super) fn cube(&mut self, literals: impl IntoIterator<Item = (Variable, bool)>) -> Set {
        let mut literals: Vec<_> = literals.into_iter().collect();
        // From the last question on, so that each step adds one node on top.
        literals.sort_unstable_by(|a, b| b.cmp(a));
        literals.into_iter().fold(Set::ALL, |all, (variable, is)| {
            let literal = self.literal(variable, is);
            self.and(literal, all)
        })
    }

    pub(super) fn and(&mut self, a: Set, b: Set) -> Set {
        match (a.min(b), a.max(b)) {
            (Set::NONE, _) => Set::NONE,
            (Set::ALL, other) => other,
            (same, other) if same == other => same,
            (first, second) => self.apply(Operation::And, first, second),
        }
    }

    pub(super) fn or(&mut self, a: Set, b: Set) -> Set {
        match (a.min(b), a.max(b)) {
            (Set::NONE, other) => other,
            (Set::ALL, _) => Set::ALL,
            (same, other) if same == other => same,
            (first, second) => self.apply(Operation::Or, first, second),
        }
    }

    /// What is in `a` and not in `b`.
    pub(super) fn without(&mut self, a: Set, b: Set) -> Set {
        match (a, b) {
            (Set::NONE, _) | (_, Set::ALL) => Set::NONE,
            (_, Set::NONE) => a,
            (Set::ALL, _) => self.not(b),
            _ if a == b => Set::NONE,
            _ => self.apply(Operation::Without, a, b),
        }
    }

    fn apply(&mut self, operation: Operation, a: Set, b: Set) -> Set {
        let key = (operation, a, b);
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        let (left, right) = (self.node(a), self.node(b));
        let variable = left.variable.min(right.variable);
        let of = |node: Node, set: Set| {
            if node.variable == variable { (node.no, node.yes) } else { (set, set) }
        };
        let ((left_no, left_yes), (right_no, right_yes)) = (of(left, a), of(right, b));
        let (no, yes) = match operation {
            Operation::And => (self.and(left_no, right_no), self.and(left_yes, right_yes)),
            Operation::Or => (self.or(left_no, right_no), self.or(left_yes, right_yes)),
            _ => (self.without(left_no, right_no), self.without(left_yes, right_yes)),
        };
        let made = self.make(Node { variable, no, yes });
        self.done.insert(key, made);
        made
    }

    pub(super) fn not(&mut self, set: Set) -> Set {
        match set {
            Set::NONE => return Set::ALL,
            Set::ALL => return Set::NONE,
            _ => {}
        }
        let key = (Operation::Not, set, set);
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        let Node { variable, no, yes } = self.node(set);
        let (no, yes) = (self.not(no), self.not(yes));
        let made = self.make(Node { variable, no, yes });
        self.done.insert(key, made);
        self.done.insert((Operation::Not, made, made), set);
        made
    }

    /// Whether all of `a` is in `b`.
    pub(super) fn is_within(&mut self, a: Set, b: Set) -> bool {
        self.without(a, b).is_empty()
    }

    /// Where `a` and `b` answer alike.
    pub(super) fn same(&mut self, a: Set, b: Set) -> Set {
        let both = self.and(a, b);
        let either = self.or(a, b);
        let neither = self.not(either);
        self.or(both, neither)
    }

    /// `set`, whatever the answers to `variables`, a cube of them.
    pub(super) fn forget(&mut self, set: Set, variables: Set) -> Set {
        if set == Set::NONE || set == Set::ALL || variables == Set::ALL {
            return set;
        }
        let (node, asked) = (self.node(set), self.node(variables));
        if asked.variable < node.variable {
            return self.forget(set, asked.yes);
        }
        let key = (Operation::Forget, set, variables);
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        let rest = if asked.variable == node.variable { asked.yes } else { variables };
        let (no, yes) = (self.forget(node.no, rest), self.forget(node.yes, rest));
        let made = if asked.variable == node.variable {
            self.or(no, yes)
        } else {
            self.make(Node { variable: node.variable, no, yes })
        };
        self.done.insert(key, made);
        made
    }

    /// `set`, and with each of its points those in which fewer of `variables` are yes.
    pub(super) fn lowered(&mut self, set: Set, variables: Set) -> Set {
        self.shifted(Operation::Lower, set, variables)
    }

    /// `set`, and with each of its points those in which more of `variables` are yes.
    pub(super) fn raised(&mut self, set: Set, variables: Set) -> Set {
        self.shifted(Operation::Raise, set, variables)
    }

    fn shifted(&mut self, operation: Operation, set: Set, variables: Set) -> Set {
        if set == Set::NONE || set == Set::ALL || variables == Set::ALL {
            return set;
        }
        let (node, asked) = (self.node(set), self.node(variables));
        if asked.variable < node.variable {
            return self.shifted(operation, set, asked.yes);
        }
        let key = (operation, set, variables);
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        let is_asked = asked.variable == node.variable;
        let rest = if is_asked { asked.yes } else { variables };
        let mut no = self.shifted(operation, node.no, rest);
        let mut yes = self.shifted(operation, node.yes, rest);
        match operation {
            Operation::Lower if is_asked => no = self.or(no, yes),
            Operation::Raise if is_asked => yes = self.or(no, yes),
            _ => {}
        }
        let made = self.make(Node { variable: node.variable, no, yes });
        self.done.insert(key, made);
        made
    }

    /// One point of `set`, with as few yeses as the order of the questions allows.
    pub(super) fn pick(&self, set: Set, variables: usize) -> Option<Point> {
        let mut point = vec![false; variables];
        let mut at = set;
        while at != Set::ALL {
            if at.is_empty() {
                return None;
            }
            let node = self.node(at);
            let is = node.no.is_empty();
            if let Some(answer) = point.get_mut(node.variable as usize) {
                *answer = is;
            }
            at = if is { node.yes } else { node.no };
        }
        Some(point)
    }

    /// Whether `point` is in `set`.
    pub(super) fn contains(&self, set: Set, point: &[bool]) -> bool {
        let mut at = set;
        while at != Set::ALL && !at.is_empty() {
            let node = self.node(at);
            let is = point.get(node.variable as usize).copied().unwrap_or_default();
            at = if is { node.yes } else { node.no };
        }
        at == Set::ALL
    }
}

type Quick = BuildHasherDefault<Mix>;

/// A hash for small numbers of our own making: nobody can choose them to collide.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(u64::from_ne_bytes((number as i64).to_ne_bytes()));
    }
}
