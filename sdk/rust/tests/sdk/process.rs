//! The plugin as a process: sockets, signals, drain, mutual TLS.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::support::{by, connect, create, soon, target, unix, until, within};
use crossbridge_proto::v1alpha1::{
    self as wire, plugin_service_client::PluginServiceClient, resource_service_client::ResourceServiceClient,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// The plugin's process. It ends when dropped, and with this process, whose end closes its standard input.
struct Process {
    child: Child,
}

impl Process {
    fn start(endpoint: &str, variables: &[(&str, &Path)]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_sdk-test-plugin"))
            .env("PROVIDER_PLUGIN_ENDPOINT", endpoint)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the test plugin starts");
        Self { child }
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {id}")])
            .status()
            .await;
        assert!(sent.expect("there is a shell").success());
    }

    /// Waits for its end; returns its exit code and its output.
    async fn end(mut self) -> (Option<i32>, String) {
        // Waiting would close it, which ends the plugin at once.
        let input = self.child.stdin.take();
        let output = within("the plugin to end", self.child.wait_with_output())
            .await
            .expect("it can be waited for");
        drop(input);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("plugin.sock");
    (folder, socket)
}

fn at(socket: &Path) -> String {
    format!("unix://{}", socket.display())
}

#[tokio::test]
async fn a_signal_lets_running_calls_end_with_exit_code_0() -> TestResult {
    for signal in ["TERM", "INT"] {
        let (folder, socket) = folder();
        let things = folder.path().join("things");
        fs::create_dir(&things)?;
        let process = Process::start(&at(&socket), &[]);
        let channel = connect(unix(&socket)).await;
        assert_eq!(
            fs::metadata(&socket)?.permissions().mode() & 0o777,
            0o600,
            "for its owner only"
        );

        let mut client = ResourceServiceClient::new(channel);
        let request = soon(create(
            target(&things, "Thing", "slow"),
            &json!({"mood": "Waiting"}),
        ));
        let running = tokio::spawn(async move { client.create(request).await });
        until("the call to have begun", || things.join("begun-u-1").exists()).await;
        process.signal(signal).await;
        until("the socket to accept no connection", || {
            std::os::unix::net::UnixStream::connect(&socket).is_err()
        })
        .await;
        fs::write(things.join("go"), "")?;

        let response = within("the running call", running).await??.into_inner();
        assert!(matches!(
            response.outcome.and_then(|outcome| outcome.result),
            Some(wire::outcome::Result::Completed(_))
        ));
        let (code, said) = process.end().await;
        assert_eq!(code, Some(0), "{said}");
        assert!(!socket.exists(), "no file stays behind");
    }
    Ok(())
}

#[tokio::test]
async fn a_call_that_blocks_a_thread_for_ever_keeps_no_process_alive() -> TestResult {
    let (folder, socket) = folder();
    let things = folder.path().join("things");
    fs::create_dir(&things)?;
    let process = Process::start(&at(&socket), &[]);
    let mut client = ResourceServiceClient::new(connect(unix(&socket)).await);
    let request = by(
        create(target(&things, "Thing", "blocked"), &json!({"mood": "Blocking"})),
        Duration::from_secs(2),
    );
    let running = tokio::spawn(async move { client.create(request).await });
    until("the call to have begun", || things.join("blocks").exists()).await;
    process.signal("TERM").await;
    // Whoever is first, the plugin or this client, says that the time is over.
    let _ = within("the running call", running).await?;
    let (code, said) = process.end().await;
    assert_eq!(code, Some(0), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_folder_with_the_setgid_bit_lets_its_group_connect() -> TestResult {
    let (folder, socket) = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o2770))?;
    let process = Process::start(&at(&socket), &[]);
    connect(unix(&socket)).await;
    assert_eq!(fs::metadata(&socket)?.permissions().mode() & 0o777, 0o660);
    process.signal("TERM").await;
    assert_eq!(process.end().await.0, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_stale_socket_is_replaced() -> TestResult {
    let (_folder, socket) = folder();
    drop(UnixListener::bind(&socket)?);
    assert!(socket.exists(), "the file outlives its process");
    let process = Process::start(&at(&socket), &[]);
    connect(unix(&socket)).await;
    process.signal("TERM").await;
    assert_eq!(process.end().await.0, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_socket_in_use_and_a_plain_file_are_rejected() -> TestResult {
    let (folder, socket) = folder();
    let _in_use = UnixListener::bind(&socket)?;
    let (code, said) = Process::start(&at(&socket), &[]).end().await;
    assert_eq!(code, Some(1));
    assert!(said.contains("another process serves there"), "{said}");

    let file = folder.path().join("notes.txt");
    fs::write(&file, "keep")?;
    let (code, said) = Process::start(&at(&file), &[]).end().await;
    assert_eq!(code, Some(1));
    assert!(said.contains("no socket"), "{said}");
    assert_eq!(fs::read_to_string(&file)?, "keep");

    let missing = folder.path().join("missing/plugin.sock");
    let (code, said) = Process::start(&at(&missing), &[]).end().await;
    assert_eq!(code, Some(1));
    assert!(said.contains("missing/plugin.sock"), "{said}");
    Ok(())
}

/// A CA, and what it has signed, as files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Result<Self, rcgen::Error> {
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?,
        })
    }

    fn signed(&self) -> Result<(String, String), rcgen::Error> {
        let key = KeyPair::generate()?;
        let parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
        let certificate = parameters.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    fn client(&self, signed: Option<(String, String)>) -> ClientTlsConfig {
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tls = ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(Certificate::from_pem(self.issuer.pem()));
        match signed {
            Some((certificate, key)) => tls.identity(Identity::from_pem(certificate, key)),
            None => tls,
        }
    }
}

fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
    probe.local_addr().expect("it is bound").port()
}

#[tokio::test]
async fn tcp_needs_certificates_on_both_sides() -> TestResult {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let (certificate, key) = authority.signed()?;
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).map(|()| path)
    };
    let certificate = file("tls.crt", &certificate)?;
    let key = file("tls.key", &key)?;
    let ca = file("ca.crt", &authority.issuer.pem())?;
    let port = free_port();
    let process = Process::start(
        &format!("https://127.0.0.1:{port}"),
        &[
            ("PROVIDER_PLUGIN_TLS_CERT", &certificate),
            ("PROVIDER_PLUGIN_TLS_KEY", &key),
            ("PROVIDER_PLUGIN_TLS_CA", &ca),
        ],
    );
    let endpoint = Endpoint::from_shared(format!("https://127.0.0.1:{port}"))?;

    let known = endpoint
        .clone()
        .tls_config(authority.client(Some(authority.signed()?)))?;
    let mut client = PluginServiceClient::new(connect(known).await);
    let info = client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?
        .into_inner();
    assert_eq!(info.name, "things.example.org");

    let stranger = Authority::new()?.signed()?;
    for (who, signed) in [("nobody", None), ("a stranger", Some(stranger))] {
        let channel = endpoint
            .clone()
            .tls_config(authority.client(signed))?
            .connect_lazy();
        let mut client = PluginServiceClient::new(channel);
        let refused = within(who, client.get_plugin_info(wire::GetPluginInfoRequest::default())).await;
        assert!(refused.is_err(), "{who} is not served");
    }
    drop(client);
    process.signal("TERM").await;
    assert_eq!(process.end().await.0, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_client_bears_the_name_that_is_set() -> TestResult {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let (certificate, key) = authority.signed()?;
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).map(|()| path)
    };
    let certificate = file("tls.crt", &certificate)?;
    let key = file("tls.key", &key)?;
    let ca = file("ca.crt", &authority.issuer.pem())?;
    for (name, is_served) in [("localhost", true), ("bridge.example.org", false)] {
        let port = free_port();
        let process = Process::start(
            &format!("https://127.0.0.1:{port}"),
            &[
                ("PROVIDER_PLUGIN_TLS_CERT", &certificate),
                ("PROVIDER_PLUGIN_TLS_KEY", &key),
                ("PROVIDER_PLUGIN_TLS_CA", &ca),
                ("PROVIDER_PLUGIN_TLS_CLIENT_NAME", Path::new(name)),
            ],
        );
        let endpoint = Endpoint::from_shared(format!("https://127.0.0.1:{port}"))?;
        within("the port", async {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        let channel = endpoint
            .tls_config(authority.client(Some(authority.signed()?)))?
            .connect_lazy();
        let mut client = PluginServiceClient::new(channel);
        let answered = within(
            name,
            client.get_plugin_info(wire::GetPluginInfoRequest::default()),
        )
        .await;
        assert_eq!(answered.is_ok(), is_served, "{name}: {answered:?}");
        drop(client);
        process.signal("TERM").await;
        assert_eq!(process.end().await.0, Some(0));
    }
    let (code, said) = Process::start(
        "https://127.0.0.1:0",
        &[
            ("PROVIDER_PLUGIN_TLS_CERT", &certificate),
            ("PROVIDER_PLUGIN_TLS_KEY", &key),
            ("PROVIDER_PLUGIN_TLS_CA", &ca),
            ("PROVIDER_PLUGIN_TLS_CLIENT_NAME", Path::new("not a name")),
        ],
    )
    .end()
    .await;
    assert_eq!(code, Some(1));
    assert!(
        said.contains("PROVIDER_PLUGIN_TLS_CLIENT_NAME is neither"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn renewed_certificates_are_used_without_a_restart() -> TestResult {
    let folder = tempfile::tempdir()?;
    let paths = ["tls.crt", "tls.key", "ca.crt"].map(|name| folder.path().join(name));
    let write = |authority: &Authority| -> TestResult {
        let (certificate, key) = authority.signed()?;
        for (path, text) in paths.iter().zip([certificate, key, authority.issuer.pem()]) {
            fs::write(path, text)?;
        }
        Ok(())
    };
    let first = Authority::new()?;
    write(&first)?;
    let port = free_port();
    let process = Process::start(
        &format!("https://127.0.0.1:{port}"),
        &[
            ("PROVIDER_PLUGIN_TLS_CERT", &paths[0]),
            ("PROVIDER_PLUGIN_TLS_KEY", &paths[1]),
            ("PROVIDER_PLUGIN_TLS_CA", &paths[2]),
        ],
    );
    let endpoint = Endpoint::from_shared(format!("https://127.0.0.1:{port}"))?;
    let served = async |authority: &Authority| -> Result<Channel, Box<dyn std::error::Error>> {
        let tls = authority.client(Some(authority.signed()?));
        let channel = connect(endpoint.clone().tls_config(tls)?).await;
        let request = wire::GetPluginInfoRequest::default();
        PluginServiceClient::new(channel.clone())
            .get_plugin_info(request)
            .await?;
        Ok(channel)
    };
    let before = served(&first).await?;

    // In the middle of a renewal the files do not fit together: those read last count.
    fs::write(&paths[1], "no key")?;
    served(&first).await?;

    let second = Authority::new()?;
    write(&second)?;
    served(&second).await?;
    let stale = endpoint.clone().tls_config(first.client(Some(first.signed()?)))?;
    let refused = PluginServiceClient::new(stale.connect_lazy())
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await;
    assert!(refused.is_err(), "the former authority is not trusted any more");
    PluginServiceClient::new(before)
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?;
    process.signal("TERM").await;
    assert_eq!(process.end().await.0, Some(0));
    Ok(())
}

#[tokio::test]
async fn unsafe_endpoints_are_rejected_with_advice() {
    let cases = [
        ("http://0.0.0.0:0", "loopback only"),
        ("https://127.0.0.1:0", "PROVIDER_PLUGIN_TLS_CERT"),
        ("nonsense", "unix:///path"),
    ];
    for (endpoint, advice) in cases {
        let (code, said) = Process::start(endpoint, &[]).end().await;
        assert_eq!(code, Some(1), "{endpoint}");
        assert!(said.contains(advice), "{endpoint}: {said}");
    }
    let missing = Path::new("/there/is/no/such/file");
    let (code, said) = Process::start("https://127.0.0.1:0", &[("PROVIDER_PLUGIN_TLS_CERT", missing)])
        .end()
        .await;
    assert_eq!(code, Some(1));
    assert!(said.contains("No such file"), "{said}");
}

#[tokio::test]
async fn plaintext_is_served_on_loopback() -> TestResult {
    let port = free_port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let process = Process::start(&endpoint, &[]);
    let mut client = PluginServiceClient::new(connect(Endpoint::from_shared(endpoint)?).await);
    client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?;
    drop(client);
    process.signal("INT").await;
    assert_eq!(process.end().await.0, Some(0));
    Ok(())
}
