//! What was reported to bridges of the end of an external object.

use fake_cloud::{
    cloud::{Answer, Ask, Cloud, Verdict},
    fault::Rpc,
    types::{Observation, ObserveResult, OutcomeResult},
};

use crate::simulation::environment::Environment;

/// Of what was created for one managed resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct End {
    /// A Delete came since it was created.
    deleted: bool,
    /// An Observe after that showed nothing of ours, or a removal was followed to its end.
    seen: bool,
}

impl End {
    pub(super) fn is_seen(self) -> bool {
        self.seen
    }

    /// A call comes. Only the first Delete counts: what a bridge saw and wrote may be committed after another one began anew.
    pub(super) fn begin(&mut self, rpc: Rpc) {
        match rpc {
            Rpc::Create => *self = Self::default(),
            Rpc::Delete if !self.deleted => {
                *self = Self {
                    deleted: true,
                    seen: false,
                }
            }
            _ => {}
        }
    }
}

impl Environment {
    /// A call about an object has its answer.
    pub(crate) fn end_call(&self, ask: &Ask, verdict: &Verdict) {
        let Some(target) = ask.target() else { return };
        let uid = &target.owner.uid;
        let shows = shows_its_end(&self.cloud.lock(), ask, verdict, uid);
        if shows && let Some(seen) = self.watcher.lock().objects.get_mut(uid) {
            seen.end.seen = true;
        }
    }
}

fn shows_its_end(cloud: &Cloud, ask: &Ask, verdict: &Verdict, uid: &str) -> bool {
    let Verdict::Answer(answer, _) = verdict else {
        return false;
    };
    match (ask, answer) {
        (Ask::Observe(observe), Answer::ObserveResult(look)) => match look {
            ObserveResult::Absent(_) => true,
            ObserveResult::Found(found) => !is_ours(cloud, &observe.target.resource_type.kind, found, uid),
            ObserveResult::Failed(_) => false,
        },
        (Ask::Poll(poll), Answer::Outcome(outcome)) => {
            poll.handle == "remove" && matches!(outcome.result, OutcomeResult::Completed(_))
        }
        _ => false,
    }
}

fn is_ours(cloud: &Cloud, kind: &str, found: &Observation, uid: &str) -> bool {
    cloud
        .created_for(uid)
        .any(|one| one.kind == kind && one.name == found.external_name)
}

#[cfg(test)]
mod tests {
    use super::{End, Rpc};

    #[test]
    fn what_was_seen_before_the_first_delete_does_not_count() {
        let seen = End {
            deleted: false,
            seen: true,
        };
        let mut end = seen;
        end.begin(Rpc::Delete);
        assert!(!end.is_seen());
        // Another one begun anew takes nothing back; another creation does.
        end.seen = true;
        end.begin(Rpc::Delete);
        assert!(end.is_seen());
        end.begin(Rpc::Create);
        assert_eq!(end, End::default());
    }
}
