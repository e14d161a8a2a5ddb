//! The wall clock, as an argument.

use std::sync::Arc;

use jiff::Timestamp;

/// The clock that deadlines are compared with; a simulation passes virtual time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
