//! Runs of pipelines: how they end, what they require and desire, and which writes of composed resources succeed.

use bridge_core::{composite::RunOutcome, watch_plan::GroupKind};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// Label: the kind of the composite resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CompositeLabel {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    /// Of the composite resource.
    kind: String,
    /// One of [`OUTCOMES`].
    outcome: &'static str,
}

/// How a run ends.
const OUTCOMES: [&str; 2] = ["succeeded", "failed"];

/// What counts of a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunCounts {
    /// What it required and desired.
    Succeeded { required: usize, desired: usize },
    /// What it would have required is not known.
    Failed,
}

impl RunCounts {
    pub(crate) fn of(outcome: &RunOutcome) -> Self {
        match &outcome.result {
            Ok(desired) => Self::Succeeded {
                required: outcome.requirements.count(),
                desired: desired.resources.len(),
            },
            Err(_) => Self::Failed,
        }
    }
}

/// What is done to composed resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ComposedWrite {
    Create,
    Apply,
    Delete,
}

impl ComposedWrite {
    const ALL: [Self; 3] = [Self::Create, Self::Apply, Self::Delete];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Apply => "apply",
            Self::Delete => "delete",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    /// Of the composite resource.
    kind: String,
    write: &'static str,
}

/// Counters of runs and what follows from them, by kind of composite resource. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunMetrics {
    runs: Family<RunLabels, Counter>,
    desired: Family<CompositeLabel, Counter>,
    requirements: Family<CompositeLabel, Counter>,
    writes: Family<WriteLabels, Counter>,
}

impl RunMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "runs",
            "Runs of pipelines for composite resources, by outcome",
            self.runs.clone(),
        );
        registry.register(
            "run_desired_resources",
            "Composed resources that runs desired",
            self.desired.clone(),
        );
        registry.register(
            "run_requirements",
            "Resources and schemas that the functions of successful runs required",
            self.requirements.clone(),
        );
        registry.register(
            "composed_writes",
            "Writes of composed resources that succeeded",
            self.writes.clone(),
        );
    }

    /// A run has ended that no other one has taken the place of.
    pub(crate) fn ended(&self, kind: &GroupKind, counts: RunCounts) {
        let (label, [succeeded, failed]) = (label(kind), OUTCOMES);
        let outcome = match counts {
            RunCounts::Succeeded { required, desired } => {
                for (counters, count) in [(&self.requirements, required), (&self.desired, desired)] {
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    counters.get_or_create(&label).inc_by(count);
                }
                succeeded
            }
            RunCounts::Failed => failed,
        };
        let CompositeLabel { kind } = label;
        self.runs.get_or_create(&RunLabels { kind, outcome }).inc();
    }

    /// So many were written, of all that were sent.
    pub(crate) fn wrote<T, E>(&self, kind: &GroupKind, write: ComposedWrite, results: &[Result<T, E>]) {
        let done = results.iter().filter(|result| result.is_ok()).count();
        if done == 0 {
            return;
        }
        let labels = WriteLabels {
            kind: kind.to_string(),
            write: write.as_str(),
        };
        let done = u64::try_from(done).unwrap_or(u64::MAX);
        self.writes.get_or_create(&labels).inc_by(done);
    }

    /// Of kinds that come and go, no series stay.
    pub(crate) fn forget(&self, kind: &GroupKind) {
        let label = label(kind);
        for outcome in OUTCOMES {
            let kind = label.kind.clone();
            self.runs.remove(&RunLabels { kind, outcome });
        }
        for write in ComposedWrite::ALL {
            self.writes.remove(&WriteLabels {
                kind: label.kind.clone(),
                write: write.as_str(),
            });
        }
        self.desired.remove(&label);
        self.requirements.remove(&label);
    }
}

fn label(kind: &GroupKind) -> CompositeLabel {
    CompositeLabel {
        kind: kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bridge_core::{
        composite::{RunFailure, StepRequirements},
        function::{DesiredState, Requirements, Resource, SchemaSelector},
    };
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn lines(metrics: &RunMetrics) -> BTreeSet<String> {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.map(ToOwned::to_owned).collect()
    }

    #[test]
    fn runs_and_writes_are_counted_until_the_kind_goes() {
        let metrics = RunMetrics::default();
        let kind = GroupKind::new("shop.example.org", "Order");
        let mut requirements = StepRequirements::default();
        let schema = SchemaSelector {
            api_version: "shop.example.org/v1".into(),
            kind: "Order".into(),
        };
        let required = Requirements {
            schemas: ["order", "again"]
                .map(|name| (name.to_owned(), schema.clone()))
                .into(),
            ..Requirements::default()
        };
        requirements.set("compose", required);
        let mut outcome = RunOutcome::failed(RunFailure::NoSteps, requirements);
        metrics.ended(&kind, RunCounts::of(&outcome));
        let resources = ["a", "b"].map(|name| (name.to_owned(), Resource::default()));
        outcome.result = Ok(DesiredState {
            resources: resources.into(),
            ..DesiredState::default()
        });
        metrics.ended(&kind, RunCounts::of(&outcome));
        metrics.wrote(&kind, ComposedWrite::Create, &[Ok(()), Err(())]);
        metrics.wrote(&kind, ComposedWrite::Apply, &[Err::<(), _>(())]);
        let expected = [
            r#"composed_writes_total{kind="Order.shop.example.org",write="create"} 1"#,
            r#"run_desired_resources_total{kind="Order.shop.example.org"} 2"#,
            r#"run_requirements_total{kind="Order.shop.example.org"} 2"#,
            r#"runs_total{kind="Order.shop.example.org",outcome="failed"} 1"#,
            r#"runs_total{kind="Order.shop.example.org",outcome="succeeded"} 1"#,
        ];
        assert_eq!(lines(&metrics), expected.map(ToOwned::to_owned).into());
        metrics.forget(&kind);
        assert_eq!(lines(&metrics), BTreeSet::new());
    }
}
