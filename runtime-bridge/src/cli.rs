//! The command line: its commands, and the flags that all of them share.
#![allow(clippy::doc_markdown)] // These comments are the help texts.

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::{
    call::CallArgs,
    crds::CrdsArgs,
    dev::DevArgs,
    function_certs::FunctionCertsArgs,
    healthcheck::HealthcheckArgs,
    new_plugin::NewPluginArgs,
    rbac::RbacArgs,
    render::{RenderArgs, internal::InternalCommand},
    serve::ServeArgs,
    trace::TraceArgs,
};

/// Runs Kubernetes providers that are written in any language.
///
/// A plugin implements one provider and serves the Crossbridge contract over gRPC; the bridge does everything that is Kubernetes: CRDs, watches,
/// conditions, finalizers, policies, Secrets.
#[derive(Debug, Parser)]
#[command(
    name = "runtime-bridge",
    version,
    after_help = "Exit codes: 0 all went well, 1 something failed while running, 2 the command line is wrong, 3 `call` was answered with a Failure.\n\
        Flags of `serve`, `healthcheck` and of logging can be given as the environment variable that their description names."
)]
pub struct Cli {
    #[command(flatten)]
    pub log: LogArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the kinds of plugins, compositions, or both, in a cluster.
    Serve(Box<ServeArgs>),
    /// Print the CRDs of plugins, or of compositions, as YAML, for GitOps.
    Crds(CrdsArgs),
    /// Print the ClusterRoles of a bridge that serves compositions, as YAML, for GitOps.
    Rbac(RbacArgs),
    /// Write certificates for the bridge and a composition function that it reaches over mutual TLS, or renew them.
    FunctionCerts(FunctionCertsArgs),
    /// Run a control plane, plugins, composition functions and a bridge on this machine: the inner loop of whoever writes one of them.
    Dev(DevArgs),
    /// Write the source of a new plugin that runs, and passes the conformance kit, at once.
    NewPlugin(NewPluginArgs),
    /// Call a plugin by hand: one method of the contract, its request from the command line or from a live object.
    Call(Box<CallArgs>),
    /// Show what a composition makes of a composite resource, without a cluster.
    Render(Box<RenderArgs>),
    /// What other programs run, not people.
    #[command(subcommand, hide = true)]
    Internal(InternalCommand),
    /// Show where an object stands and what it waits for: conditions, record, operation, last calls, next action.
    Trace(TraceArgs),
    /// Ask a running bridge whether it is ready: exit code 0 if so, else 1. For exec probes.
    Healthcheck(HealthcheckArgs),
    /// Print the version.
    Version,
}

/// Commands that run in a pod and are configured by its environment. Others are typed by people, and take nothing from what happens to be set.
const OF_A_POD: [&str; 2] = ["serve", "healthcheck"];

/// The command line with its environment variables, which are for programs in a pod alone.
pub fn command() -> clap::Command {
    let names: Vec<String> = Cli::command()
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .filter(|name| !OF_A_POD.contains(&name.as_str()))
        .collect();
    names.iter().fold(Cli::command(), |command, name| {
        command.mut_subcommand(name, |one| {
            one.mut_args(|argument| argument.env(None::<&'static str>))
        })
    })
}

/// Reads the command line, or ends the process with what is wrong with it.
pub fn parse() -> Cli {
    Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
}

impl Command {
    /// What flags must be to one another, beyond what each must be.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Serve(args) => args.check(),
            Self::Crds(args) => args.check(),
            Self::Rbac(args) => args.check(),
            Self::Dev(args) => args.check(),
            Self::Render(args) => args.check(),
            _ => Ok(()),
        }
    }
}

/// What is logged, to standard error.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Minimum level that is logged: error, warn, info, debug, trace; also by module, as in info,bridge_plugin=debug.
    #[arg(
        long,
        global = true,
        env = "CROSSBRIDGE_LOG_LEVEL",
        default_value = "info",
        value_parser = log_level,
        help_heading = "Logging"
    )]
    pub log_level: String,
    /// How log lines are written.
    #[arg(
        long,
        global = true,
        env = "CROSSBRIDGE_LOG_FORMAT",
        default_value = "text",
        value_enum,
        help_heading = "Logging"
    )]
    pub log_format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

fn log_level(text: &str) -> Result<String, String> {
    EnvFilter::builder()
        .parse(text)
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{OF_A_POD, command};

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn flags_of_a_pod_have_environment_variables_and_others_have_none() {
        for command in command().get_subcommands() {
            for flag in command.get_arguments().filter(|flag| flag.get_long().is_some()) {
                let long = flag.get_long().unwrap_or_default();
                let name = format!("{} --{long}", command.get_name());
                let variable = flag
                    .get_env()
                    .map(|variable| variable.to_string_lossy().into_owned());
                let expected = OF_A_POD.contains(&command.get_name()).then(|| {
                    // Where two commands mean different things by one flag, the variable's name distinguishes them.
                    let long = if name == "healthcheck --timeout" {
                        "healthcheck-timeout"
                    } else {
                        long
                    };
                    format!("CROSSBRIDGE_{}", long.replace('-', "_").to_uppercase())
                });
                assert_eq!(variable, expected, "{name}");
                assert!(flag.get_help().is_some(), "{name}");
            }
        }
    }
}
