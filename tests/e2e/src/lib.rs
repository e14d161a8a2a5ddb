//! What the scenarios stand on: a real control plane, an emulated AWS, the AWS plugin and the bridge, each a process of its own.
//!
//! A test starts a [`Stack`], writes objects as a user would, waits for conditions, kills processes, and asks AWS itself what exists.

mod aws_clients;
mod cluster;
mod eventually;
mod expect;
pub mod golden;
mod programs;
mod requests;
mod stack;

pub use aws_clients::AwsClients;
pub use cluster::{Cluster, Handle};
pub use eventually::eventually;
pub use expect::{annotation, condition, is_ready, is_synced, message, reason};
pub use programs::binary;
pub use requests::Requests;
pub use stack::{Stack, StackOptions};
