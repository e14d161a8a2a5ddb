//! What is counted and timed of functions. Names and labels of the first group are Crossplane's.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::function::{CacheRemovals, FunctionFailure, RunResponse, Severity};
use function_proto::RUN_FUNCTION;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// The default buckets of Prometheus' Go client, in seconds.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    function_name: String,
    /// Not known here: what is called need not be a package.
    function_package: String,
    grpc_target: String,
    grpc_method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    function_name: String,
    function_package: String,
    grpc_target: String,
    grpc_method: &'static str,
    grpc_code: String,
    result_severity: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FunctionLabels {
    function_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    function_name: String,
    state: &'static str,
}

/// Counters of one client. Clones are the same.
#[derive(Clone)]
pub struct FunctionMetrics {
    requests: Family<RequestLabels, Counter>,
    responses: Family<ResponseLabels, Counter>,
    seconds: Family<ResponseLabels, Histogram>,
    hits: Family<FunctionLabels, Counter>,
    misses: Family<FunctionLabels, Counter>,
    writes: Family<FunctionLabels, Counter>,
    bytes_written: Family<FunctionLabels, Counter>,
    errors: Family<FunctionLabels, Counter>,
    deletes: Family<FunctionLabels, Counter>,
    bytes_deleted: Family<FunctionLabels, Counter>,
    read_seconds: Family<FunctionLabels, Histogram>,
    write_seconds: Family<FunctionLabels, Histogram>,
    calls: Family<StateLabels, Gauge>,
    held: Family<FunctionLabels, Gauge>,
}

impl Default for FunctionMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            responses: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            hits: Family::default(),
            misses: Family::default(),
            writes: Family::default(),
            bytes_written: Family::default(),
            errors: Family::default(),
            deletes: Family::default(),
            bytes_deleted: Family::default(),
            read_seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            write_seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            calls: Family::default(),
            held: Family::default(),
        }
    }
}

impl FunctionMetrics {
    /// Shows them from now on.
    pub fn register(&self, registry: &mut Registry) {
        let crossplane = registry.sub_registry_with_prefix("function");
        crossplane.register(
            "run_function_request",
            "RunFunctionRequests sent",
            self.requests.clone(),
        );
        crossplane.register(
            "run_function_response",
            "Calls of functions that ended, by gRPC code and worst result",
            self.responses.clone(),
        );
        crossplane.register(
            "run_function_seconds",
            "How long calls of functions took",
            self.seconds.clone(),
        );
        crossplane.register(
            "run_function_response_cache_hits",
            "Responses that were kept and good still",
            self.hits.clone(),
        );
        crossplane.register(
            "run_function_response_cache_misses",
            "Requests that had to be sent",
            self.misses.clone(),
        );
        crossplane.register(
            "run_function_response_cache_writes",
            "Responses that were kept",
            self.writes.clone(),
        );
        crossplane.register(
            "run_function_response_cache_bytes_written",
            "Bytes of the responses that were kept",
            self.bytes_written.clone(),
        );
        crossplane.register(
            "run_function_response_cache_errors",
            "Responses that were kept and could not be read: a bug",
            self.errors.clone(),
        );
        crossplane.register(
            "run_function_response_cache_deletes",
            "Kept responses that had expired, made room, or were replaced",
            self.deletes.clone(),
        );
        crossplane.register(
            "run_function_response_cache_bytes_deleted",
            "Bytes of those",
            self.bytes_deleted.clone(),
        );
        crossplane.register(
            "run_function_response_cache_read_seconds",
            "How long it took to look for a kept response",
            self.read_seconds.clone(),
        );
        crossplane.register(
            "run_function_response_cache_write_seconds",
            "How long it took to keep a response",
            self.write_seconds.clone(),
        );
        let ours = registry.sub_registry_with_prefix("crossbridge");
        ours.register(
            "function_calls",
            "Calls of a function under way, and those that wait for a place",
            self.calls.clone(),
        );
        ours.register(
            "function_held",
            "1 while a function does not answer, and is asked by one probe at a time",
            self.held.clone(),
        );
    }

