//! The CRDs of the kinds that compositions are written in: created where they are missing, and never changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bridge_core::crd::CROSSPLANE;
use bridge_engine::{crd::create_missing, engine::Engine, lease::Leadership};
use futures::future::{Either, pending};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::definitions::CrdMode;

/// Between two attempts to create one CRD: the first may have failed, or somebody deletes it whenever it is there.
const PAUSE: Duration = Duration::from_secs(5);

/// Creates those that are missing, while this process leads and as long as it is polled. In check mode it only says which are missing.
///
/// A creation whose answer is lost is repeated: it finds the CRD there, and leaves it as it is.
pub async fn install(engine: &Engine, leadership: &Leadership, mode: CrdMode) {
    let crds: Vec<(String, Value)> = CROSSPLANE.iter().filter_map(|text| parsed(text)).collect();
    let mut served = engine.watches.served_changes();
    let mut leads = leadership.watch();
    let mut tried: BTreeMap<&str, Instant> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    loop {
        served.mark_unchanged();
        leads.borrow_and_update();
        let mut next: Option<Instant> = None;
        for (name, crd) in &crds {
            if engine.watches.definition_version(name) != Some(None) {
                reported.remove(name);
                continue;
            }
            if mode == CrdMode::Check {
                if reported.insert(name) {
                    tracing::warn!(
                        crd = name,
                        "the CRD is not installed: apply what `runtime-bridge crds --compositions` prints, or run with --crds=install"
                    );
                }
                continue;
            }
            if !leadership.leads() {
                continue;
            }
            let now = Instant::now();
            let due = tried.get(name.as_str()).map_or(now, |tried| *tried + PAUSE);
            let again = if due <= now {
                tried.insert(name, now);
                create(engine, name, crd).await;
                now + PAUSE
            } else {
                due
            };
            next = Some(next.map_or(again, |next| next.min(again)));
        }
        let again = next.map_or_else(|| Either::Left(pending()), |at| Either::Right(sleep_until(at)));
        tokio::select! {
            biased;
            Ok(()) = served.changed() => {}
            Ok(()) = leads.changed() => {}
            () = again => {}
        }
    }
}

async fn create(engine: &Engine, name: &str, crd: &Value) {
    match create_missing(&engine.clients.write, crd).await {
        Ok(true) => tracing::info!(crd = name, "created the CRD"),
        Ok(false) => tracing::debug!(crd = name, "the CRD exists by now"),
        Err(error) => tracing::warn!(crd = name, %error, "failed to create the CRD, will retry"),
    }
}

/// With its name. All of them are CRDs: a test checks it.
fn parsed(text: &str) -> Option<(String, Value)> {
    let crd: Value = serde_yaml_ng::from_str(text).ok()?;
    let name = crd["metadata"]["name"].as_str()?.to_owned();
    Some((name, crd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_compositions_has_a_crd() {
        let names: Vec<String> = CROSSPLANE.iter().map(|text| parsed(text).unwrap().0).collect();
        assert_eq!(
            names,
            [
                "compositeresourcedefinitions.apiextensions.crossplane.io",
                "compositions.apiextensions.crossplane.io",
                "compositionrevisions.apiextensions.crossplane.io",
                "environmentconfigs.apiextensions.crossplane.io",
                "functions.pkg.crossplane.io",
                "functionrevisions.pkg.crossplane.io",
                "usages.protection.crossplane.io",
                "clusterusages.protection.crossplane.io",
                "usages.apiextensions.crossplane.io",
            ]
        );
    }
}
