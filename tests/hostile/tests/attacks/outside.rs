//! Who is neither plugin nor tenant, but reaches the admin endpoint; and, to compare with, nobody at all.

use bridge_hostile::Scene;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

#[tokio::test(flavor = "multi_thread")]
async fn without_any_attack() {
    let scene = Scene::without_plugin().await;
    scene.verdict("none").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_never_end_keep_nobody_out() {
    let scene = Scene::without_plugin().await;
    let mut held = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(scene.admin_address()).await.unwrap();
        // It may be closed on the other side already.
        let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nHost: ").await;
        held.push(stream);
    }
    scene.verdict("endless-requests").await;
    drop(held);
}
