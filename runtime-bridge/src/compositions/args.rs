//! The flags of compositions.
#![allow(clippy::doc_markdown)] // These comments are the help texts.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use bridge_core::{
    composite::CircuitSettings,
    function::{FunctionEndpoint, endpoints},
};
use bridge_function::{Client, EndpointTable, Options};
use bridge_plugin::TlsFiles;
use clap::Args;

use super::{Compositions, GuardChoice, UsageGuardArgs, deletion_args::DeletionArgs};

/// Whether compositions are served, and where their functions listen.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Compositions")]
pub struct CompositionArgs {
    /// Serve compositions: CompositeResourceDefinitions, Compositions, and the composite resources that they define. No plugin needs to be
    /// given then.
    #[arg(long, env = "CROSSBRIDGE_COMPOSITIONS")]
    pub compositions: bool,
    /// Where a composition function listens: NAME=unix:///path, NAME=https://host:port (mutual TLS), NAME=host:port (the same), or
    /// NAME=http://127.0.0.1:port. It beats what the cluster says. Give it once per function; in the environment variable they are separated
    /// by commas.
    #[arg(
        long = "function",
        env = "CROSSBRIDGE_FUNCTION",
        value_name = "NAME=ENDPOINT",
        value_delimiter = ',',
        value_parser = NamedEndpoint::parse
    )]
    pub functions: Vec<NamedEndpoint>,
    /// Folder of the bridge's files tls.crt, tls.key and ca.crt, for functions that are reached over TLS.
    #[arg(long, env = "CROSSBRIDGE_FUNCTION_TLS_DIR", value_name = "DIR")]
    pub function_tls_dir: Option<PathBuf>,
    /// Serve compositions though Crossplane's own core runs. Both then write the same composite resources, against each other: only for a core that
    /// serves other kinds.
    #[arg(long, env = "CROSSBRIDGE_BESIDE_CROSSPLANE", requires = "compositions")]
    pub beside_crossplane: bool,
    /// Namespace in which Crossplane is installed: compositions are off while its core holds its lease there.
    #[arg(
        long,
        env = "CROSSBRIDGE_CROSSPLANE_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "crossplane-system"
    )]
    pub crossplane_namespace: String,
    /// How many revisions of a composition are kept beyond those that composite resources refer to. 0: all.
    #[arg(
        long,
        env = "CROSSBRIDGE_COMPOSITION_REVISION_HISTORY_LIMIT",
        value_name = "COUNT",
        default_value_t = 20
    )]
    pub composition_revision_history_limit: usize,
    /// How many resources one composite resource may compose. A run that desires more fails, and changes nothing.
    #[arg(
        long,
        env = "CROSSBRIDGE_MAX_COMPOSED",
        value_name = "COUNT",
        default_value = "2000",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_composed: u32,
    // Not a doc comment: that would be the help of its flags.
    #[command(flatten)]
    #[allow(missing_docs)]
    pub deletions: DeletionArgs,
    // Not a doc comment: that would be the help of its flags.
    #[command(flatten)]
    #[allow(missing_docs)]
    pub circuit_breaker: CircuitBreakerArgs,
    // Not a doc comment: that would be the help of its flags.
    #[command(flatten)]
    #[allow(missing_docs)]
    pub usage_guard: UsageGuardArgs,
    /// Keep responses of functions for as long as their TTL says, and answer equal requests with them.
    #[arg(
        long,
        env = "CROSSBRIDGE_FUNCTION_RESPONSE_CACHE",
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub function_response_cache: bool,
}

