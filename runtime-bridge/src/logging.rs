//! Logs go to standard error, as text or JSON.

use std::{fmt, io::IsTerminal};

use tracing_subscriber::{
    EnvFilter,
    field::MakeExt,
    fmt::format::{Writer, debug_fn},
};

use crate::{
    cli::{LogArgs, LogFormat},
    escape,
};

/// What dependencies log of errors that the bridge gets from them, and logs itself with what follows.
const REPEATED: [&str; 1] = ["kube_client::client::builder"];

/// Unless whoever sets the level asks for them.
fn directives(level: &str) -> String {
    let repeated = REPEATED.iter().filter(|target| {
        let (of_crate, _) = target.split_once("::").unwrap_or((target, ""));
        !level.contains(of_crate)
    });
    repeated.fold(level.to_owned(), |all, target| format!("{all},{target}=off"))
}

/// Installs the global subscriber; must be called once, before anything logs.
pub fn start(args: &LogArgs) {
    // Checked when the command line was read.
    let filter = EnvFilter::builder().parse_lossy(directives(&args.log_level));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let fields = debug_fn(
        |writer: &mut Writer<'_>, field: &tracing::field::Field, value: &dyn fmt::Debug| {
            write_field(writer, field.name(), value)
        },
    );
    match args.log_format {
        LogFormat::Text => logs.fmt_fields(fields.delimited(" ")).init(),
        // It escapes by itself.
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
}

/// On one line, whatever a plugin or an upstream has said: what it quotes is no line of the log, and nothing that a terminal obeys.
fn write_field(writer: &mut dyn fmt::Write, name: &str, value: &dyn fmt::Debug) -> fmt::Result {
    if name != "message" {
        write!(writer, "{name}=")?;
    }
    writer.write_str(&escape::controls(&format!("{value:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_begins_a_line_or_commands_a_terminal() {
        let written = |name: &str, value: &str| {
            let mut text = String::new();
            write_field(&mut text, name, &format_args!("{value}")).unwrap();
            text
        };
        let forged = "x\n2026-01-01 ERROR forged\u{1b}[31m";
        assert_eq!(
            written("error", forged),
            "error=x\\n2026-01-01 ERROR forged\\u{1b}[31m"
        );
        assert_eq!(written("message", "two\twords é"), "two\\twords é");
    }

    #[test]
    fn what_the_bridge_logs_itself_is_not_logged_twice_unless_asked_for() {
        assert_eq!(directives("info"), "info,kube_client::client::builder=off");
        assert_eq!(directives("info,kube_client=debug"), "info,kube_client=debug");
    }
}
