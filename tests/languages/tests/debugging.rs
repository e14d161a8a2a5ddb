//! The sessions of docs/debugging.md that need no cluster, run as they stand there. Those with one are in `bridge.rs`.

use std::{net::TcpListener, path::Path};

use bridge_control_plane::process::{ScratchDir, Spawn};
use bridge_languages::{Language, Session, binary, grpcurl};

const DOCUMENT: &str = include_str!("../../../docs/debugging.md");

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port().to_string()
}

#[tokio::test]
async fn every_documented_session_prints_what_is_written() {
    let plugin = Language::Go
        .example()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let tools = grpcurl().await.unwrap_or_else(|error| panic!("{error}"));
    let folder = ScratchDir::new("cb-debugging-").expect("a folder");
    // As `cargo xtask descriptor` writes it.
    let descriptors = folder.path().join("crossbridge.binpb");
    std::fs::write(descriptors, crossbridge_proto::FILE_DESCRIPTOR_SET).expect("it can be written");
    let port = free_port();
    let place = |text: &str| {
        text.replace("/tmp/press", &folder.path().display().to_string())
            .replace("examples/go-plugin/plugin", &plugin)
            .replace("127.0.0.1:9000", &format!("127.0.0.1:{port}"))
            .replace("/dev/tcp/127.0.0.1/9000", &format!("/dev/tcp/127.0.0.1/{port}"))
    };
    let bridge = binary("runtime-bridge");
    let path = [tools.as_path(), bridge.parent().unwrap_or(Path::new("/"))]
        .map(|folder| folder.display().to_string());
    let path = format!("{}:{}", path.join(":"), std::env::var("PATH").unwrap_or_default());
    let bash = Spawn::new("bash").env("PATH", path).current_dir(folder.path());
    Session::of(DOCUMENT, "").run(bash, place).await;
}
