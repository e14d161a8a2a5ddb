//! The command line of the kit.
#![allow(clippy::doc_markdown)] // These comments are the help texts.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use crate::{
    assertion::Level,
    endpoint::{Endpoint, TlsFiles},
    fixtures::{ConfigFixture, Fixtures},
    process::PluginCommand,
    process_control::{Hooks, ProcessControl},
    report::Format,
    run::{Run, Selection},
};

/// Tests whether a Crossbridge plugin, in any language, conforms to the contract.
///
/// It creates, updates and deletes real resources by the plugin's own examples, judges every rule of the contract, and reports what to fix.
#[derive(Debug, Parser)]
#[command(
    name = "provider-conformance",
    version,
    after_help = "Exit codes: 0 conforms, 1 does not conform, 2 the command line is wrong, 3 could not be judged or left something \
        behind, 130 interrupted (what was created is removed first).\n\n\
        Example: provider-conformance --plugin-command ./my-plugin --setting folder=/tmp/x"
)]
pub struct Cli {
    /// Where the plugin listens: unix:///path, https://host:port (needs the --tls flags), http://127.0.0.1:port.
    #[arg(long)]
    pub endpoint: Option<String>,
    /// Start the plugin with this command instead, on a socket of its own. Restarts, a second replica and its output are then available.
    #[arg(long)]
    pub plugin_command: Option<String>,
    /// Authorities that may have signed the plugin's certificate (PEM).
    #[arg(long, requires = "tls_cert", help_heading = "mTLS")]
    pub tls_ca: Option<PathBuf>,
    /// The kit's certificate chain (PEM).
    #[arg(long, requires = "tls_key", help_heading = "mTLS")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the kit's certificate (PEM).
    #[arg(long, requires = "tls_ca", help_heading = "mTLS")]
    pub tls_key: Option<PathBuf>,

    /// A setting of the config that works: key=value; a.b=value lies deeper; JSON where it is some.
    #[arg(
        long = "setting",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub settings: Vec<String>,
    /// A credential of the config that works: key=value, or key=@file.
    #[arg(
        long = "credential",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub credentials: Vec<String>,
    /// A setting of another config, which leads elsewhere; what is not given is as in the one that works.
    #[arg(
        long = "other-setting",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub other_settings: Vec<String>,
    /// A credential of another config; what is not given is as in the one that works.
    #[arg(
        long = "other-credential",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub other_credentials: Vec<String>,
    /// A credential that the upstream rejects. Without any, invented values stand in where a credential is required.
    #[arg(
        long = "bad-credential",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub bad_credentials: Vec<String>,
    /// A setting that reaches no server: a dead endpoint, a folder that is absent.
    #[arg(
        long = "dead-setting",
        value_name = "KEY=VALUE",
        help_heading = "Configs and fixtures"
    )]
    pub dead_settings: Vec<String>,
    /// All of that, and examples by kind, as YAML or JSON.
    #[arg(long, help_heading = "Configs and fixtures")]
    pub fixtures: Option<PathBuf>,

    /// A second replica of the plugin.
    #[arg(long, help_heading = "Durable")]
    pub endpoint_b: Option<String>,
    /// Kills the plugin with SIGKILL and starts it again at the same endpoint; after --upgrade-cmd, the former build.
    #[arg(long, help_heading = "Durable")]
    pub restart_cmd: Option<String>,
    /// Replaces the plugin by its next build at the same endpoint; once for each kind, if --restart-cmd restores the former build.
    #[arg(long, help_heading = "Durable")]
    pub upgrade_cmd: Option<String>,
    /// The plugin's next build, where --plugin-command starts it.
    #[arg(long, requires = "plugin_command", help_heading = "Durable")]
    pub next_plugin_command: Option<String>,
    /// Changes how the upstream behaves: $1 is upstream-down, upstream-up, throttle or throttle-off. It ends with 0 once that is in
    /// force, with 2 where it cannot be done here; any other end is a mistake, and nothing is judged.
    #[arg(long, help_heading = "Durable")]
    pub fault_cmd: Option<String>,
    /// A file to which the plugin logs: secrets are searched for in it.
    #[arg(long, help_heading = "Durable")]
    pub plugin_log: Vec<PathBuf>,

    /// Judge these only: ids, or areas such as create.
    #[arg(long, value_delimiter = ',', help_heading = "Selection")]
    pub only: Vec<String>,
    /// Leave these out; the verdict shows it.
    #[arg(long, value_delimiter = ',', help_heading = "Selection")]
    pub skip: Vec<String>,
    /// Judge these levels only.
    #[arg(long, value_delimiter = ',', help_heading = "Selection")]
    pub level: Vec<LevelArg>,
    /// Judge these kinds only.
    #[arg(long, value_delimiter = ',', help_heading = "Selection")]
    pub kind: Vec<String>,
    /// End after the first suite in which a rule fails; what was created is removed all the same.
    #[arg(long, help_heading = "Selection")]
    pub fail_fast: bool,
    /// Run every suite this many times.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Selection")]
    pub repeat: u32,
    /// Longest wait for an operation, in seconds.
    #[arg(long, default_value_t = 600, help_heading = "Selection")]
    pub operation_timeout: u64,

    /// How the outcome is written to standard output. Progress goes to standard error.
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: Output,
    /// Write the outcome here too, as JUnit XML.
    #[arg(long, help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the outcome here too, as JSON.
    #[arg(long, help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Write the outcome here too, as TAP.
    #[arg(long, help_heading = "Output")]
    pub tap: Option<PathBuf>,
    /// Show what passed, too.
    #[arg(long, short, help_heading = "Output")]
    pub verbose: bool,
    /// List all assertions and end.
    #[arg(long, help_heading = "Output")]
    pub list: bool,
}

