//! An AWS of one's own as a program: prints its endpoint, and runs until its standard input ends, SIGTERM or SIGINT.

use std::io::{Read, Write};
use std::time::Duration;

use aws_emulator::{AwsEmulator, Options, Settle};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// moto behind a proxy that enforces what AWS does. Prints `endpoint=URL`, then `access_key_id=…` and `secret_access_key=…`,
/// and runs until its standard input ends.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Port on the loopback; any free one if not given.
    #[arg(long, env = "AWS_EMULATOR_PORT")]
    port: Option<u16>,
    /// Check signatures and permissions.
    #[arg(long, env = "AWS_EMULATOR_AUTH")]
    auth: bool,
    /// Seconds that a table takes to be created, changed or deleted.
    #[arg(long, env = "AWS_EMULATOR_TABLE_SECONDS", default_value_t = 3)]
    table_seconds: u64,
    /// Seconds that a distribution takes to be deployed.
    #[arg(long, env = "AWS_EMULATOR_DISTRIBUTION_SECONDS", default_value_t = 10)]
    distribution_seconds: u64,
    /// Seconds that the name of a deleted queue cannot be used.
    #[arg(long, env = "AWS_EMULATOR_QUEUE_NAME_SECONDS", default_value_t = 60)]
    queue_name_seconds: u64,
    /// Run on when the standard input ends, until a signal.
    #[arg(long)]
    detached: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let emulator = AwsEmulator::start(Options {
        auth: arguments.auth,
        port: arguments.port,
        table_settles: Settle::After(Duration::from_secs(arguments.table_seconds)),
        distribution_settles: Settle::After(Duration::from_secs(arguments.distribution_seconds)),
        queue_name_rests: Duration::from_secs(arguments.queue_name_seconds),
        ..Options::default()
    })
    .await?;
    let keys = emulator.credentials();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "endpoint={}", emulator.endpoint())?;
    writeln!(stdout, "access_key_id={}", keys.access_key_id)?;
    writeln!(stdout, "secret_access_key={}", keys.secret_access_key)?;
    stdout.flush()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        () = input_ends(), if !arguments.detached => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Read in a thread of its own that no one waits for: tokio's standard input would keep the runtime from ending.
async fn input_ends() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut rest = [0; 1024];
        while std::io::stdin().read(&mut rest).is_ok_and(|read| read > 0) {}
        let _ = ended.send(());
    });
    let _ = end.await;
}
