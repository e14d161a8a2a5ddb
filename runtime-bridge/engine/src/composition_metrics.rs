//! Crossplane's metrics of the controllers of composite resources and claims, to the letter: dashboards stay as they are.

use bridge_core::composite::CircuitCounts;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What the watches of Crossplane's controllers are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WatchPurpose {
    Claim,
    CompositeResource,
    CompositionRevision,
    Dependency,
}

impl WatchPurpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "Claim",
            Self::CompositeResource => "CompositeResource",
            Self::CompositionRevision => "CompositionRevision",
            Self::Dependency => "Dependency",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    /// `composite/<definition>`, `claim/<definition>`, or `shared` for what all of them share.
    controller: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    controller: String,
    r#type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CircuitLabels {
    controller: String,
    result: &'static str,
}

/// Counters of controllers. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompositionMetrics {
    controllers_started: Family<ControllerLabels, Counter>,
    controllers_stopped: Family<ControllerLabels, Counter>,
    watches_started: Family<WatchLabels, Counter>,
    watches_stopped: Family<WatchLabels, Counter>,
    circuit_opens: Family<ControllerLabels, Counter>,
    circuit_closes: Family<ControllerLabels, Counter>,
    circuit_events: Family<CircuitLabels, Counter>,
}

impl CompositionMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let engine = registry.sub_registry_with_prefix("engine");
        engine.register(
            "controllers_started",
            "Controllers of composite resources and claims that were started",
            self.controllers_started.clone(),
        );
        engine.register(
            "controllers_stopped",
            "Controllers of composite resources and claims that were stopped",
            self.controllers_stopped.clone(),
        );
        engine.register(
            "watches_started",
            "Watches of controllers that were started; those of composed and required kinds are shared",
            self.watches_started.clone(),
        );
        engine.register(
            "watches_stopped",
            "Watches of controllers that were stopped",
            self.watches_stopped.clone(),
        );
        let circuit = registry.sub_registry_with_prefix("circuit_breaker");
        circuit.register(
            "opens",
            "Times that the changes of a composite resource began to be followed more slowly",
            self.circuit_opens.clone(),
        );
        circuit.register(
            "closes",
            "Times that they were followed at once again",
            self.circuit_closes.clone(),
        );
        circuit.register(
            "events",
            "Runs upon changes, by whether the circuit was closed or open; none is dropped",
            self.circuit_events.clone(),
        );
    }

    /// Counts a controller and its watches as started, and as stopped when the answer is dropped.
    pub(crate) fn controller(&self, controller: &str, watches: &[WatchPurpose]) -> RunningController {
        let labels = ControllerLabels {
            controller: controller.to_owned(),
        };
        self.controllers_started.get_or_create(&labels).inc();
        RunningController {
            _watches: watches
                .iter()
                .map(|purpose| self.watch(controller, *purpose))
                .collect(),
            stopped: self.controllers_stopped.clone(),
            labels,
        }
    }

    /// Likewise, a watch that all controllers share.
    pub(crate) fn shared_watch(&self, purpose: WatchPurpose) -> RunningWatch {
        self.watch("shared", purpose)
    }

    fn watch(&self, controller: &str, purpose: WatchPurpose) -> RunningWatch {
        let labels = WatchLabels {
            controller: controller.to_owned(),
            r#type: purpose.as_str(),
        };
        self.watches_started.get_or_create(&labels).inc();
        RunningWatch {
            stopped: self.watches_stopped.clone(),
            labels,
        }
    }

    /// Adds what has happened to the circuit of one composite resource.
    pub(crate) fn count_circuit(&self, controller: impl FnOnce() -> String, counts: CircuitCounts) {
        if counts == CircuitCounts::default() {
            return;
        }
        let labels = ControllerLabels {
            controller: controller(),
        };
        for (counters, count) in [
            (&self.circuit_opens, counts.opened),
            (&self.circuit_closes, counts.closed),
        ] {
            if count > 0 {
                counters.get_or_create(&labels).inc_by(count.into());
            }
        }
        for (result, count) in [
            ("Allowed", counts.allowed),
            ("HalfOpenAllowed", counts.half_open_allowed),
        ] {
            if count > 0 {
                let labels = CircuitLabels {
                    controller: labels.controller.clone(),
                    result,
                };
                self.circuit_events.get_or_create(&labels).inc_by(count.into());
            }
        }
    }
}

/// A controller that is counted as stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningController {
    stopped: Family<ControllerLabels, Counter>,
    labels: ControllerLabels,
    _watches: Vec<RunningWatch>,
}

impl Drop for RunningController {
    fn drop(&mut self) {
        self.stopped.get_or_create(&self.labels).inc();
    }
}

/// A watch that is counted as stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningWatch {
    stopped: Family<WatchLabels, Counter>,
    labels: WatchLabels,
}

impl Drop for RunningWatch {
    fn drop(&mut self) {
        self.stopped.get_or_create(&self.labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn lines(metrics: &CompositionMetrics) -> Vec<String> {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.map(ToOwned::to_owned).collect()
    }

    #[test]
    fn a_controller_is_counted_with_its_watches_as_crossplane_does() {
        let metrics = CompositionMetrics::default();
        let running = metrics.controller("composite/xs", &[WatchPurpose::CompositeResource]);
        let shared = metrics.shared_watch(WatchPurpose::Dependency);
        drop(running);
        assert_eq!(
            lines(&metrics)
                .iter()
                .filter(|line| !line.contains("shared"))
                .collect::<Vec<_>>(),
            [
                r#"engine_controllers_started_total{controller="composite/xs"} 1"#,
                r#"engine_controllers_stopped_total{controller="composite/xs"} 1"#,
                r#"engine_watches_started_total{controller="composite/xs",type="CompositeResource"} 1"#,
                r#"engine_watches_stopped_total{controller="composite/xs",type="CompositeResource"} 1"#,
            ]
        );
        let dependency = r#"{controller="shared",type="Dependency"} 1"#;
        let has = |name: &str| lines(&metrics).contains(&format!("engine_watches_{name}_total{dependency}"));
        assert!(has("started") && !has("stopped"));
        drop(shared);
        assert!(has("stopped"));
    }

    #[test]
    fn circuits_are_counted_as_crossplane_does() {
        let metrics = CompositionMetrics::default();
        metrics.count_circuit(|| panic!("nothing has happened"), CircuitCounts::default());
        let counts = CircuitCounts {
            allowed: 4,
            half_open_allowed: 2,
            opened: 1,
            closed: 0,
        };
        metrics.count_circuit(|| "composite/xs".to_owned(), counts);
        metrics.count_circuit(|| "composite/xs".to_owned(), counts);
        assert_eq!(
            lines(&metrics)
                .into_iter()
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>(),
            [
                r#"circuit_breaker_events_total{controller="composite/xs",result="Allowed"} 8"#,
                r#"circuit_breaker_events_total{controller="composite/xs",result="HalfOpenAllowed"} 4"#,
                r#"circuit_breaker_opens_total{controller="composite/xs"} 2"#,
            ]
        );
    }
}
