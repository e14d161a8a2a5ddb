//! Builds, finds and starts a real kube-apiserver, etcd and kube-controller-manager, for `runtime-bridge dev` and for
//! tests.

mod assets;
pub mod cache;
mod control_plane;
pub mod process;

pub use assets::{Assets, AssetsError};
pub use control_plane::{ControlPlane, Options, StartError};
