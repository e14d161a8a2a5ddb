//! Write a Crossbridge plugin in Rust.
