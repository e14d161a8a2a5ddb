//! What keeps a bridge from being ready, and what is shown without that.

use bridge_engine::{
    lease::LeadershipState, object::ApiType, serve::KindStatus, state::EngineState, watch::WatchState,
};
use bridge_plugin::ConnectionStatus;

use crate::plugins::{PluginLink, Standing};

/// Whether a plugin answers.
pub(super) fn answers(link: &PluginLink) -> (String, Result<(), String>) {
    let unknown = || format!("plugin at {}", link.endpoint);
    match link.standing() {
        Standing::Asked => (unknown(), Err("it has not answered yet".to_owned())),
        Standing::Failed(error) => (unknown(), Err(error.to_string())),
        Standing::Connected(connected) => {
            let state = connected.plugin.state();
            let state = state.borrow();
            let answers = match &state.link {
                ConnectionStatus::Up => Ok(()),
                ConnectionStatus::Down { since, why } => Err(format!("no answer since {since:.0}: {why}")),
            };
            (format!("plugin {}", state.served.info.name), answers)
        }
    }
}

/// One plugin that does not answer is shown, and takes no bridge out of service that serves another one, or compositions.
pub(super) fn those_that_serve(
    plugins: Vec<(String, Result<(), String>)>,
    composes: bool,
) -> Vec<(String, Result<(), String>)> {
    let none_answers = plugins.iter().all(|(_, answers)| answers.is_err());
    let served = match (none_answers, composes) {
        (true, false) => return plugins,
        (true, true) => "compositions are served",
        (false, _) => "the others are served",
    };
    let shown = |(plugin, answers): (String, Result<(), String>)| match answers {
        Ok(()) => (plugin, Ok(())),
        Err(why) => (format!("{plugin}: {why}; {served}"), Ok(())),
    };
    plugins.into_iter().map(shown).collect()
}

/// Why a kind keeps the bridge from being ready. What is wrong with a definition is the leader's to mend: a standby is ready all the same.
pub(super) fn unready(status: &KindStatus, leads: bool) -> Option<String> {
    match status {
        KindStatus::Starting => Some("starting".to_owned()),
        KindStatus::Pending(why) | KindStatus::Waiting(why) if leads => Some(why.clone()),
        KindStatus::Pending(_)
        | KindStatus::Waiting(_)
        | KindStatus::Served
        | KindStatus::Degraded(_)
        | KindStatus::Refused(_) => None,
    }
}

/// A standby is ready, to take over, if it could, and if somebody leads: where nobody does, nothing is served.
pub(super) fn elected(leadership: &LeadershipState) -> (String, Result<(), String>) {
    let nobody = !leadership.leads && leadership.holder.as_ref().is_some_and(String::is_empty);
    let lease = leadership.lease.as_deref().unwrap_or_default();
    let why = match &leadership.failure {
        None if nobody => Some(format!("no holder is seen of the lease {lease} yet")),
        failure => failure.clone(),
    };
    (describe(leadership), why.map_or(Ok(()), Err))
}

fn describe(leadership: &LeadershipState) -> String {
    let holder = leadership.holder.as_deref().filter(|holder| !holder.is_empty());
    match (leadership.leads, &leadership.lease) {
        (true, None) => "leader: this bridge, without an election".to_owned(),
        (true, Some(lease)) => format!("leader: this bridge, by the lease {lease}"),
        (false, _) => format!("leader: {}; standing by", holder.unwrap_or("none")),
    }
}

