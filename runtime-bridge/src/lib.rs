//! The Crossbridge runtime bridge. It wires plugins, the engine and the managed-resource machine together, and holds no decision of its
//! own. A library so that a simulation can run what the binary runs.

mod admin;
mod call;
mod cli;
mod cluster;
pub mod compositions;
mod crds;
pub mod definitions;
mod dev;
mod duration;
pub mod escape;
mod function_certs;
mod healthcheck;
mod logging;
pub mod manifests;
mod new_plugin;
mod object_lookup;
mod output;
pub mod plugins;
mod rbac;
mod render;
mod retry_until;
pub mod serve;
mod trace;

use std::{error::Error, process::ExitCode};

use bridge_core::error_chain;
use clap::error::ErrorKind;

use crate::cli::Command;

/// The program: reads the command line, and runs its command.
pub fn main() -> ExitCode {
    let cli = cli::parse();
    if let Err(why) = cli.command.check() {
        cli::command()
            .error(ErrorKind::MissingRequiredArgument, why)
            .exit();
    }
    logging::start(&cli.log);
    // Left alone, rustls panics as soon as a crate of the same build, such as an AWS SDK, adds another one. It fails only if it was chosen
    // already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let ended = runtime.block_on(run(cli.command));
    // Nothing that still hangs somewhere may hold up the exit.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(error) => failed(error.as_ref()),
    }
}

async fn run(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Serve(args) => Box::pin(serve::run(*args)).await?,
        Command::Crds(args) => crds::run(args).await?,
        Command::Rbac(args) => rbac::run(&args)?,
        Command::FunctionCerts(args) => function_certs::run(&args)?,
        Command::Dev(args) => dev::run(args).await?,
        Command::NewPlugin(args) => new_plugin::run(&args)?,
        Command::Call(args) => return Ok(call::run(*args).await?),
        Command::Render(args) => render::run(*args).await?,
        Command::Internal(command) => return Ok(render::internal::run(command).await?),
        Command::Trace(args) => trace::run(args).await?,
        Command::Healthcheck(args) => healthcheck::run(args).await?,
        Command::Version => {
            output::print(concat!(
                env!("CARGO_PKG_NAME"),
                " ",
                env!("CARGO_PKG_VERSION"),
                "\n"
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// On one line, causes included: it is what a person sees in the logs of a pod that does not start.
fn failed(error: &(dyn Error + 'static)) -> ExitCode {
    eprintln!("error: {}", error_chain(error));
    ExitCode::FAILURE
}
