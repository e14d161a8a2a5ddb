use serde_json::{Value, json};

use super::*;
use crate::watch::head::Head;

fn crd(kind: &str, uid: &str, version: u64) -> Value {
    json!({
        "metadata": {
            "name": kind, "uid": uid, "resourceVersion": version.to_string(), "annotations": {(PLUGIN): "a plugin"},
        },
        "spec": {
            "group": "example.org", "scope": "Cluster", "names": {"kind": kind, "plural": "things"},
            "versions": [{"name": "v1", "served": true}],
        },
    })
}

fn definitions() -> Arc<KnownDefinitions> {
    KnownDefinitions::new(ServedChanges::new(Arc::default()))
}

fn head(crd: &Value) -> Head {
    Head::read(&ApiType::definitions(), &crd.to_string()).unwrap()
}

fn see(sink: &mut impl Sink, crd: &Value) {
    sink.on_event(FeedEvent::Seen(&head(crd), &crd.to_string()));
}

fn list(sink: &mut impl Sink, crds: &[Value], version: u64) {
    sink.on_event(FeedEvent::ListBegins);
    for crd in crds {
        see(sink, crd);
    }
    sink.on_event(FeedEvent::ListEnds(version));
}

/// Kind, uid and version of each.
fn known(definitions: &KnownDefinitions) -> Vec<String> {
    let all = definitions.snapshot().unwrap().into_iter();
    all.map(|(kind, definition)| {
        let version = definitions.version(kind.kind()).unwrap_or_default();
        format!("{} {} {version}", kind.kind(), definition.uid)
    })
    .collect()
}

#[test]
fn a_list_removes_unlisted_definitions_unless_newer() {
    let definitions = definitions();
    let mut sink = definitions.sink();
    let stays = crd("Stays", "s", 5);
    list(&mut sink, &[stays.clone(), crd("Goes", "g", 6)], 10);
    see(&mut sink, &crd("New", "n", 20));
    assert_eq!(known(&definitions), ["Goes g 6", "New n 20", "Stays s 5"]);
    // By an API server whose cache is behind.
    list(&mut sink, std::slice::from_ref(&stays), 15);
    assert_eq!(known(&definitions), ["New n 20", "Stays s 5"]);
    assert_eq!(definitions.version("Goes"), None);
    assert_eq!(definitions.of_plugin("a plugin").unwrap().len(), 2);
    list(&mut sink, &[stays], 25);
    assert_eq!(known(&definitions), ["Stays s 5"]);
    assert_eq!(definitions.version("New"), None);
    assert_eq!(definitions.of_plugin("a plugin").unwrap().len(), 1);
}

#[test]
fn a_list_that_is_behind_brings_no_former_definition_back() {
    let definitions = definitions();
    let mut sink = definitions.sink();
    let former = crd("Thing", "former", 5);
    list(&mut sink, std::slice::from_ref(&former), 10);
    see(&mut sink, &crd("Thing", "successor", 20));
    list(&mut sink, &[former], 15);
    assert_eq!(known(&definitions), ["Thing successor 20"]);
    // The watch goes on from there.
    sink.on_event(FeedEvent::Deleted(&head(&crd("Thing", "former", 18))));
    assert_eq!(known(&definitions), ["Thing successor 20"]);
    sink.on_event(FeedEvent::Deleted(&head(&crd("Thing", "successor", 30))));
    assert_eq!(known(&definitions), [""; 0]);
    assert_eq!(definitions.version("Thing"), None);
}
