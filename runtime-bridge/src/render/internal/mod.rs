//! `runtime-bridge internal render`: what Crossplane's command line runs as `--crossplane-binary`. It reads a `RenderRequest` from standard input and
//! writes a `RenderResponse` to standard output.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod error;
mod request;
mod response;

use std::{
    io::{self, IsTerminal, Read},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, Subcommand};

pub use self::error::InternalRenderError;
use super::{RenderError, compose::compose, functions::RunningFunctions, inputs::Inputs};
use crate::{duration, output::print_bytes};

/// The most that a request may hold.
const LARGEST: usize = 64 * 1024 * 1024;
/// As Crossplane's binary ends when a function answered with a fatal result.
const FATAL: u8 = 3;

/// What other programs run.
#[derive(Debug, Subcommand)]
pub enum InternalCommand {
    /// Render for another program: a RenderRequest of crossplane.render.v1alpha1 on standard input, a RenderResponse on standard output.
    ///
    /// Crossplane's command line runs it: crossplane render --crossplane-binary=runtime-bridge XR COMPOSITION FUNCTIONS
    #[command(
        after_help = "Exit codes: 0 it was rendered, 1 it cannot be, and nothing is written, or the response cannot be written, 3 a function answered with a fatal result, and what is known is written."
    )]
    Render(InternalRenderArgs),
}

/// How long it may take.
#[derive(Debug, Args)]
pub struct InternalRenderArgs {
    /// For how long all functions together may take. Standard input is read before that begins, for as long as it takes.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "2m",
        value_parser = duration::parse_positive
    )]
    pub timeout: Duration,
}

/// Answers one request.
pub async fn run(command: InternalCommand) -> Result<ExitCode, InternalRenderError> {
    let InternalCommand::Render(args) = command;
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(InternalRenderError::Terminal);
    }
    let (given, functions) = request::parse(&read(stdin.lock())?)?;
    let inputs = Inputs::new(given)?;
    let functions = RunningFunctions::listed(&functions, args.timeout)?;
    let rendered = compose(&inputs, &functions).await;
    functions.stop().await;
    let rendered = rendered?;
    if !rendered.problems.is_empty() {
        return Err(RenderError::NotComposed(rendered.problems).into());
    }
    print_bytes(&response::encode(&inputs, &rendered)?).map_err(InternalRenderError::Write)?;
    let Some(failure) = rendered.failure() else {
        return Ok(ExitCode::SUCCESS);
    };
    let failure = InternalRenderError::from(RenderError::Run(failure.clone()));
    eprintln!("error: {failure}");
    Ok(ExitCode::from(FATAL))
}

fn read(input: impl Read) -> Result<Vec<u8>, InternalRenderError> {
    let mut request = Vec::new();
    let limit = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    let mut input = input.take(limit.saturating_add(1));
    input
        .read_to_end(&mut request)
        .map_err(InternalRenderError::Read)?;
    if request.len() > LARGEST {
        return Err(InternalRenderError::TooLarge(LARGEST / 1024 / 1024));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_at_its_limit() {
        let size = |bytes: usize| u64::try_from(bytes).unwrap();
        assert_eq!(read(io::repeat(0).take(size(LARGEST))).unwrap().len(), LARGEST);
        let why = read(io::repeat(0)).unwrap_err().to_string();
        assert!(why.contains("larger than 64 MiB"), "{why}");
    }
}
