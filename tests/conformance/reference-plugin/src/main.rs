//! A plugin that keeps every rule of the contract but the one that `--fault` names: by the id of the assertion that must fail.
//!
//! With `--unlisted` it keeps to itself what exists.
//!
//! It is written on the bare generated types, as the SDK would not let it misbehave.

mod call;
mod discovery;
mod faults;
mod kinds;
mod operations;
mod plugin;
mod resource;
mod serve;
mod upstream;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut faults = faults::Faults::default();
    let mut build = 1;
    let mut lists = true;
    while let Some(argument) = arguments.next() {
        if argument == "--unlisted" {
            lists = false;
            continue;
        }
        match (argument.as_str(), arguments.next()) {
            ("--fault", Some(id)) => faults.set(id),
            ("--build", Some(number)) => build = number.parse().unwrap_or(build),
            (other, _) => {
                eprintln!("unknown argument {other}");
                return ExitCode::from(2);
            }
        }
    }
    serve::run(faults, build, lists).await
}
