//! The emulator as tests and scripts use it: its library, its admin API, its program.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use aws_emulator::{AwsEmulator, Fault, Harm, Options, Service};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// How long an answer, or the end of a program, is waited for.
const RESPONSE_LIMIT: Duration = Duration::from_secs(30);

/// Sends a request for a service. The signature is none; without `auth` it is not checked.
async fn send(
    endpoint: &str,
    service: &str,
    method: &str,
    path: &str,
    body: &str,
) -> Option<(StatusCode, String)> {
    let scope = format!("AKIAEMULATOR00000000/20261121/us-east-1/{service}/aws4_request");
    let request = Request::builder()
        .method(method)
        .uri(format!("{endpoint}{path}"))
        .header(
            "authorization",
            format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=00"),
        )
        .header("x-amz-date", "20261121T000000Z")
        .body(Full::new(Bytes::from(body.to_owned())))
        .expect("a request");
    let client = Client::builder(TokioExecutor::new()).build_http();
    let answer = tokio::time::timeout(RESPONSE_LIMIT, client.request(request))
        .await
        .expect("an answer in time");
    let (head, body) = answer.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    Some((head.status, String::from_utf8_lossy(&body).into_owned()))
}

async fn start(options: Options) -> AwsEmulator {
    AwsEmulator::start(options).await.expect("the emulator starts")
}

#[tokio::test]
async fn inventory_reads_are_not_counted() {
    let aws = start(Options::default()).await;
    let endpoint = aws.endpoint();
    let (status, _) = send(&endpoint, "s3", "PUT", "/a-bucket", "")
        .await
        .expect("an answer");
    assert_eq!(status, StatusCode::OK);
    send(&endpoint, "s3", "HEAD", "/a-bucket", "")
        .await
        .expect("an answer");
    assert_eq!(aws.buckets().await.expect("a list"), ["a-bucket"]);
    assert_eq!(aws.queues("us-east-1").await.expect("a list"), [""; 0]);
    assert_eq!(aws.calls(Service::S3, "CreateBucket"), 1);
    assert_eq!(aws.all_calls(), 2, "the list was no call");
    aws.reset().await.expect("emptied");
    assert_eq!(aws.buckets().await.expect("a list"), [""; 0]);
    assert_eq!(aws.all_calls(), 0);
}

#[tokio::test]
async fn a_lost_answer_keeps_the_effect() {
    let aws = start(Options::default()).await;
    aws.inject(Fault::new(Harm::AnswerLost).on(Service::S3, "CreateBucket"));
    let lost = send(&aws.endpoint(), "s3", "PUT", "/a-bucket", "").await;
    assert_eq!(lost, None);
    assert_eq!(aws.buckets().await.expect("a list"), ["a-bucket"]);
    aws.inject(Fault::new(Harm::Refuse).on(Service::S3, "CreateBucket"));
    assert_eq!(send(&aws.endpoint(), "s3", "PUT", "/another", "").await, None);
    assert_eq!(aws.buckets().await.expect("a list"), ["a-bucket"]);
}

#[tokio::test]
async fn delayed_work_completes_without_its_caller() {
    let aws = start(Options::default()).await;
    aws.inject(Fault::new(Harm::Delay { millis: 300 }).on(Service::S3, "CreateBucket"));
    let endpoint = aws.endpoint();
    let abandoned = send(&endpoint, "s3", "PUT", "/a-bucket", "");
    assert!(
        tokio::time::timeout(Duration::from_millis(50), abandoned)
            .await
            .is_err()
    );
    let done = async {
        while aws.buckets().await.expect("a list").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(RESPONSE_LIMIT, done)
        .await
        .expect("the bucket comes");
}

#[tokio::test]
async fn signatures_are_checked_where_asked_for() {
    let aws = start(Options {
        auth: true,
        ..Options::default()
    })
    .await;
    let (status, body) = send(&aws.endpoint(), "s3", "PUT", "/a-bucket", "")
        .await
        .expect("an answer");
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    assert!(body.contains("<Code>InvalidAccessKeyId</Code>"), "{body}");
    assert_eq!(aws.buckets().await.expect("our own keys are good"), [""; 0]);
    assert!(
        aws.distributions()
            .await
            .expect("a query is signed too")
            .is_empty()
    );
    let first = aws.credentials();
    aws.reset().await.expect("emptied");
    assert_ne!(aws.credentials(), first);
    assert_eq!(aws.buckets().await.expect("the new keys are good"), [""; 0]);
}

#[tokio::test]
async fn the_admin_api_injects_faults_and_counts_calls() {
    let aws = start(Options::default()).await;
    let endpoint = aws.endpoint();
    let admin = async |method: &str, path: &str, body: &str| {
        let (status, body) = send(&endpoint, "none", method, path, body)
            .await
            .expect("an answer");
        (status, serde_json::from_str::<Value>(&body).expect("JSON"))
    };
    let fault = json!({ "harm": "throttle", "service": "S3", "action": "CreateBucket", "times": 2 });
    assert_eq!(
        admin("POST", "/_emulator/faults", &fault.to_string()).await.0,
        StatusCode::OK
    );
    let (status, _) = send(&endpoint, "s3", "PUT", "/a-bucket", "")
        .await
        .expect("an answer");
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let (_, left) = admin("GET", "/_emulator/faults", "").await;
    assert_eq!(left[0]["times"], 1);
    assert_eq!(admin("DELETE", "/_emulator/faults", "").await.0, StatusCode::OK);
    assert_eq!(
        admin("GET", "/_emulator/calls", "").await.1,
        json!({ "S3": { "CreateBucket": 1 } })
    );
    assert_eq!(admin("DELETE", "/_emulator/calls", "").await.0, StatusCode::OK);
    assert_eq!(aws.all_calls(), 0);
    let (status, error) = admin("POST", "/_emulator/faults", r#"{ "harm": "mischief" }"#).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.contains("mischief")),
        "{error}"
    );
    assert_eq!(
        admin("GET", "/_emulator/nothing", "").await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn the_program_prints_its_endpoint_and_ends_with_stdin() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_aws-emulator"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let said = BufReader::new(program.stdout.take().expect("an output"));
    let mut said = said.lines().map(|line| line.expect("text"));
    let mut value = |key: &str| {
        let line = said.next().expect("a line");
        line.strip_prefix(&format!("{key}="))
            .map(ToOwned::to_owned)
            .expect("the key")
    };
    let endpoint = value("endpoint");
    assert_eq!(value("access_key_id").len(), 20);
    value("secret_access_key");
    let (status, _) = send(&endpoint, "s3", "GET", "/", "").await.expect("an answer");
    assert_eq!(status, StatusCode::OK);
    drop(program.stdin.take());
    let ended = tokio::task::spawn_blocking(move || program.wait().expect("it ends"));
    let status = tokio::time::timeout(RESPONSE_LIMIT, ended)
        .await
        .expect("it ends in time")
        .expect("it was waited for");
    assert!(status.success(), "{status}");
    assert_eq!(send(&endpoint, "s3", "GET", "/", "").await, None);
}
