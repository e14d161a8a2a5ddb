//! What a process does, and the runs of its functions.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    composite::{
        Action, Basis, CompositeMachine, Next, ObjectId, Performed, Pipeline, PipelineSpec, RunInput,
        RunOutcome, RunStart, RunState, names,
    },
    driver::{ApiFailureKind, Input},
    function::RunResponse,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{World, snapshot::state, writes::failure};
use crate::composite::api::parsed;

impl World {
    pub(super) fn perform(&mut self, xr: &Value, action: &Action) -> Input<CompositeMachine, Value> {
        let of = parsed(xr);
        let version = (of.uid(), of.resource_version());
        let performed = match action {
            Action::Observe(refs) => {
                let home = of.namespace();
                let ids: Vec<ObjectId> = refs.iter().map(|one| one.id(home)).collect();
                for id in &ids {
                    match self.api.objects.get(id) {
                        Some(object) => drop(self.view.objects.insert(id.clone(), object.clone())),
                        None => drop(self.view.objects.remove(id)),
                    }
                }
                let seen = ids.into_iter().map(|id| {
                    let state = state(&self.view, &id);
                    (id, state)
                });
                Performed::Observed(seen.collect())
            }
            Action::VerifyResourceVersion => {
                self.stale = None;
                self.view.xr.clone_from(&self.api.xr);
                match &self.view.xr {
                    Some(xr) if parsed(xr).uid() == of.uid() => {
                        Performed::Version(parsed(xr).resource_version().to_owned())
                    }
                    _ => return Input::Failed(failure(ApiFailureKind::NotFound)),
                }
            }
            Action::Run(start) => {
                self.pending = Some(self.run_pipeline(start));
                self.run = RunState::Going {
                    basis: start.basis.clone(),
                    since: self.now,
                };
                Performed::RunBegan
            }
            Action::Write(write) => {
                let change = |xr: &mut Value| {
                    xr["metadata"]["finalizers"] = json!(write.finalizers);
                    xr["metadata"]["labels"] = json!(write.labels);
                    xr["metadata"]["annotations"] = json!(write.annotations);
                    xr["spec"] = write.spec.clone();
                };
                return match self.write_xr("write", version, change) {
                    Ok(Some(xr)) => {
                        Input::Performed(Performed::Version(parsed(&xr).resource_version().to_owned()))
                    }
                    Ok(None) => Input::Performed(Performed::Version(String::new())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::WriteStatus(write) => {
                if let Some(field) = self.refuses_status
                    && !write.status[field].is_null()
                {
                    return Input::Failed(failure(ApiFailureKind::Rejected));
                }
                let change = |xr: &mut Value| xr["status"] = write.status.clone();
                return match self.write_xr("status", version, change) {
                    Ok(xr) => {
                        let xr = parsed(&xr.unwrap_or_default());
                        Input::Performed(Performed::StatusWritten {
                            version: xr.resource_version().to_owned(),
                            stored: xr.status().clone(),
                        })
                    }
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::RemoveFinalizer => {
                let change = |xr: &mut Value| {
                    if let Some(finalizers) = xr["metadata"]["finalizers"].as_array_mut() {
                        finalizers.retain(|one| one != names::FINALIZER);
                    }
                };
                return match self.write_xr("release", version, change) {
                    Ok(xr) => Input::Performed(Performed::FinalizerRemoved(xr.is_none())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::Create(all) => {
                let all = all.clone();
                Performed::Written(all.iter().map(|one| self.create(one)).collect())
            }
            Action::Apply(all) => {
                let all = all.clone();
                Performed::Written(all.iter().map(|one| self.apply(one)).collect())
            }
            Action::Delete(all) => {
                let all = all.clone();
                Performed::Deleted(all.iter().map(|one| self.delete(one)).collect())
            }
            Action::Publish(_) | Action::DeleteSecret(_) => panic!("there are no connection Secrets here"),
            Action::Release(all) => {
                let (all, owner) = (all.clone(), of.uid().to_owned());
                Performed::Released(all.iter().map(|one| self.release(one, &owner)).collect())
            }
        };
        Input::Performed(performed)
    }

    pub(super) fn end_run(&mut self) {
        let RunState::Going { basis, since } = &self.run else {
            return;
        };
        let (basis, since): (Basis, Timestamp) = (basis.clone(), *since);
        let Some(outcome) = self.pending.take() else {
            self.run = RunState::None;
            return;
        };
        self.run = RunState::Ended {
            basis,
            outcome: Arc::new(outcome),
            took: self.now.duration_since(since).unsigned_abs(),
            at: self.now,
        };
    }

    fn run_pipeline(&mut self, start: &RunStart) -> RunOutcome {
        self.runs += 1;
        let mut pipeline = Pipeline::begin(RunInput {
            observed: Arc::clone(&start.observed),
            steps: PipelineSpec::clone(&start.pipeline),
            seeds: start.seeds.clone(),
            ..RunInput::default()
        });
        loop {
            match pipeline.next() {
                Next::Need(_) => pipeline.found(BTreeMap::new()),
                Next::Call { request, .. } => {
                    let desired = (self.function)(&request);
                    let mut response = RunResponse {
                        desired,
                        ..RunResponse::default()
                    };
                    (self.answer)(&mut response);
                    pipeline.answered(Ok(response));
                }
                Next::End(outcome) => return *outcome,
            }
        }
    }
}