/// How fast the changes of one composite resource are followed. While changes come faster for long, its runs are 30 s apart.
#[derive(Debug, Clone, Args)]
pub struct CircuitBreakerArgs {
    /// Runs of one composite resource upon changes in one go.
    #[arg(
        long = "circuit-breaker-burst",
        env = "CROSSBRIDGE_CIRCUIT_BREAKER_BURST",
        value_name = "COUNT",
        default_value = "100",
        value_parser = parse_burst
    )]
    pub burst: u32,
    /// How many of them come back in a second.
    #[arg(
        long = "circuit-breaker-refill-rate",
        env = "CROSSBRIDGE_CIRCUIT_BREAKER_REFILL_RATE",
        value_name = "PER SECOND",
        default_value = "1",
        value_parser = parse_rate
    )]
    pub refill_rate: f64,
    /// How long its runs stay apart then.
    #[arg(
        long = "circuit-breaker-cooldown",
        env = "CROSSBRIDGE_CIRCUIT_BREAKER_COOLDOWN",
        value_name = "DURATION",
        default_value = "5m",
        value_parser = crate::duration::parse_positive
    )]
    pub cooldown: Duration,
}

impl CircuitBreakerArgs {
    /// As composite resources are reconciled by them.
    pub fn settings(&self) -> CircuitSettings {
        CircuitSettings {
            burst: self.burst,
            refill: Duration::from_secs_f64(self.refill_rate.recip()),
            cooldown: self.cooldown,
        }
    }
}

/// Crossplane's is written with a fraction: `100.0`.
fn parse_burst(text: &str) -> Result<u32, String> {
    let whole = text.strip_suffix(".0").unwrap_or(text).parse::<u32>().ok();
    whole
        .filter(|burst| *burst > 0)
        .ok_or_else(|| "write a whole number from 1 on".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok();
    // One in a day to one in a millisecond.
    rate.filter(|rate| (0.000_01..=1000.0).contains(rate))
        .ok_or_else(|| "write a number from 0.00001 to 1000".to_owned())
}

/// A function, and where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEndpoint {
    /// As compositions refer to it.
    pub name: String,
    /// Where it listens.
    pub endpoint: FunctionEndpoint,
}

impl NamedEndpoint {
    /// `NAME=ENDPOINT`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, endpoint) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or("write NAME=ENDPOINT, where NAME is what compositions call the function")?;
        let endpoint = endpoint
            .parse::<FunctionEndpoint>()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            name: name.to_owned(),
            endpoint,
        })
    }
}

