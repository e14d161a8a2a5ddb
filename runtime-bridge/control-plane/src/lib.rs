//! Builds, finds and starts a real kube-apiserver, etcd and kube-controller-manager.
