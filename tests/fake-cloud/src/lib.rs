//! A scripted cloud, and a plugin that serves it through the contract.
//!
//! The [`cloud::Cloud`] is plain state: time is an argument, so that it works in virtual time as well as in a process of its own.
//! The [`plugin::Plugin`] holds nothing: it reaches the cloud over a [`link::Link`], in memory or over HTTP. Killing the plugin
//! therefore leaves the cloud's objects to be counted.
//!
//! What may go wrong is a [`fault::FaultOutcome`] of one call, or a [`cloud::Profile`] that lasts.

pub use crossbridge_types as types;

pub mod cloud;
pub mod fault;
pub mod kinds;
pub mod link;
pub mod plugin;
pub mod process;
pub mod remote;
