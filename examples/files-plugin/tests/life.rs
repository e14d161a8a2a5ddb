//! The page-long plugin as a process, asked over its socket: a file is created, changed, seen and removed.

use std::{collections::HashMap, fs, path::Path, process::Stdio, time::Duration};

use crossbridge_proto::v1alpha1::{
    self as wire, observe_response, outcome, resource_service_client::ResourceServiceClient,
};
use serde_json::json;
use tokio::process::{Child, Command};
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};

const PATIENCE: Duration = Duration::from_secs(30);

async fn connect(socket: &Path) -> Channel {
    let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display())).expect("a socket's URI");
    let connected = async {
        loop {
            match endpoint.connect().await {
                Ok(channel) => return channel,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, connected)
        .await
        .expect("the plugin serves")
}

/// The plugin's process, which ends when its standard input does: with this process, however that ends.
fn start(socket: &Path) -> Child {
    let script = r#""$1" <&- & plugin=$!; read -r _; kill -KILL "$plugin"; wait"#;
    Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_files-plugin")])
        .env("PROVIDER_PLUGIN_ENDPOINT", format!("unix://{}", socket.display()))
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell")
}

fn soon<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(PATIENCE);
    request
}

fn completed(outcome: Option<wire::Outcome>) -> wire::Completed {
    match outcome.and_then(|outcome| outcome.result) {
        Some(outcome::Result::Completed(completed)) => completed,
        other => panic!("not completed: {other:?}"),
    }
}

#[tokio::test]
async fn a_file_lives_and_goes() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("plugin.sock");
    let mut plugin = start(&socket);
    let mut client = ResourceServiceClient::new(connect(&socket).await);

    let target = Some(wire::Target {
        resource_type: Some(wire::ResourceType {
            group: "files.example.org".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "File".to_owned(),
        }),
        config: Some(wire::ConfigContext {
            config_id: "default".to_owned(),
            revision: "1".to_owned(),
            settings: Some(wire::Document {
                json: json!({"folder": folder.path()}).to_string(),
            }),
            ..Default::default()
        }),
        owner: Some(wire::ObjectRef {
            namespace: "default".to_owned(),
            name: "notes".to_owned(),
            uid: "1".to_owned(),
            generation: 1,
        }),
        external_name: "notes.txt".to_owned(),
        ownership_marker: "cb-1".to_owned(),
        ..Default::default()
    });
    let desired = |content: &str| {
        Some(wire::DesiredState {
            parameters: Some(wire::Document {
                json: json!({"content": content}).to_string(),
            }),
            sensitive_values: HashMap::new(),
        })
    };
    let request = wire::ObserveRequest {
        target: target.clone(),
        desired: desired("Buy milk."),
    };

    let seen = client.observe(request.clone()).await?.into_inner();
    assert!(matches!(seen.result, Some(observe_response::Result::Absent(_))));
    let create = wire::CreateRequest {
        target: target.clone(),
        desired: desired("Buy milk."),
        client_request_token: "123e4567-e89b-12d3-a456-426614174000".to_owned(),
        outcome_unknown: false,
    };
    completed(client.create(soon(create.clone())).await?.into_inner().outcome);
    let file = folder.path().join("notes.txt");
    assert_eq!(fs::read_to_string(&file)?, "Buy milk.");
    let again = client.create(soon(create)).await?.into_inner().outcome;
    assert!(
        matches!(
            again.and_then(|outcome| outcome.result),
            Some(outcome::Result::Failure(failure)) if failure.code() == wire::FailureCode::AlreadyExists
        ),
        "it takes over nothing"
    );

    let update = wire::UpdateRequest {
        target: target.clone(),
        desired: desired("Tea."),
        ..Default::default()
    };
    completed(client.update(soon(update.clone())).await?.into_inner().outcome);
    let seen = client.observe(request).await?.into_inner();
    let Some(observe_response::Result::Observation(seen)) = seen.result else {
        panic!("not found: {seen:?}");
    };
    assert!(seen.ready);
    assert_eq!(
        seen.parameters.map(|parameters| parameters.json).as_deref(),
        Some(r#"{"content":"Tea."}"#)
    );
    assert_eq!(
        seen.status.map(|status| status.json).as_deref(),
        Some(r#"{"bytes":4}"#)
    );

    let delete = wire::DeleteRequest {
        target,
        ..Default::default()
    };
    let first = completed(client.delete(soon(delete.clone())).await?.into_inner().outcome);
    let second = completed(client.delete(soon(delete)).await?.into_inner().outcome);
    assert_eq!((first.already_done, second.already_done), (false, true));
    let gone = client.update(soon(update)).await?.into_inner().outcome;
    assert!(
        matches!(
            gone.and_then(|outcome| outcome.result),
            Some(outcome::Result::Failure(failure)) if failure.code() == wire::FailureCode::NotFound
        ),
        "an update creates none"
    );
    assert!(!file.exists());
    drop(plugin.stdin.take());
    tokio::time::timeout(PATIENCE, plugin.wait()).await??;
    Ok(())
}

#[test]
fn it_fits_on_a_page() {
    let (page, _tests) = include_str!("../src/main.rs")
        .split_once("#[cfg(test)]")
        .expect("its tests come last");
    let lines = page.lines().count();
    assert!(lines < 90, "{lines} lines");
}

#[test]
fn the_readme_shows_this_very_file() {
    let readme = include_str!("../../../README.md");
    let block = readme
        .split_once("<!-- examples/files-plugin/src/main.rs -->\n```rust\n")
        .and_then(|(_, rest)| rest.split_once("```\n"))
        .map(|(block, _)| block);
    assert_eq!(block, Some(include_str!("../src/main.rs")));
}
