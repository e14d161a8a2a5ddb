//! What docs/functions.md says, done and compared.

use std::fs;

use bridge_control_plane::process::{ScratchDir, Spawn};
use bridge_core::function::{FunctionFailure, MISSES, RunRequest};
use bridge_function::{CALL_TIMEOUT, MAX_MESSAGE_BYTES, PLACES};
use bridge_languages::{Function, Session};
use bridge_transport::TlsFiles;
use provider_conformance::certificates::free_address;

use crate::host::{Host, client, run, serve_tls};

const DOCUMENT: &str = include_str!("../../../../docs/functions.md");

/// The messages of its table of failures, up to what differs from one to the next.
fn messages() -> Vec<&'static str> {
    let (_, table) = DOCUMENT.split_once("<!-- failures").expect("the table");
    let rows = table.lines().skip(3).take_while(|line| line.starts_with('|'));
    let messages = rows.filter_map(|row| row.split('`').nth(1));
    messages
        .map(|message| message.split('…').next().unwrap_or(message))
        .collect()
}

fn assert_listed(failure: &FunctionFailure) {
    let text = failure.to_string();
    assert!(
        messages().iter().any(|message| text.starts_with(message)),
        "{text}"
    );
}

#[tokio::test]
async fn certificates_of_the_document_let_bridge_and_function_connect() {
    let folder = ScratchDir::new("crossbridge-functions-").expect("a folder");
    let bash = Spawn::new("bash").current_dir(folder.path());
    Session::of(DOCUMENT, "certificates")
        .run(bash, str::to_owned)
        .await;
    let tls = folder.path().join("tls");
    let free = free_address().expect("a free port");
    let address = free.replace("https://127.0.0.1", "localhost");
    let _process = serve_tls(Function::Example, &address, &tls.join("function")).await;
    let client = client(&address, Some(TlsFiles::in_folder(&tls.join("bridge"))));
    let response = run(&client, &RunRequest::default()).await.expect("a response");
    assert_eq!(response.results.len(), 1, "an empty text is fatal");
}

#[tokio::test]
async fn a_held_function_looks_as_the_document_shows() {
    let host = Host::start(Function::Example, &[]).await;
    host.process.kill();
    host.process.wait().await;
    for _ in 0..MISSES {
        let failure = host
            .run(&RunRequest::default())
            .await
            .expect_err("nobody listens");
        assert_listed(&failure);
    }
    let failure = host
        .run(&RunRequest::default())
        .await
        .expect_err("nobody listens");
    assert_listed(&failure);
    let shown = DOCUMENT
        .lines()
        .find(|line| line.starts_with("cannot compose resources: "));
    let shown = shown.and_then(|line| line.split_once("cannot run Function \"notices\": "));
    let (_, shown) = shown.expect("a held function is shown");
    let FunctionFailure::Held { since, .. } = &failure else {
        panic!("{failure:?}");
    };
    let text = failure
        .to_string()
        .replace(&since.to_string(), "2026-11-22T19:20:05Z");
    assert!(text.starts_with(shown.trim_end_matches('…')), "{text}");
}

#[test]
fn every_failure_of_a_call_is_in_the_document() {
    let text = String::new;
    for failure in [
        FunctionFailure::NoEndpoint(text()),
        FunctionFailure::Unreachable(text()),
        FunctionFailure::TimedOut(CALL_TIMEOUT),
        FunctionFailure::OutOfTime,
        FunctionFailure::Busy { places: PLACES },
        FunctionFailure::Held {
            since: jiff::Timestamp::UNIX_EPOCH,
            why: text(),
        },
        FunctionFailure::Status {
            code: "RESOURCE_EXHAUSTED".to_owned(),
            message: text(),
        },
        FunctionFailure::Invalid(text()),
        FunctionFailure::InvalidRequest(text()),
        FunctionFailure::TooLarge {
            size: MAX_MESSAGE_BYTES + 1,
            limit: MAX_MESSAGE_BYTES,
        },
    ] {
        assert_listed(&failure);
    }
}

#[test]
fn limits_of_the_document_are_those_of_the_client() {
    for row in [
        format!("| a request, a response | {} MiB each |", MAX_MESSAGE_BYTES >> 20),
        format!(
            "| one call; all calls of a run | {} s; 2 min |",
            CALL_TIMEOUT.as_secs()
        ),
        format!("| calls of one function under way | {PLACES}, "),
        format!(
            "| kept responses | {} MiB |",
            bridge_core::function::CACHE_BYTES >> 20
        ),
    ] {
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}

#[test]
fn the_document_starts_the_example_as_its_readme_does() {
    let readme = fs::read_to_string(Function::example_source().join("README.md")).expect("a README");
    let command =
        ".venv/bin/python main.py --insecure --address unix:/tmp/notices.sock --max-recv-message-size 64";
    let install = ".venv/bin/pip install --require-hashes -r requirements.lock";
    for line in [install, command] {
        assert!(readme.contains(line) && DOCUMENT.contains(line), "{line}");
    }
    let pythonic = include_str!("../../src/pythonic/requirements.in");
    let pinned = pythonic
        .lines()
        .find(|line| line.starts_with("crossplane-function-pythonic=="));
    assert!(DOCUMENT.contains(&format!("pip install {}\n", pinned.expect("a pin"))));
}
