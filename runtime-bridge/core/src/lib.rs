//! The decisions of the bridge, pure: no I/O, no clock, no randomness.
