//! The Crossbridge runtime bridge.

fn main() {}
