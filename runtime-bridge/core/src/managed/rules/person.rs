//! What a person is asked, and which answers count.

use regex::Regex;

use super::time::{create_ends, resolves_at};
use crate::managed::{
    reconcile_memory::ReconcileMemory, record::Intent, snapshot::Snapshot, status::Question,
};
use crate::{kind::Kind, rule::Rule};

/// An answer counts only for the question that was drawn for this token and attempt (trace 30).
pub fn question_is_about(question: &Question, intent: &Intent) -> bool {
    Rule::AnswerMatchesQuestion.is_off()
        || question.token == intent.token && question.attempt == intent.attempt
}

/// A person is asked when nothing can come any more (trace 30).
pub fn may_ask_person(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> bool {
    Rule::PersonAskedAfterTime.is_off()
        || snapshot.now > resolves_at(snapshot, create_ends(snapshot, memory, intent))
}

/// Why the kind cannot have a resource of this name; `None`: it can, or its pattern is none.
pub fn breaks_name_rules(kind: &Kind, name: &str) -> Option<String> {
    let rules = &kind.external_name;
    if rules.max_length > 0 && name.len() > rules.max_length {
        return Some(format!("{name:?} is longer than {} bytes", rules.max_length));
    }
    let pattern = Regex::new(&format!("^(?:{})$", rules.pattern)).ok();
    let pattern = pattern.filter(|_| !rules.pattern.is_empty())?;
    (!pattern.is_match(name)).then(|| format!("{name:?} does not match {:?}", rules.pattern))
}
