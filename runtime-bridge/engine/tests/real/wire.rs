//! The wire to an API server, which can be cut.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

pub struct Wire {
    port: u16,
    cut: watch::Sender<bool>,
    _relay: JoinSet<()>,
}

impl Wire {
    /// To `https://HOST:PORT`.
    pub async fn to(url: &str) -> Self {
        let target = url.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, is_cut) = watch::channel(false);
        let mut relay = JoinSet::new();
        relay.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (target, mut is_cut) = (target.clone(), is_cut.clone());
                connections.spawn(async move {
                    if *is_cut.borrow() {
                        return;
                    }
                    let Ok(mut server) = TcpStream::connect(&target).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = is_cut.wait_for(|cut| *cut) => {}
                    }
                });
            }
        });
        Self {
            port,
            cut,
            _relay: relay,
        }
    }

    /// A kubeconfig that goes over this wire.
    pub fn kubeconfig(&self, kubeconfig: &Path) -> PathBuf {
        let mut config: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://127.0.0.1:{}", self.port));
        let path = kubeconfig.with_file_name(format!("wire-{}.kubeconfig", self.port));
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// Ends all connections, and lets none begin.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }

    pub fn mend(&self) {
        self.cut.send_replace(false);
    }
}
