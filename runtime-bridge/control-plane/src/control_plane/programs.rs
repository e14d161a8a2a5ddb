//! How each program of the control plane is called. All of them start in the folder of the control plane and name its files
//! without a path.

use crate::assets::{Assets, AssetsError};
use crate::process::Spawn;

pub(super) const AUTHORITY: &str = "ca.crt";
pub(super) const SERVER_CERTIFICATE: &str = "kube-apiserver.crt";
pub(super) const SERVER_KEY: &str = "kube-apiserver.key";
pub(super) const TOKEN_KEY: &str = "service-account.key";
pub(super) const TOKEN_PUBLIC_KEY: &str = "service-account.pub";
pub(super) const ADMIN: &str = "admin.kubeconfig";

/// Sockets in a folder that is ours alone, in place of ports: they need no certificates and are never taken.
pub(super) const ETCD_SOCKET: &str = "etcd.sock";
const ETCD_PEER_SOCKET: &str = "unix://etcd-peer.sock";
/// What etcd must announce to members that there are not.
const ETCD_ANNOUNCED: &str = "http://localhost:1";

/// The controllers that other programs count on. None of them needs nodes or pods.
const CONTROLLERS: [&str; 4] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
];

pub(super) fn etcd(assets: &Assets) -> Spawn {
    Spawn::new(assets.etcd())
        .args(["--name=crossbridge", "--data-dir=etcd", "--unsafe-no-fsync"])
        .arg(format!("--listen-client-urls=unix://{ETCD_SOCKET}"))
        .arg(format!("--listen-peer-urls={ETCD_PEER_SOCKET}"))
        .arg(format!("--advertise-client-urls={ETCD_ANNOUNCED}"))
        .arg(format!("--initial-advertise-peer-urls={ETCD_ANNOUNCED}"))
        .arg(format!("--initial-cluster=crossbridge={ETCD_ANNOUNCED}"))
}

pub(super) fn kube_apiserver(assets: &Assets, port: u16) -> Spawn {
    Spawn::new(assets.kube_apiserver())
        .arg(format!("--etcd-servers=unix://{ETCD_SOCKET}"))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .arg(format!("--secure-port={port}"))
        .arg(format!("--tls-cert-file={SERVER_CERTIFICATE}"))
        .arg(format!("--tls-private-key-file={SERVER_KEY}"))
        .arg(format!("--client-ca-file={AUTHORITY}"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(format!("--service-account-key-file={TOKEN_PUBLIC_KEY}"))
        .arg(format!("--service-account-signing-key-file={TOKEN_KEY}"))
        .args([
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
        ])
        .arg("--endpoint-reconciler-type=none")
}

pub(super) fn kube_controller_manager(assets: &Assets) -> Result<Spawn, AssetsError> {
    Ok(Spawn::new(assets.kube_controller_manager()?)
        .arg(format!("--kubeconfig={ADMIN}"))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        // It serves nothing that we read.
        .args(["--leader-elect=false", "--secure-port=0"]))
}

/// `kubectl get --raw PATH` as the administrator, in the folder of the control plane.
pub(super) fn get(assets: &Assets, path: &str) -> Spawn {
    Spawn::new(assets.kubectl())
        .arg(format!("--kubeconfig={ADMIN}"))
        .args(["--request-timeout=5s", "get", "--raw", path])
}