    pub(crate) fn hit(&self, function: &str) {
        self.hits.get_or_create(&labels(function)).inc();
    }

    pub(crate) fn missed(&self, function: &str) {
        self.misses.get_or_create(&labels(function)).inc();
    }

    pub(crate) fn read(&self, function: &str, took: Duration) {
        let seconds = self.read_seconds.get_or_create_owned(&labels(function));
        seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn unreadable(&self, function: &str) {
        self.errors.get_or_create(&labels(function)).inc();
    }

    pub(crate) fn removed(&self, removed: BTreeMap<String, CacheRemovals>) {
        for (function, CacheRemovals { responses, bytes }) in removed {
            let labels = labels(&function);
            self.deletes.get_or_create(&labels).inc_by(responses);
            self.bytes_deleted.get_or_create(&labels).inc_by(bytes);
        }
    }

    pub(crate) fn kept(&self, function: &str, bytes: usize, took: Duration) {
        let seconds = self.write_seconds.get_or_create_owned(&labels(function));
        seconds.observe(took.as_secs_f64());
        self.writes.get_or_create(&labels(function)).inc();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes_written.get_or_create(&labels(function)).inc_by(bytes);
    }

    pub(crate) fn held(&self, function: &str, is_held: bool) {
        self.held.get_or_create(&labels(function)).set(i64::from(is_held));
    }

    /// Counted until it is dropped.
    pub(crate) fn waiting(&self, function: &str) -> Counted {
        self.counted(function, "waiting")
    }

    /// Counted until it is dropped.
    pub(crate) fn running(&self, function: &str) -> Counted {
        self.counted(function, "running")
    }

    fn counted(&self, function: &str, state: &'static str) -> Counted {
        let labels = StateLabels {
            function_name: function.to_owned(),
            state,
        };
        let gauge = self.calls.get_or_create_owned(&labels);
        gauge.inc();
        Counted(gauge)
    }

    pub(crate) fn sent(&self, function: &str, target: &str) {
        let labels = RequestLabels {
            function_name: function.to_owned(),
            function_package: String::new(),
            grpc_target: target.to_owned(),
            grpc_method: RUN_FUNCTION,
        };
        self.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn ended(
        &self,
        function: &str,
        target: &str,
        ended: &Result<RunResponse, FunctionFailure>,
        took: Duration,
    ) {
        let labels = ResponseLabels {
            function_name: function.to_owned(),
            function_package: String::new(),
            grpc_target: target.to_owned(),
            grpc_method: RUN_FUNCTION,
            grpc_code: code(ended).to_owned(),
            result_severity: ended.as_ref().map_or("", worst),
        };
        self.responses.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

/// One call in a gauge.
pub(crate) struct Counted(Gauge);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn labels(function: &str) -> FunctionLabels {
    FunctionLabels {
        function_name: function.to_owned(),
    }
}

/// As Go's gRPC names codes.
fn code(ended: &Result<RunResponse, FunctionFailure>) -> &str {
    match ended {
        Ok(_) => "OK",
        Err(FunctionFailure::Status { code, .. }) => code,
        Err(FunctionFailure::TimedOut(_) | FunctionFailure::OutOfTime) => "DeadlineExceeded",
        Err(
            FunctionFailure::Unreachable(_) | FunctionFailure::Held { .. } | FunctionFailure::NoEndpoint(_),
        ) => "Unavailable",
        Err(FunctionFailure::Busy { .. } | FunctionFailure::TooLarge { .. }) => "ResourceExhausted",
        Err(FunctionFailure::Invalid(_) | FunctionFailure::InvalidRequest(_)) => "Internal",
    }
}

fn worst(response: &RunResponse) -> &'static str {
    let rank = |severity: Severity| match severity {
        Severity::Fatal => (3, "Fatal"),
        Severity::Warning | Severity::Unknown => (2, "Warning"),
        Severity::Normal => (1, "Normal"),
    };
    let worst = response.results.iter().map(|result| rank(result.severity)).max();
    worst.map_or("", |(_, name)| name)
}