/// How the outcome is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Lines for people.
    Text,
    /// One JSON document.
    Json,
    /// JUnit XML, for CI systems.
    Junit,
    /// Test Anything Protocol, version 13.
    Tap,
    /// Markdown; for --list only.
    Markdown,
}

impl Output {
    /// Of a run; Markdown is for lists.
    pub fn of_run(self) -> Format {
        match self {
            Self::Text | Self::Markdown => Format::Text,
            Self::Json => Format::Json,
            Self::Junit => Format::Junit,
            Self::Tap => Format::Tap,
        }
    }
}

/// A level, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelArg {
    /// Required of every plugin.
    Core,
    /// Required of a plugin that advertises the feature.
    Feature,
    /// With control over processes and upstream.
    Durable,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Core => Self::Core,
            LevelArg::Feature => Self::Feature,
            LevelArg::Durable => Self::Durable,
        }
    }
}

impl Cli {
    /// The run that it asks for.
    ///
    /// # Errors
    /// A sentence on what is wrong with the command line.
    pub fn run(&self) -> Result<Run, String> {
        let tls = match (&self.tls_ca, &self.tls_cert, &self.tls_key) {
            (Some(ca), Some(certificate), Some(key)) => Some(TlsFiles {
                ca: ca.clone(),
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => None,
        };
        let endpoint = |text: &String| Endpoint::new(text, tls.clone()).map_err(|error| error.to_string());
        let hooks = Hooks {
            restart: self.restart_cmd.clone(),
            upgrade: self.upgrade_cmd.clone(),
            next: self
                .next_plugin_command
                .as_deref()
                .map(PluginCommand::parse)
                .transpose()?,
            fault: self.fault_cmd.clone(),
            endpoint_b: self.endpoint_b.as_ref().map(endpoint).transpose()?,
            logs: self.plugin_log.clone(),
        };
        let given = self.endpoint.as_ref().map(endpoint).transpose()?;
        let (process_control, endpoint) = match (&self.plugin_command, given) {
            (Some(command), given) => {
                ProcessControl::with_owned_plugin(hooks, PluginCommand::parse(command)?, given)?
            }
            (None, Some(given)) => (ProcessControl::new(hooks), given),
            (None, None) => return Err("give --endpoint or --plugin-command".to_owned()),
        };
        let selection = Selection {
            only: self.only.clone(),
            skip: self.skip.clone(),
            levels: self.level.iter().copied().map(Level::from).collect(),
            kinds: self.kind.clone(),
            fail_fast: self.fail_fast,
        };
        if let Some(stray) = selection.stray() {
            return Err(format!(
                "{stray:?} is the id or the area of no assertion; --list shows them all"
            ));
        }
        let (repeat, operation_timeout) = (self.repeat as usize, Duration::from_secs(self.operation_timeout));
        Run::new(
            endpoint,
            self.fixtures()?,
            process_control,
            selection,
            repeat,
            operation_timeout,
        )
    }

    fn fixtures(&self) -> Result<Fixtures, String> {
        let mut fixtures = match &self.fixtures {
            Some(path) => Fixtures::read(path).map_err(|error| error.to_string())?,
            None => Fixtures::default(),
        };
        assign(&mut fixtures.config, &self.settings, &self.credentials)?;
        let base = fixtures.config.clone();
        for (fixture, settings, credentials) in [
            (
                &mut fixtures.other_config,
                &self.other_settings,
                &self.other_credentials,
            ),
            (&mut fixtures.bad_config, &Vec::new(), &self.bad_credentials),
            (&mut fixtures.dead_config, &self.dead_settings, &Vec::new()),
        ] {
            if !settings.is_empty() || !credentials.is_empty() {
                assign(fixture.get_or_insert_with(|| base.clone()), settings, credentials)?;
            }
        }
        Ok(fixtures)
    }
}

fn assign(config: &mut ConfigFixture, settings: &[String], credentials: &[String]) -> Result<(), String> {
    for setting in settings {
        config
            .set(setting)
            .map_err(|problem| format!("setting {setting:?}: {problem}"))?;
    }
    for credential in credentials {
        // The value is not for other people's eyes.
        config
            .set_credential(credential)
            .map_err(|problem| format!("a credential: {problem}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
