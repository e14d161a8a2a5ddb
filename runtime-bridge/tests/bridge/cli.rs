//! What people meet when something is wrong: which words, which exit code.

use tokio::net::UnixListener;

use crate::{
    notes::Notes,
    program::{BRIDGE, run},
};

#[tokio::test]
async fn a_wrong_command_line_is_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["serve"], "--plugin <ENDPOINT>"),
        (&["serve", "--plugin", "plugin.sock"], "is not an endpoint"),
        (
            &["serve", "--plugin", "http://plugin.example.org:80"],
            "in the clear",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--poll", "soon"],
            "not a duration",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--poll", "0s"],
            "more than 0s",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--crds", "ignore"],
            "possible values: install, check",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--admin-address", "here"],
            "--admin-address",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--plugin-cert", "c.pem"],
            "--plugin-key",
        ),
        (
            &["crds", "--plugin", "unix:///a", "--log-level", "no=such=level"],
            "--log-level",
        ),
        (
            &["crds"],
            "nothing to print: give --plugin <ENDPOINT>, --compositions",
        ),
        (
            &["serve", "--compositions", "--function", "unix:/a"],
            "NAME=ENDPOINT",
        ),
        (
            &[
                "serve",
                "--compositions",
                "--function",
                "f=unix:/a",
                "--function",
                "f=unix:/b",
            ],
            "says twice where \"f\" listens",
        ),
        (
            &["serve", "--plugin", "unix:///a", "--function", "f=unix:/a"],
            "is for --compositions, which is not given",
        ),
        (
            &["serve", "--compositions", "--circuit-breaker-burst", "0"],
            "write a whole number from 1 on",
        ),
        (
            &["serve", "--compositions", "--circuit-breaker-refill-rate", "0"],
            "write a number from 0.00001 to 1000",
        ),
        (
            &["serve", "--compositions", "--circuit-breaker-cooldown", "0s"],
            "more than 0s",
        ),
        (&["rbac"], "nothing to print: give --compositions"),
        (
            &["rbac", "--compositions", "--composes", "ConfigMap"],
            "write PLURAL or PLURAL.GROUP",
        ),
        (&["function-certs"], "<NAME>"),
        (&["function-certs", "bridge"], "this folder is the bridge's"),
        (&["fly"], "unrecognized subcommand"),
    ];
    for (arguments, words) in cases {
        let ran = run(arguments).await;
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn the_version_is_printed() {
    let ran = run(&["version"]).await;
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stdout,
        format!("runtime-bridge {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn waiting_for_a_missing_plugin_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = format!("unix://{}/none.sock", folder.path().display());
    let ran = run(&["crds", "--plugin", &endpoint, "--startup-timeout", "300ms"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains(&format!("error: no plugin listens at {endpoint}")),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn a_grpc_server_without_the_contract_is_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("other.sock");
    let incoming = tokio_stream::wrappers::UnixListenerStream::new(UnixListener::bind(&socket).unwrap());
    let (_, health) = tonic_health::server::health_reporter();
    let server = tonic::transport::Server::builder().add_service(health);
    let server = tokio::spawn(server.serve_with_incoming(incoming));
    let endpoint = format!("unix://{}", socket.display());
    let ran = run(&["crds", "--plugin", &endpoint, "--startup-timeout", "1h"]).await;
    server.abort();
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("is not a Crossbridge plugin"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn missing_tls_files_are_reported_at_once() {
    let ran = run(&[
        "crds",
        "--plugin",
        "https://127.0.0.1:1",
        "--startup-timeout",
        "1h",
    ])
    .await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("needs mutual TLS"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_plugin_that_calls_itself_otherwise_is_not_served() {
    let notes = Notes::start();
    let pinned = |name: &str| format!("{name}={}", notes.endpoint());
    let ran = run(&["crds", "--plugin", &pinned("memos.example.org")]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("calls itself notes.example.org, and must be the plugin memos.example.org"),
        "{}",
        ran.stderr
    );
    let ran = run(&["crds", "--plugin", &pinned("notes.example.org")]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[tokio::test]
async fn a_plugin_of_another_user_is_not_connected_to() {
    let notes = Notes::start();
    // Whoever waits for it would wait for the other user, too.
    let pinned = format!("notes.example.org={}", notes.endpoint());
    let ran = run(&["crds", "--plugin", &pinned]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let arguments = |uid: &str| {
        [
            "crds",
            "--startup-timeout",
            "0s",
            "--plugin",
            &pinned,
            "--plugin-uid",
            uid,
        ]
        .map(ToOwned::to_owned)
    };
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
    let run_as = async |uid: u32| {
        let arguments = arguments(&format!("notes.example.org={uid}"));
        run(&arguments.each_ref().map(String::as_str)).await
    };
    let refused = run_as(own + 1).await;
    assert_eq!(refused.code, Some(1));
    let why = format!("runs as user {own}, and must run as user {}", own + 1);
    assert!(refused.stderr.contains(&why), "{}", refused.stderr);
    let served = run_as(own).await;
    assert_eq!(served.code, Some(0), "{}", served.stderr);
}

#[tokio::test]
async fn the_user_of_a_plugin_needs_its_name() {
    let ran = run(&[
        "crds",
        "--plugin",
        "unix:///run/plugin.sock",
        "--plugin-uid",
        "notes.example.org=1",
    ])
    .await;
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--plugin notes.example.org=unix:///path"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn the_same_plugin_twice_is_an_error() {
    let (first, second) = (Notes::start(), Notes::start());
    let ran = run(&[
        "crds",
        "--plugin",
        &first.endpoint(),
        "--plugin",
        &second.endpoint(),
    ])
    .await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("are both the plugin notes.example.org"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn waiting_for_a_missing_api_server_is_bounded() {
    let notes = Notes::start();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: a}}]\n";
    std::fs::write(&kubeconfig, text).unwrap();
    let kubeconfig = kubeconfig.display().to_string();
    let endpoint = notes.endpoint();
    let mut arguments = vec!["serve", "--plugin", &endpoint, "--kubeconfig", &kubeconfig];
    arguments.extend(["--startup-timeout", "500ms", "--admin-address", "127.0.0.1:0"]);
    let ran = run(&arguments).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("error: no answer from the API server https://127.0.0.1:1"),
        "{}",
        ran.stderr
    );
    // What a dependency logs of the same error is not repeated, and each record is one line.
    let logged = ran.stderr.lines().filter(|line| !line.starts_with("error: "));
    for line in logged {
        let time = line.split_whitespace().next().unwrap_or_default();
        assert!(
            time.parse::<jiff::Timestamp>().is_ok(),
            "{line:?} in {}",
            ran.stderr
        );
        assert!(!line.contains("kube_client"), "{line:?}");
    }
}

#[tokio::test]
async fn a_missing_kubeconfig_is_reported_at_once() {
    let notes = Notes::start();
    let endpoint = notes.endpoint();
    let mut arguments = vec!["serve", "--plugin", &endpoint, "--kubeconfig", "/no/such/file"];
    arguments.extend(["--startup-timeout", "1h", "--admin-address", "127.0.0.1:0"]);
    let ran = run(&arguments).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("cannot use the kubeconfig /no/such/file"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn an_admin_address_in_use_is_reported_at_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = run(&["serve", "--plugin", "unix:///none", "--admin-address", &address]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains(&format!("cannot listen on the admin address {address}")),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn a_healthcheck_without_a_bridge_fails() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let ran = run(&["healthcheck", "--admin-address", &free]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("no bridge answers at {free}")),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn crds_are_printed_the_same_each_time() {
    let notes = Notes::start();
    let endpoint = notes.endpoint();
    let (first, second) = (
        run(&["crds", "--plugin", &endpoint]).await,
        run(&["crds", "--plugin", &endpoint]).await,
    );
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert_eq!(first.stdout, second.stdout);
    let names: Vec<&str> = first
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  name: "))
        .collect();
    let expected = ["providerconfigs", "clusterproviderconfigs", "boards", "notes"];
    assert_eq!(
        names,
        expected.map(|plural| format!("{plural}.notes.example.org"))
    );
}

#[tokio::test]
async fn each_crd_is_written_into_a_file_of_its_own() {
    let notes = Notes::start();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("crds");
    let dir = to.display().to_string();
    let ran = run(&["crds", "--plugin", &notes.endpoint(), "--output-dir", &dir]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let files = std::fs::read_dir(&to).unwrap();
    let mut files: Vec<String> = files
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    let expected = ["boards", "clusterproviderconfigs", "notes", "providerconfigs"];
    assert_eq!(
        files,
        expected.map(|plural| format!("{plural}.notes.example.org.yaml"))
    );
}

#[tokio::test]
async fn a_closed_pipe_is_no_error() {
    let notes = Notes::start();
    let scratch = tempfile::tempdir().unwrap();
    let endpoint = notes.endpoint();
    let commands = [
        "version".to_owned(),
        format!("crds --plugin {endpoint}"),
        "rbac --compositions".to_owned(),
        format!("call GetPluginInfo --endpoint {endpoint}"),
        format!(
            "new-plugin acme --lang python --dir {}",
            scratch.path().join("acme").display()
        ),
    ];
    for command in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut program = tokio::process::Command::new(BRIDGE);
        program
            .args(command.split(' '))
            .stdout(writer)
            .stderr(std::process::Stdio::piped());
        let output = program.spawn().unwrap().wait_with_output().await.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{command}: {stderr}");
        assert!(
            !stderr.contains("panicked") && !stderr.contains("error"),
            "{command}: {stderr}"
        );
    }
}

#[tokio::test]
async fn a_context_that_does_not_exist_is_named_with_those_that_do() {
    let notes = Notes::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: a}}]\n";
    std::fs::write(&file, text).unwrap();
    let (file, endpoint) = (file.display().to_string(), notes.endpoint());
    let flags = [
        "--kubeconfig",
        &file,
        "--context",
        "nope",
        "--admin-address",
        "127.0.0.1:0",
    ];
    let ran = run(&[&["serve", "--plugin", &endpoint][..], &flags].concat()).await;
    assert_eq!(ran.code, Some(1));
    let expected = format!("cannot use the kubeconfig {file}: it has no context \"nope\"; it has: a");
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
}

#[tokio::test]
async fn a_call_that_is_answered_with_a_failure_exits_with_3() {
    let notes = Notes::start();
    let endpoint = notes.listening().await;
    let config = r#"{"config": {"configId": "c", "revision": "1", "settings": {"nonsense": 1}}}"#;
    let ran = run(&["call", "checkconfig", "--endpoint", &endpoint, "--data", config]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("\"failure\""), "{}", ran.stdout);

    let gone = format!(
        "unix://{}/none.sock",
        tempfile::tempdir().unwrap().path().display()
    );
    let ran = run(&["call", "GetPluginInfo", "--endpoint", &gone]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("the connection to {gone} failed")),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn variables_configure_a_pod_and_not_commands_that_people_type() {
    let notes = Notes::start();
    let command = |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(BRIDGE);
        command
            .args(arguments)
            .env("CROSSBRIDGE_SHOW_SECRETS", "true")
            .env("CROSSBRIDGE_PRINT_REQUEST", "true");
        command
    };
    let printed = command(&["call", "GetPluginInfo", "--endpoint", &notes.listening().await])
        .output()
        .await
        .unwrap();
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.contains("notes.example.org"), "it was called: {printed}");
}
