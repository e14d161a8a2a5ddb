//! An AWS of one's own, for tests and for the demo: moto behind a proxy that enforces what AWS does and moto does not, counts
//! calls and injects faults.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use aws_emulator::{AwsEmulator, Fault, Harm, Options, Service};
//!
//! let aws = AwsEmulator::start(Options::default()).await?;
//! aws.inject(Fault::new(Harm::AnswerLost).on(Service::CloudFront, "CreateDistributionWithTags"));
//! // … let a client of `aws.endpoint()` work …
//! assert_eq!(aws.calls(Service::CloudFront, "CreateDistributionWithTags"), 2);
//! assert_eq!(aws.distributions().await?.len(), 1);
//! # Ok(())
//! # }
//! ```

mod aws;
mod behaviors;
mod call;
mod calls;
mod emulator;
mod fault;
mod inventory;
mod moto;
mod proxy;
mod reply;
mod service;
mod settle;
mod users;
mod xml;

pub use aws::{CallError, Credentials};
pub use emulator::{AwsEmulator, Options, StartError};
pub use fault::{Fault, Harm};
pub use inventory::Distribution;
pub use moto::MotoError;
pub use service::Service;
pub use settle::Settle;
