//! What refuses deletions of objects in use, whoever asks: by a policy in the API server, or by a webhook that the bridge serves.
//!
//! ```text
//! policy  configuration     the objects that are the guard
//! object_write              whether they are as they should be
//! trial                     whether the guard is in force
//! review                    what the webhook answers
//! certificates              by which certificates it is reached
//! protected  names          data
//! ```

mod certificates;
mod configuration;
pub mod names;
mod object_write;
mod policy;
mod protected;
mod review;
mod trial;

pub use certificates::{CertificateStep, Certificates, Pair, Validity};
pub use configuration::{Reach, webhook_configuration};
pub use object_write::{GuardWrite, plan_write};
pub use policy::{binding, policy};
pub use protected::{UsageNote, UsedName};
pub use review::{Answer, Review, ReviewError, Verdict, judge};
pub use trial::{GuardKind, Trial, TrialAnswer, trial_object};
