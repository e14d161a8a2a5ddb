//! The Crossbridge runtime bridge: the binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime_bridge::main()
}
