//! What `kubectl get` and `kubectl describe` show of a ready, a stopped and a failing object, as files: to be read by people, and compared.

use bridge_e2e::{Stack, StackOptions, condition, eventually, golden, is_ready, is_synced};
use serde_json::{Value, json};

use crate::manifests;

/// Without what differs from run to run: numbers of the API server, and widths that follow from ages.
fn readable(text: &str, stack: &Stack) -> String {
    let text = text.replace(&stack.aws.endpoint(), "http://127.0.0.1:PORT");
    let mut lines = Vec::new();
    let mut in_events = false;
    for line in golden::stable(&text).lines() {
        let line = match line.trim_start() {
            version if version.starts_with("Resource Version:") => "  Resource Version:  NUMBER".to_owned(),
            // kubectl shows its beginning, with a token in it.
            record if record.starts_with(r#"{"uid":"#) => RECORD.to_owned(),
            _ if in_events => columns(line),
            _ => line.to_owned(),
        };
        in_events |= line.starts_with("Events:");
        if !(in_events && line.trim().is_empty()) {
            lines.push(line.trim_end().to_owned());
        }
    }
    // kubectl has the newest first; of one second they come in no order.
    let events = lines.iter().position(|line| line.starts_with("Events:"));
    if let Some(events) = events.and_then(|at| lines.get_mut(at + 2..)) {
        events.sort();
    }
    lines.join("\n") + "\n"
}

const RECORD: &str = r#"                {"uid":"UUID",…"#;

/// Columns of events, whose widths follow from their ages.
fn columns(line: &str) -> String {
    let cells: Vec<&str> = line
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty() && !cell.starts_with("--"))
        .collect();
    // An event that was repeated, which depends on the time that the test takes.
    let cells: Vec<&str> = cells
        .into_iter()
        .map(|cell| if cell.starts_with("… (x") { "…" } else { cell })
        .collect();
    format!("  {}", cells.join("  "))
}

/// Once these events are recorded, which comes after the conditions. Of an object without any they are left out: others may come.
async fn shown(stack: &Stack, plural: &str, name: &str, events: &[&str]) -> String {
    eventually("its events are recorded", async || {
        let recorded = stack.events(name).await;
        events
            .iter()
            .all(|event| recorded.iter().any(|reason| reason == event))
    })
    .await;
    let text = of_one_version(stack, plural, name).await;
    let text = readable(&text, stack);
    match text.split_once("Events:") {
        Some((before, _)) if events.is_empty() => before.to_owned(),
        _ => text,
    }
}

/// Both texts of one version of the object: a try that begins in between shows in one of them alone.
async fn of_one_version(stack: &Stack, plural: &str, name: &str) -> String {
    let version = ["get", plural, name, "-o", "jsonpath={.metadata.resourceVersion}"];
    for _ in 0..20 {
        let before = stack.kubectl(&version).await;
        let mut text = format!("$ kubectl get {plural} {name}\n");
        text.push_str(&columns_of(&stack.kubectl(&["get", plural, name]).await));
        text.push_str(&format!("\n$ kubectl describe {plural} {name}\n"));
        text.push_str(&stack.kubectl(&["describe", plural, name]).await);
        if stack.kubectl(&version).await == before {
            return text;
        }
    }
    panic!("{plural} {name} never rests for as long as it takes to describe it");
}

/// A table of `kubectl get`, whose last column is the age.
fn columns_of(table: &str) -> String {
    table
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn waits(seen: &Value, reason: &str) -> bool {
    condition(seen, "Synced")["reason"] == reason
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_reads_well_of_ready_stopped_and_failing_objects() {
    let stack = Stack::start(StackOptions::default()).await;
    let (bucket, table, queue) = (stack.bucket("logs"), stack.table("orders"), stack.queue("jobs"));
    bucket.create(manifests::bucket()).await;
    table.create(manifests::table()).await;
    let mut jobs = manifests::queue();
    jobs["spec"]["forProvider"]["redrivePolicy"] = json!({
        "deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:failed-jobs", "maxReceiveCount": 5
    });
    queue.create(jobs).await;

    let lost = stack.bucket("lost");
    let mut without_config = manifests::bucket();
    without_config["spec"]["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "absent"});
    lost.create(without_config).await;

    let is_good = |seen: &Value| is_ready(seen) && is_synced(seen);
    bucket.until("to be ready", is_good).await;
    golden::compare(
        "tests/e2e/golden/ready.txt",
        &shown(&stack, "buckets", "logs", &["CreatedExternalResource"]).await,
    );

    table.until("to be ready", is_good).await;
    let other_key = json!({"spec": {"forProvider": {
        "attributeDefinitions": [{"attributeName": "sku", "attributeType": "S"}],
        "keySchema": [{"attributeName": "sku", "keyType": "HASH"}],
    }}});
    table.merge(other_key).await;
    table
        .until("to be stopped", |seen| waits(seen, "ReplacementRequired"))
        .await;
    golden::compare(
        "tests/e2e/golden/stopped.txt",
        &shown(
            &stack,
            "tables",
            "orders",
            &["CreatedExternalResource", "ReplacementRequired"],
        )
        .await,
    );

    let names_it = |seen: &Value| {
        ["Ready", "Synced"].iter().any(|kind| {
            condition(seen, kind)["message"]
                .to_string()
                .contains("failed-jobs")
        })
    };
    queue.until("to wait for the other queue", names_it).await;
    golden::compare(
        "tests/e2e/golden/waiting.txt",
        &shown(&stack, "queues", "jobs", &[]).await,
    );

    lost.until("to fail", |seen| waits(seen, "ProviderConfigNotFound"))
        .await;
    golden::compare(
        "tests/e2e/golden/failing.txt",
        &shown(&stack, "buckets", "lost", &["CannotConnectToProvider"]).await,
    );
}
