//! Composed objects that use each other, in a chain: how fast a deletion goes from one to the next, and how fast a usage goes that is composed no more.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use bridge_bench::{composition_rows as rows, report::Report};
use bridge_e2e::{condition, eventually};
use kube::{
    Api,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    lives::PACE,
    manifests::{CHAIN, PROTECTION, resource},
    subject::Subject,
};
use crate::{
    board::Board,
    user::{create, names, request_deletion, to_millis},
};

/// Each once for the usages and once for the deletion.
const CHAINS: usize = 20;

pub(crate) async fn measure(subject: &Subject, report: &mut Report) {
    let mut notes = report.of(subject.side, "XRs whose objects use each other", Some(CHAINS));
    let client = &subject.cluster.client;
    let of_usages = resource(PROTECTION, "v1beta1", "Usage", "usages");
    let (chains, parts) = (
        subject.board(&CHAIN),
        Board::watch(client, &subject.composed.resource()),
    );
    let usages = Board::watch(client, &of_usages);
    let all = names("chain", 2 * CHAINS);
    create(&chains, &all, |name| CHAIN.manifest(name)).await;
    let count = all.len() * (CHAIN.composed - 1);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &of_usages);
    eventually("all usages are Ready", async || {
        let listed = api.list(&ListParams::default()).await.expect("a list");
        let ready = listed
            .items
            .iter()
            .filter(|usage| condition(&usage.data, "Ready")["status"] == "True");
        ready.count() == count
    })
    .await;
    let (kept, dropped) = all.split_at(CHAINS);

    let its_usages = by_composite(&api).await;
    let mut tick = tokio::time::interval(PACE);
    let mut sent = HashMap::new();
    for name in dropped {
        tick.tick().await;
        let sent_at = patch(&chains.api, name, &json!({"spec": {"size": 2}})).await;
        sent.extend(its_usages[name].iter().map(|usage| (usage, sent_at)));
    }
    let gone: Vec<String> = dropped.iter().flat_map(|name| its_usages[name].clone()).collect();
    let seen = usages.until_deleted(&gone).await;
    notes.note_all(&rows::DECOMPOSED, to_millis(&gone, &sent, &seen));

    let its_parts = by_composite(&subject.parts()).await;
    let mut steps = Vec::new();
    for name in kept {
        tokio::time::sleep(PACE).await;
        request_deletion(&chains, std::slice::from_ref(name)).await;
    }
    chains.until_deleted(kept).await;
    for name in kept {
        let seen = parts.until_deleted(&its_parts[name]).await;
        let mut times: Vec<Instant> = seen.into_values().collect();
        times.sort();
        steps.extend(
            times
                .windows(2)
                .map(|pair| millis(pair[1].duration_since(pair[0]))),
        );
    }
    notes.note_all(&rows::STEP, steps);
    request_deletion(&chains, dropped).await;
    chains.until_deleted(dropped).await;
    subject.until_no_parts().await;
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

async fn patch(api: &Api<DynamicObject>, name: &str, change: &Value) -> Instant {
    let sent = Instant::now();
    let patched = api
        .patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await;
    patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
    sent
}

/// Names of what is composed, by composite resource.
async fn by_composite(api: &Api<DynamicObject>) -> BTreeMap<String, Vec<String>> {
    let listed = api.list_metadata(&ListParams::default()).await.expect("a list");
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for object in listed.items {
        let labels = object.metadata.labels.unwrap_or_default();
        let (Some(of), Some(name)) = (labels.get("crossplane.io/composite"), object.metadata.name) else {
            continue;
        };
        all.entry(of.clone()).or_default().push(name);
    }
    all
}
