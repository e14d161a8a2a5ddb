//! Builds, finds and starts a real kube-apiserver, etcd and kube-controller-manager, for `runtime-bridge dev` and for
//! tests.

pub mod process;