/// Nothing is served before it is watched. What is watched only for those that depend on it is shown, and makes nothing else wait; so is a type that a user
/// has defined, whose conversion webhook may be down.
pub(super) fn watched(state: EngineState) -> Vec<(String, Result<(), String>)> {
    let synced = |state| match state {
        WatchState::Live | WatchState::Gone(_) => Ok(()),
        WatchState::Syncing(why) => Err(format!("syncing: {why}")),
        WatchState::Forbidden(why) => Err(format!("forbidden: {why}")),
    };
    // Without it, no kind is known to exist, and each seems rightly not watched.
    let definitions = (
        "watch CustomResourceDefinition".to_owned(),
        synced(state.definitions),
    );
    let kinds = state.kinds.into_iter().map(|kind| {
        let (is_ours, watch) = (kind.served && !kind.of_user, kind.watch);
        let is_secrets = watch.kind == ApiType::secrets().kind;
        match watch.state {
            // They can be read all the same.
            WatchState::Forbidden(why) if is_secrets => (
                format!("watch Secret: forbidden, read every few seconds instead: {why}"),
                Ok(()),
            ),
            state if is_ours || is_secrets => (format!("watch {}", watch.kind), synced(state)),
            // What depends on it says so by itself, and waits alone.
            state => match synced(state) {
                Ok(()) => (format!("watch {}", watch.kind), Ok(())),
                Err(why) => (
                    format!("watch {}: {why}; what needs it waits", watch.kind),
                    Ok(()),
                ),
            },
        }
    });
    std::iter::once(definitions).chain(kinds).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bridge_core::{queue::Counts, watch_plan::GroupKind};
    use bridge_engine::{state::KindState, watch::KindWatch};

    use super::*;

    fn state(definitions: WatchState, kinds: [(&str, &str, WatchState); 2]) -> EngineState {
        let kinds = kinds.map(|(group, kind, state)| KindState {
            watch: KindWatch {
                kind: GroupKind::new(group, kind),
                version: "v1".to_owned(),
                definition: None,
                state,
                reasons: BTreeMap::new(),
                interruptions: 0,
                lists: 0,
                unreadable: BTreeMap::new(),
            },
            objects: 0,
            served: group != "apps",
            of_user: group == "users.example.org",
            queue: Counts::default(),
        });
        EngineState {
            server_version: String::new(),
            dispatching: true,
            definitions,
            discovery: None,
            kinds: kinds.into(),
            in_flight: Vec::new(),
            needs: Vec::new(),
            last_plan: Vec::new(),
        }
    }

    #[test]
    fn a_kind_that_is_not_served_is_shown_and_delays_nothing() {
        let no = WatchState::Forbidden("no".to_owned());
        let kinds = [
            ("apps", "Deployment", no),
            ("example.org", "Note", WatchState::Live),
        ];
        let checks = watched(state(WatchState::Live, kinds));
        let shown = "watch Deployment.apps: forbidden: no; what needs it waits".to_owned();
        assert_eq!(checks[1], (shown, Ok(())));
    }

    #[test]
    fn a_type_of_a_user_is_shown_and_takes_no_bridge_out_of_service() {
        let down = || WatchState::Syncing("conversion webhook failed".to_owned());
        let kinds = [
            ("users.example.org", "Order", down()),
            ("example.org", "Note", down()),
        ];
        let checks = watched(state(WatchState::Live, kinds));
        let shown = "watch Order.users.example.org: syncing: conversion webhook failed; what needs it waits";
        assert_eq!(checks[1], (shown.to_owned(), Ok(())));
        assert!(checks[2].1.is_err(), "{checks:?}");
    }

    #[test]
    fn a_plugin_that_is_down_takes_no_bridge_out_of_service_that_serves_another() {
        let down = || ("plugin a".to_owned(), Err("no answer".to_owned()));
        let up = || ("plugin b".to_owned(), Ok(()));
        assert_eq!(those_that_serve(vec![down()], false), [down()]);
        let shown = "plugin a: no answer; the others are served".to_owned();
        assert_eq!(
            those_that_serve(vec![down(), up()], false),
            [(shown, Ok(())), up()]
        );
        let shown = "plugin a: no answer; compositions are served".to_owned();
        assert_eq!(those_that_serve(vec![down()], true), [(shown, Ok(()))]);
        assert_eq!(those_that_serve(Vec::new(), false), []);
    }

    #[test]
    fn a_leader_is_unready_while_a_kind_waits() {
        for waiting in [KindStatus::Waiting, KindStatus::Pending] {
            let waiting = waiting("no CRD".to_owned());
            assert_eq!(unready(&waiting, true).as_deref(), Some("no CRD"));
            assert_eq!(unready(&waiting, false), None, "a standby could not mend it");
        }
        assert!(unready(&KindStatus::Starting, false).is_some());
        let degraded = KindStatus::Degraded("changed".to_owned());
        for status in [degraded, KindStatus::Served, KindStatus::Refused(String::new())] {
            assert_eq!(unready(&status, true), None);
        }
    }

    #[test]
    fn a_standby_that_cannot_take_over_is_unready() {
        let mut standby = LeadershipState {
            leads: false,
            lease: Some("n/l".to_owned()),
            identity: Some("a".to_owned()),
            holder: Some("b".to_owned()),
            failure: None,
        };
        assert_eq!(elected(&standby), ("leader: b; standing by".to_owned(), Ok(())));
        standby.failure = Some("forbidden".to_owned());
        assert_eq!(elected(&standby).1, Err("forbidden".to_owned()));
    }

    #[test]
    fn a_bridge_is_unready_while_nobody_leads() {
        let mut beginning = LeadershipState {
            leads: false,
            lease: Some("n/l".to_owned()),
            identity: Some("a".to_owned()),
            holder: Some(String::new()),
            failure: None,
        };
        assert_eq!(
            elected(&beginning),
            (
                "leader: none; standing by".to_owned(),
                Err("no holder is seen of the lease n/l yet".to_owned())
            )
        );
        beginning.leads = true;
        beginning.holder = Some("a".to_owned());
        assert_eq!(elected(&beginning).1, Ok(()));
    }

    #[test]
    fn it_is_ready_when_all_is_watched_that_must_be() {
        let no = || WatchState::Forbidden("no".to_owned());
        let live = WatchState::Live;
        let unready = |state| {
            let checks = watched(state).into_iter();
            checks
                .filter_map(|(what, result)| Some((what, result.err()?)))
                .collect::<Vec<_>>()
        };
        let kinds = |secrets, notes| [("", "Secret", secrets), ("example.org", "Note", notes)];
        let none: Vec<(String, String)> = Vec::new();
        assert_eq!(
            unready(state(live.clone(), kinds(live.clone(), live.clone()))),
            none
        );
        let unknown = WatchState::Gone("the definitions are not known".to_owned());
        assert_eq!(
            unready(state(no(), kinds(live.clone(), unknown))),
            [(
                "watch CustomResourceDefinition".to_owned(),
                "forbidden: no".to_owned()
            )]
        );
        assert_eq!(unready(state(live.clone(), kinds(no(), live.clone()))), none);
        assert_eq!(
            unready(state(live.clone(), kinds(live, no()))),
            [("watch Note.example.org".to_owned(), "forbidden: no".to_owned())]
        );
    }
}
