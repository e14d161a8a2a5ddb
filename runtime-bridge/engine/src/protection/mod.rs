//! Usages: what they protect is not deleted.

mod guard;

pub use guard::{FixedGuard, Guard, GuardOptions, GuardState, UsageGuard, WebhookOptions};
