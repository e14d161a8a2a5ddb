//! What is counted of functions.

use bridge_core::function::RunRequest;
use bridge_function::{FunctionMetrics, Options};
use fake_function::Version;
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::json;

use crate::{
    clock::Clock,
    host::{Host, set, table},
};

struct Counted {
    registry: Registry,
    metrics: FunctionMetrics,
}

impl Counted {
    fn new() -> Self {
        let (mut registry, metrics) = (Registry::default(), FunctionMetrics::default());
        metrics.register(&mut registry);
        Self { registry, metrics }
    }

    /// Value of the one line that begins so and has these labels.
    fn value(&self, name: &str, labels: &[&str]) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let is_it = |line: &&str| line.starts_with(name) && labels.iter().all(|label| line.contains(label));
        let mut lines = text.lines().filter(is_it);
        let line = lines.next().unwrap_or_else(|| panic!("no {name} in {text}"));
        assert_eq!(lines.next(), None, "{text}");
        line.rsplit(' ').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn calls_are_counted_as_crossplane_counts_them() {
    let (clock, host, counted) = (Clock::new(), Host::unix(Version::V1), Counted::new());
    let client = clock.client(Options {
        metrics: counted.metrics.clone(),
        ..Options::new(table(&host.endpoint), None)
    });
    let request = |input| RunRequest {
        input: Some(input),
        ..RunRequest::default()
    };
    let kept = request(json!({"ttlSeconds": 90}));
    clock.run(&client, &kept).await.unwrap();
    clock.run(&client, &kept).await.unwrap();
    let function = r#"function_name="f""#;
    let target = format!(r#"grpc_target="{}""#, host.endpoint);
    let method = r#"grpc_method="/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction""#;
    let sent = "function_run_function_request_total{";
    assert_eq!(counted.value(sent, &[function, &target, method]), "1");
    let answered = "function_run_function_response_total{";
    assert_eq!(
        counted.value(
            answered,
            &[function, r#"grpc_code="OK""#, r#"result_severity="""#]
        ),
        "1"
    );
    assert_eq!(
        counted.value(
            "function_run_function_seconds_count{",
            &[function, r#"grpc_code="OK""#]
        ),
        "1"
    );
    assert_eq!(
        counted.value("function_run_function_response_cache_hits_total{", &[function]),
        "1"
    );
    assert_eq!(
        counted.value("function_run_function_response_cache_misses_total{", &[function]),
        "1"
    );
    assert_eq!(
        counted.value("function_run_function_response_cache_writes_total{", &[function]),
        "1"
    );
    // The first time nothing was kept that could be looked for.
    let reads = "function_run_function_response_cache_read_seconds_count{";
    assert_eq!(counted.value(reads, &[function]), "1");
    let writes = "function_run_function_response_cache_write_seconds_count{";
    assert_eq!(counted.value(writes, &[function]), "1");

    let unknown_field = request(json!({"resorces": {}}));
    clock.run(&client, &unknown_field).await.unwrap();
    assert_eq!(
        counted.value(answered, &[function, r#"result_severity="Fatal""#]),
        "1"
    );
    assert_eq!(
        counted.value("crossbridge_function_calls{", &[function, r#"state="running""#]),
        "0"
    );
}

#[tokio::test]
async fn what_leaves_the_cache_is_counted_with_its_bytes() {
    let (clock, host, counted) = (Clock::new(), Host::unix(Version::V1), Counted::new());
    let endpoints = table(&host.endpoint);
    let client = clock.client(Options {
        metrics: counted.metrics.clone(),
        ..Options::new(endpoints.clone(), None)
    });
    let kept = RunRequest {
        input: Some(json!({"ttlSeconds": 90})),
        ..RunRequest::default()
    };
    clock.run(&client, &kept).await.unwrap();
    let moved = Host::unix(Version::V1);
    set(&endpoints, &moved.endpoint);
    clock.run(&client, &RunRequest::default()).await.unwrap();
    let cache = |name: &str| {
        let name = format!("function_run_function_response_cache_{name}_total{{");
        counted.value(&name, &[r#"function_name="f""#])
    };
    assert_eq!(cache("deletes"), "1");
    assert_eq!(cache("bytes_deleted"), cache("bytes_written"));
}

#[tokio::test]
async fn a_function_that_is_held_is_shown() {
    let (clock, host, counted) = (Clock::new(), Host::unix(Version::V1), Counted::new());
    let endpoints = table(&host.endpoint);
    let client = clock.client(Options {
        metrics: counted.metrics.clone(),
        ..Options::new(endpoints.clone(), None)
    });
    let nobody = tempfile::tempdir().unwrap();
    set(
        &endpoints,
        &format!("unix://{}", nobody.path().join("f.sock").display()),
    );
    for _ in 0..3 {
        clock.run(&client, &RunRequest::default()).await.unwrap_err();
    }
    let answered = "function_run_function_response_total{";
    assert_eq!(counted.value(answered, &[r#"grpc_code="Unavailable""#]), "3");
    assert_eq!(counted.value("crossbridge_function_held{", &[]), "1");
    set(&endpoints, &host.endpoint);
    clock.run(&client, &RunRequest::default()).await.unwrap();
    assert_eq!(counted.value("crossbridge_function_held{", &[]), "0");
}
