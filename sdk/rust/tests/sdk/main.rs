//! The SDK as its authors and its callers see it, all in one program: each more would have to be linked.
#![allow(missing_docs)]

mod calls;
mod guards;
mod mistakes;
mod names;
mod plugin_service;
mod process;
mod readme;
mod secrets;
mod standard_services;
mod support;
mod testing;
mod thing;
mod vectors;
