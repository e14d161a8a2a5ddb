//! What did not work: how it is told, and for how long it stands in the way.

use jiff::Timestamp;

use crate::external::{CallError, Failure, Verb};

use super::{
    decision::Event,
    failure::{Reaction, delay, reaction},
    memory::{Memory, Stamp, poll_interval},
    world::World,
};

/// Something that did not work, shown until a later attempt does.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// What was tried.
    pub verb: Verb,
    /// As it stands in the condition: `create failed: …`.
    pub message: String,
    /// Told as waiting, not as an error.
    pub waiting: bool,
    /// How many in a row.
    pub failures: u32,
    /// No call before; `None`: not before the user changes something.
    pub until: Option<Timestamp>,
    /// What the user wanted when it failed.
    pub stamp: Stamp,
    /// The same call is not tried again for this wish, though others are.
    pub for_this_wish: bool,
}

impl Memory {
    /// Whatever stands in the way of calls now.
    pub fn held_back(&self, world: &World) -> Option<&Trouble> {
        self.trouble.as_ref().filter(|trouble| {
            trouble.stamp == Stamp::of(world) && trouble.until.is_none_or(|until| until > world.now)
        })
    }

    /// This wish was refused for this verb, and waits for the user.
    pub fn refused(&self, world: &World, verb: Verb) -> Option<&Trouble> {
        self.trouble.as_ref().filter(|trouble| {
            trouble.for_this_wish && trouble.verb == verb && trouble.stamp == Stamp::of(world)
        })
    }

    /// A call brought a failure.
    pub fn learn_failure(&mut self, world: &World, verb: Verb, failure: &Failure) {
        let failures = self.failures_of(verb) + 1;
        let reacts = reaction(failure.code);
        let code = if failure.upstream_code.is_empty() {
            String::new()
        } else {
            format!(" ({})", failure.upstream_code)
        };
        let mut message = format!("{}: {}: {}{code}", prefix(verb), failure.reason, failure.message);
        for violation in &failure.violations {
            let field = if violation.path.is_empty() {
                "external name"
            } else {
                &violation.path
            };
            message.push_str(&format!("; {field}: {}", violation.message));
        }
        let for_this_wish = reacts == Reaction::WaitForUser;
        let wait = if for_this_wish && verb == Verb::Observe {
            poll_interval(world)
        } else {
            delay(Some(failure), failures, world.fresh.jitter)
        };
        self.fail(Trouble {
            verb,
            message,
            waiting: reacts == Reaction::WaitForOthers,
            failures,
            until: Some(world.now + wait),
            stamp: Stamp::of(world),
            for_this_wish: for_this_wish && verb != Verb::Observe,
        });
    }

    /// A call brought no answer, or was refused as a bug.
    pub fn learn_call_error(&mut self, world: &World, verb: Verb, error: &CallError) {
        let failures = self.failures_of(verb) + 1;
        self.fail(Trouble {
            verb,
            message: format!("{}: {error}", prefix(verb)),
            waiting: false,
            failures,
            until: Some(world.now + delay(None, failures, world.fresh.jitter)),
            stamp: Stamp::of(world),
            for_this_wish: false,
        });
    }

    fn fail(&mut self, trouble: Trouble) {
        if !trouble.waiting {
            self.events
                .push(Event::warning(event_reason(trouble.verb), &trouble.message));
        }
        self.trouble = Some(trouble);
    }

    fn failures_of(&self, verb: Verb) -> u32 {
        self.trouble
            .as_ref()
            .filter(|trouble| trouble.verb == verb)
            .map_or(0, |trouble| trouble.failures)
    }

    /// A call of this verb worked.
    pub fn clear_trouble(&mut self, verb: Verb) {
        if self.trouble.as_ref().is_some_and(|trouble| trouble.verb == verb) {
            self.trouble = None;
        }
    }
}

/// As crossplane-runtime wraps errors.
fn prefix(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "observe failed",
        Verb::Create => "create failed",
        Verb::Update => "update failed",
        Verb::Delete => "delete failed",
        Verb::Poll => "operation failed",
    }
}

fn event_reason(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe | Verb::Poll => "CannotObserveExternalResource",
        Verb::Create => "CannotCreateExternalResource",
        Verb::Update => "CannotUpdateExternalResource",
        Verb::Delete => "CannotDeleteExternalResource",
    }
}
