//! The wall clock, as an argument.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
