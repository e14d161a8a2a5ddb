//! The client of composition functions.
//!
//! [`Client`] implements the port [`Functions`](bridge_core::function::Functions) over gRPC: where a function listens stands in an [`EndpointTable`],
//! which may change at any time; each function has its places; `observed` is encoded once for all calls of a run. A function that does not answer is
//! held, and who waits for it hears of its return by [`Changes`]. Responses with a TTL are kept.

mod attempt;
mod client;
mod codec;
mod connection;
mod count;
pub mod decode;
mod encode;
mod endpoints;
mod failure;
mod metrics;
mod news;
mod observed;
mod places;
mod random;
mod response_cache;
mod texts;

pub use client::{Client, Connect, FunctionState, Options};
pub use connection::{CALL_TIMEOUT, PLACES};
pub use encode::MAX_MESSAGE_BYTES;
pub use endpoints::EndpointTable;
pub use metrics::FunctionMetrics;
pub use news::Changes;
