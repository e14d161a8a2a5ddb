//! The conformance kit's binary.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use provider_conformance::{
    Run, assertions,
    cli::{Cli, Output},
    report::{self, Format, TextProgress, assertions_markdown, rule_place},
};
use tokio::signal::unix::{SignalKind, signal};

/// The command line is wrong.
const USAGE: u8 = 2;
/// It could not be judged.
const NOT_JUDGED: u8 = 3;
/// Interrupted by SIGINT: 128 + 2, as in shells.
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.list {
        list(cli.format);
        return ExitCode::SUCCESS;
    }
    match cli.run() {
        Ok(run) => judge(&cli, &run).await,
        Err(problem) => failed(USAGE, &problem),
    }
}

/// Ids with levels and titles.
fn list(format: Output) {
    if format == Output::Markdown {
        return say(&assertions_markdown());
    }
    for assertion in assertions() {
        say(&format!(
            "{:<44} {:<8} {}\n{:53}{}\n",
            assertion.id,
            assertion.level,
            assertion.title,
            "",
            rule_place(assertion.rule)
        ));
    }
}

/// A write error is ignored: the reader, such as `head`, has closed its end.
fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

async fn judge(cli: &Cli, run: &Run) -> ExitCode {
    let progress = TextProgress { verbose: cli.verbose };
    let executed = tokio::select! {
        executed = run.execute(&progress) => Some(executed),
        () = interrupted() => None,
    };
    if executed.is_none() {
        eprintln!("interrupted: removing what was created; interrupt again to leave it");
    }
    let report = tokio::select! {
        report = run.finish() => report,
        () = interrupted() => return failed(INTERRUPTED, "interrupted again: what was created is left behind"),
    };
    say(&report::write(&report, cli.format.of_run()));
    for (path, format) in [
        (&cli.junit, Format::Junit),
        (&cli.json, Format::Json),
        (&cli.tap, Format::Tap),
    ] {
        if let Some(path) = path
            && let Err(error) = fs::write(path, report::write(&report, format))
        {
            return failed(NOT_JUDGED, &format!("cannot write {}: {error}", path.display()));
        }
    }
    match executed {
        None => ExitCode::from(INTERRUPTED),
        Some(Err(problem)) => failed(NOT_JUDGED, &problem),
        Some(Ok(())) => ExitCode::from(report.exit_code()),
    }
}

/// Resolves at SIGINT or SIGTERM.
async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the process as ever.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn failed(code: u8, problem: &str) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::from(code)
}
