//! The command line: its commands, and the flags that all of them share.
#![allow(clippy::doc_markdown)] // These comments are the help texts.

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::{
    call::CallArgs, crds::CrdsArgs, dev::DevArgs, function_certs::FunctionCertsArgs,
    healthcheck::HealthcheckArgs, new_plugin::NewPluginArgs, rbac::RbacArgs, render::RenderArgs,
    serve::ServeArgs, trace::TraceArgs,
};

/// Runs Kubernetes providers that are written in any language.
///
/// A plugin knows one cloud and speaks the Crossbridge contract over gRPC; the bridge does everything that is Kubernetes: CRDs, watches,
/// conditions, finalizers, policies, Secrets.
#[derive(Debug, Parser)]
#[command(
    name = "runtime-bridge",
    version,
    after_help = "Exit codes: 0 all went well, 1 something failed while running, 2 the command line is wrong.\n\
        Every flag can be given as the environment variable that its description names."
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
    /// Show where an object stands and what it waits for: conditions, record, operation, last calls, next action.
    Trace(TraceArgs),
    /// Ask a running bridge whether it is ready: exit code 0 if so, else 1. For exec probes.
    Healthcheck(HealthcheckArgs),
    /// Print the version.
    Version,
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
    /// Least level that is logged: error, warn, info, debug, trace; also by module, as in info,bridge_plugin=debug.
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
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_has_an_environment_variable_and_a_description() {
        for command in Cli::command().get_subcommands() {
            for flag in command.get_arguments().filter(|flag| flag.get_long().is_some()) {
                let name = format!("{} --{}", command.get_name(), flag.get_long().unwrap_or_default());
                let variable = flag
                    .get_env()
                    .map(|variable| variable.to_string_lossy().into_owned());
                // Where two commands mean different things by one flag, the variable's name distinguishes them.
                let long = match name.as_str() {
                    "call --namespace" | "trace --namespace" => "object-namespace",
                    "function-certs --host" => "function-host",
                    "function-certs --dir" => "function-certs-dir",
                    "function-certs --days" => "function-certs-days",
                    "render --timeout" => "render-timeout",
                    "call --timeout" => "call-timeout",
                    "healthcheck --timeout" => "healthcheck-timeout",
                    _ => flag.get_long().unwrap_or_default(),
                };
                let expected = format!("CROSSBRIDGE_{}", long.replace('-', "_").to_uppercase());
                assert_eq!(variable, Some(expected), "{name}");
                assert!(flag.get_help().is_some(), "{name}");
            }
        }
    }
}
