//! How bridges watch at rest: what the stored objects ask for, whatever was watched before (I37).

use std::collections::BTreeMap;

use fake_kube::state::ClusterState;
use serde_json::Value;

use crate::simulation::{
    compositions::{
        run::PLUGIN_KIND,
        state::{composites, is_deleting, references, usages},
    },
    environment::Environment,
    invariants::{annotation, plural_of, text},
};

/// What is watched whatever is stored. There are usages in two groups.
const ALWAYS: [&str; 15] = [
    "apiservices",
    "clusterproviderconfigs",
    "clusterusages",
    "compositeresourcedefinitions",
    "compositionrevisions",
    "compositions",
    "customresourcedefinitions",
    "functionrevisions",
    "functions",
    "providerconfigs",
    "secrets",
    USAGES,
    USAGES,
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];
const USAGES: &str = "usages";

/// Plural of a kind -> watches of it.
type Watches = BTreeMap<String, usize>;

impl Environment {
    /// Each bridge watches each kind that is served or asked for, and nothing else. Returns how a bridge watches otherwise. A kind that nothing asks for any
    /// more is watched for a minute yet.
    pub(in crate::simulation::compositions) fn the_watch_set_equals_the_needs(&self) -> Option<String> {
        let needed = needed(&self.kube.state());
        let open = self.watches.lock();
        let wrong = (0..self.bridges).find_map(|bridge| {
            let open: Watches = open
                .iter()
                .filter(|((watcher, _), count)| *watcher == bridge && **count > 0)
                .map(|((_, plural), count)| (plural.clone(), *count))
                .collect();
            (open != needed).then(|| format!("bridge {bridge} watches {open:?}, not {needed:?}"))
        });
        wrong.map(|wrong| format!("the_watch_set_equals_the_needs: {wrong}"))
    }
}

/// All that is to be watched.
fn needed(state: &ClusterState) -> Watches {
    let mut needed = Watches::new();
    for plural in ALWAYS {
        *needed.entry(plural.to_owned()).or_default() += 1;
    }
    let definitions = state.all("compositeresourcedefinitions", "apiextensions.crossplane.io");
    let defined = definitions
        .filter(|definition| !is_deleting(definition))
        .flat_map(|definition| {
            ["/spec/names", "/spec/claimNames"].map(|path| text(definition, &format!("{path}/plural")))
        })
        .map(str::to_owned);
    let composed = composites(state).flat_map(|composite| references(composite).iter().map(plural));
    let required = composites(state).flat_map(required);
    let used = usages(state).flat_map(|usage| ["of", "by"].map(|role| plural(&usage["spec"][role])));
    let asked = defined.chain(composed).chain(required).chain(used);
    for plural in asked
        .chain([plural_of(PLUGIN_KIND)])
        .filter(|plural| !plural.is_empty())
    {
        needed.entry(plural).or_insert(1);
    }
    needed
}

/// Plurals of what the function last required for a composite resource.
fn required(composite: &Value) -> Vec<String> {
    let required = annotation(composite, "crossbridge.dev/requires");
    let required: Value = serde_json::from_str(required).unwrap_or_default();
    required.as_array().into_iter().flatten().map(plural).collect()
}

/// Of the kind that something names; empty: it names none.
fn plural(of: &Value) -> String {
    match text(of, "/kind") {
        "" => String::new(),
        kind => plural_of(kind),
    }
}