impl CompositionArgs {
    /// Each function is named once, and only where compositions are served.
    pub fn check(&self) -> Result<(), String> {
        let mut names: Vec<&str> = self.functions.iter().map(|named| named.name.as_str()).collect();
        names.sort_unstable();
        if let Some([name, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--function says twice where \"{name}\" listens"));
        }
        match (self.compositions, names.first()) {
            (false, Some(name)) => Err(format!(
                "--function {name}=… is for --compositions, which is not given"
            )),
            (false, None) => Ok(()),
            (true, _) => self.usage_guard.check(),
        }
    }

    /// How functions are reached, if compositions are served. `namespace`: the bridge's own.
    pub fn compositions(&self, namespace: &str) -> Option<Compositions> {
        if !self.compositions {
            return None;
        }
        let flags = self.functions.iter().cloned();
        let flags: BTreeMap<_, _> = flags.map(|named| (named.name, named.endpoint)).collect();
        let table = EndpointTable::default();
        table.set(endpoints(&flags, &[], &[]));
        let mut options = Options::new(table.clone(), self.tls());
        options.keeps_responses = self.function_response_cache;
        let metrics = options.metrics.clone();
        Some(Compositions {
            flags,
            endpoints: table,
            client: Arc::new(Client::new(options)),
            metrics,
            deletion_deadline: self.deletions.deletion_deadline,
            vanishing_parents: self.deletions.vanishing_parents,
            revision_history_limit: self.composition_revision_history_limit,
            max_composed: self.max_composed as usize,
            replay_window: self.deletions.replay_window,
            circuit: self.circuit_breaker.settings(),
            // What is wrong with it was reported before anything began.
            guard: self.usage_guard.choice().unwrap_or(GuardChoice::None),
            namespace: namespace.to_owned(),
            unless_crossplane_in: (!self.beside_crossplane).then(|| self.crossplane_namespace.clone()),
        })
    }

    /// The files, by the names that Secrets of cert-manager give them.
    fn tls(&self) -> Option<TlsFiles> {
        let folder = self.function_tls_dir.as_ref()?;
        Some(TlsFiles {
            ca: folder.join("ca.crt"),
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompositionArgs,
    }

    fn line(flags: &[&str]) -> CompositionArgs {
        let words = ["serve"].iter().chain(flags);
        Line::try_parse_from(words).map(|line| line.args).unwrap()
    }

    #[test]
    fn without_the_flag_no_function_is_called() {
        assert!(line(&[]).compositions("n").is_none());
        let compositions = line(&["--compositions", "--function", "f=unix:/f"])
            .compositions("n")
            .unwrap();
        assert_eq!(
            compositions.flags,
            [("f".to_owned(), "unix:/f".parse().unwrap())].into()
        );
    }

    #[test]
    fn responses_are_kept_unless_the_flag_is_false() {
        assert!(line(&["--compositions"]).function_response_cache);
        assert!(line(&["--function-response-cache"]).function_response_cache);
        assert!(!line(&["--function-response-cache=false"]).function_response_cache);
    }

    #[test]
    fn limits_are_those_of_the_flags() {
        let of = |flags: &[&str]| {
            let flags: Vec<&str> = ["--compositions"].iter().chain(flags).copied().collect();
            let compositions = line(&flags).compositions("n").unwrap();
            (compositions.revision_history_limit, compositions.max_composed)
        };
        assert_eq!(of(&[]), (20, 2000));
        assert_eq!(
            of(&["--composition-revision-history-limit", "0", "--max-composed", "5"]),
            (0, 5)
        );
        assert!(Line::try_parse_from(["serve", "--max-composed", "0"]).is_err());
    }

    #[test]
    fn endings_are_as_the_flags_say() {
        let of = |flags: &[&str]| {
            let flags: Vec<&str> = ["--compositions"].iter().chain(flags).copied().collect();
            let compositions = line(&flags).compositions("n").unwrap();
            (
                compositions.deletion_deadline,
                compositions.replay_window,
                compositions.vanishing_parents,
            )
        };
        let minutes = Duration::from_mins;
        assert_eq!(of(&[]), (minutes(15), minutes(10), false));
        let flags = [
            "--deletion-deadline=1m",
            "--replay-window=2m",
            "--vanishing-parents",
        ];
        assert_eq!(of(&flags), (minutes(1), minutes(2), true));
    }

    #[test]
    fn a_folder_for_tls_has_the_files_of_cert_manager() {
        assert!(line(&[]).tls().is_none());
        let files = line(&["--function-tls-dir", "/tls"]).tls().unwrap();
        let paths = [&files.ca, &files.certificate, &files.key].map(|path| path.display().to_string());
        assert_eq!(paths, ["/tls/ca.crt", "/tls/tls.crt", "/tls/tls.key"]);
    }

    fn parsed(text: &str) -> String {
        match NamedEndpoint::parse(text) {
            Ok(named) => format!("{} at {}", named.name, named.endpoint),
            Err(why) => why,
        }
    }

    #[test]
    fn a_function_is_named_before_the_first_equals_sign() {
        assert_eq!(parsed("f=unix:/run/f.sock"), "f at unix:///run/f.sock");
        assert_eq!(parsed("f=unix:/run/a=b.sock"), "f at unix:///run/a=b.sock");
        assert_eq!(parsed("f=host:9443"), "f at https://host:9443");
        for text in ["unix:/run/f.sock", "=unix:/run/f.sock", ""] {
            assert!(parsed(text).starts_with("write NAME=ENDPOINT"), "{text}");
        }
        assert!(parsed("f=http://10.0.0.1:80").contains("in the clear"));
    }
}
