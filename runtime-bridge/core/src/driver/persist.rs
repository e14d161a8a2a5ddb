//! The persistence rule: what an answer brought is stored before anything else is done. Never given up while it is ours to write.

use std::time::Duration;

use super::{
    ApiFailure, ApiFailureKind, Machine, Moment, Persisting,
    effect::{Effect, Input, Undertaking},
};

/// An answer on its way to the record.
#[derive(Debug, Clone)]
pub(super) struct Persist<M: Machine, O> {
    pub action: Undertaking<M, O>,
    pub answer: M::Answer,
    step: Step<M::Change, O>,
    failures: u32,
    reported: bool,
}

#[derive(Debug, Clone)]
enum Step<C, O> {
    /// Upon which version?
    Newest,
    Write {
        object: O,
        change: C,
    },
    Wait(Duration),
    ReadLive,
    /// It is stored, or has nowhere to go: what stands there now?
    Stored,
}

pub(super) fn begin<M: Machine, O>(action: Undertaking<M, O>, answer: M::Answer) -> Persist<M, O> {
    Persist {
        action,
        answer,
        step: Step::Newest,
        failures: 0,
        reported: false,
    }
}

impl<M: Machine, O> Persist<M, O> {
    pub fn effect(&self) -> Effect<'_, M, O> {
        match &self.step {
            Step::Newest => Effect::Newest,
            Step::Stored => Effect::Stored,
            Step::Write { object, change } => Effect::Persist {
                object,
                change,
                action: &self.action.action,
            },
            Step::Wait(pause) => Effect::Wait(*pause),
            Step::ReadLive => Effect::ReadLive,
        }
    }

    /// What is to be written upon this version.
    fn upon(&self, (object, view): (O, M::View)) -> Step<M::Change, O> {
        match M::persisting(&self.action.snapshot, &view, &self.action.action, &self.answer) {
            Persisting::Write(change) => Step::Write { object, change },
            Persisting::Nothing | Persisting::NotOwned => Step::Stored,
        }
    }

    fn wait(&mut self, failure: &ApiFailure, moment: &Moment) -> Step<M::Change, O> {
        self.failures += 1;
        Step::Wait(failure.persist_pause(self.failures, moment.jitter))
    }
}

/// `None`: the answer is taken in, and it is time to decide again.
pub(super) fn resume<M: Machine, O: Clone>(
    memory: &mut M::Memory,
    moment: &Moment,
    mut persist: Box<Persist<M, O>>,
    input: Input<M, O>,
) -> Option<Box<Persist<M, O>>> {
    persist.step = match (&persist.step, input) {
        (Step::Newest, Input::Newest(Some(version))) | (Step::ReadLive, Input::Live(Ok(version))) => {
            persist.upon(version)
        }
        // What the store does not hold may stand all the same.
        (Step::Newest, Input::Newest(None)) | (Step::Wait(_), Input::Waited) => Step::ReadLive,
        (Step::Write { .. }, Input::Persisted(Ok(()))) => Step::Stored,
        (Step::Write { .. }, Input::Persisted(Err(failure))) if failure.kind == ApiFailureKind::Conflict => {
            Step::ReadLive
        }
        (Step::Write { .. }, Input::Persisted(Err(failure))) => {
            if failure.kind == ApiFailureKind::Rejected && !std::mem::replace(&mut persist.reported, true) {
                M::report_not_persisted(memory, &persist.action.action, &persist.answer, &failure);
            }
            persist.wait(&failure, moment)
        }
        (Step::ReadLive, Input::Live(Err(failure))) => match failure.kind {
            ApiFailureKind::NotFound | ApiFailureKind::KindGone => Step::Stored,
            _ => persist.wait(&failure, moment),
        },
        (Step::Stored, Input::Newest(version)) => {
            let Undertaking { snapshot, action, .. } = &mut persist.action;
            let newest = version.map(|(_, view)| view);
            M::record_answer(memory, snapshot, action, &persist.answer, newest, moment);
            return None;
        }
        (_, input) => panic!("{} does not answer {}", input.name(), persist.effect().name()),
    };
    Some(persist)
}
