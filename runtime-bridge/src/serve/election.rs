//! Which of several bridges acts.

use std::{env, sync::Arc, time::Duration};

use bridge_core::lease::{Timing, TimingError};
use bridge_engine::{
    clock::SystemClock,
    lease::{ElectionOptions, Elector, Leadership},
};
use clap::Args;

use super::ServeError;
use crate::cluster::ClusterArgs;
use bridge_engine::client::Clients;

/// A name of an object in Kubernetes is no longer.
const LONGEST_NAME: usize = 253;

/// Whether and how a leader is elected.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Leader election")]
#[allow(clippy::struct_field_names)] // They are called as the flags are.
pub struct ElectionArgs {
    /// Let one of several bridges act, the one that holds a Lease; the others watch and stand by. Without it, running two bridges
    /// is unsafe.
    #[arg(
        long,
        env = "CROSSBRIDGE_LEADER_ELECTION",
        value_name = "BOOL",
        default_value = "false",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub leader_election: bool,
    /// Name of the Lease. It names a deployment, whatever plugins its bridges serve now: bridges that may serve the same kinds must agree on
    /// it, and each of several deployments in one namespace needs a name of its own.
    #[arg(
        long,
        env = "CROSSBRIDGE_LEADER_ELECTION_NAME",
        value_name = "NAME",
        default_value = "crossbridge"
    )]
    pub leader_election_name: String,
    /// Namespace of the Lease. Without it: that of the bridge's own Secrets.
    #[arg(long, env = "CROSSBRIDGE_LEADER_ELECTION_NAMESPACE", value_name = "NAME")]
    pub leader_election_namespace: Option<String>,
    /// How long the others wait, after the last renewal that they saw, before one of them takes over. Whole seconds.
    #[arg(
        long,
        env = "CROSSBRIDGE_LEADER_ELECTION_LEASE_DURATION",
        value_name = "DURATION",
        default_value = "15s",
        value_parser = crate::duration::parse_positive
    )]
    pub leader_election_lease_duration: Duration,
    /// How long after its last renewal the leader still acts. The difference to the lease duration covers clocks that run unevenly.
    #[arg(
        long,
        env = "CROSSBRIDGE_LEADER_ELECTION_RENEW_DEADLINE",
        value_name = "DURATION",
        default_value = "10s",
        value_parser = crate::duration::parse_positive
    )]
    pub leader_election_renew_deadline: Duration,
    /// Between two tries to take or renew the Lease. A released Lease is acquired within this time.
    #[arg(
        long,
        env = "CROSSBRIDGE_LEADER_ELECTION_RETRY_PERIOD",
        value_name = "DURATION",
        default_value = "2s",
        value_parser = crate::duration::parse_positive
    )]
    pub leader_election_retry_period: Duration,
}

impl ElectionArgs {
    /// The durations, if there is an election.
    pub fn timing(&self) -> Result<Option<Timing>, TimingError> {
        let timing = Timing {
            lease_duration: self.leader_election_lease_duration,
            renew_deadline: self.leader_election_renew_deadline,
            retry_period: self.leader_election_retry_period,
        };
        self.leader_election.then(|| timing.check()).transpose()
    }

    /// Who leads. The elector, if there is one, is to be run.
    pub fn begin(
        &self,
        clients: &Clients,
        cluster: &ClusterArgs,
    ) -> Result<(Option<Elector>, Leadership), ServeError> {
        let Some(timing) = self.timing()? else {
            return Ok((None, Leadership::unopposed()));
        };
        let name = self.leader_election_name.clone();
        if name.len() > LONGEST_NAME {
            return Err(ServeError::LeaseName(name));
        }
        let options = ElectionOptions {
            namespace: self
                .leader_election_namespace
                .clone()
                .unwrap_or_else(|| cluster.own_namespace()),
            name,
            identity: identity(),
            timing,
        };
        let (elector, leadership) = Elector::new(&clients.write, Arc::new(SystemClock), &options);
        Ok((Some(elector), leadership))
    }
}

/// This process's alone, also after a restart in the same pod: the former process may still be seen to act.
fn identity() -> String {
    let host = env::var("HOSTNAME").unwrap_or_else(|_| "bridge".to_owned());
    format!("{host}_{}", uuid::Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Flags {
        #[command(flatten)]
        election: ElectionArgs,
    }

    #[test]
    fn the_lease_is_named_after_the_deployment_alone() {
        let name = |flags: &[&str]| {
            let flags = ["serve"].iter().chain(flags);
            let parsed = <Flags as clap::Parser>::try_parse_from(flags).unwrap();
            parsed.election.leader_election_name
        };
        assert_eq!(name(&[]), "crossbridge");
        assert_eq!(name(&["--leader-election-name", "bridge-aws"]), "bridge-aws");
    }

    #[test]
    fn an_identity_is_never_used_twice() {
        assert_ne!(identity(), identity());
    }
}
