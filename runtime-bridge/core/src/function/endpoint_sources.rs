//! Which function listens where, from all who say so: a flag beats an annotation beats a `FunctionRevision`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;

use super::FunctionEndpoint;

/// On a `Function` of `pkg.crossplane.io`: where it listens.
pub const ENDPOINT_ANNOTATION: &str = "crossbridge.dev/endpoint";

/// On a `FunctionRevision`: the function that it is of.
const PACKAGE_LABEL: &str = "pkg.crossplane.io/package";

/// Nothing says where a function listens.
pub const NO_ACTIVE_REVISION: &str =
    "cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)";

/// Function -> endpoint, or why it has none.
pub type Endpoints = BTreeMap<String, Result<FunctionEndpoint, String>>;

/// The endpoints of all functions that a flag, a `Function` or a `FunctionRevision` names.
///
/// One that cannot be used is an error: what beats the others was meant. Of several active revisions the one with the highest number counts.
pub fn endpoints(
    flags: &BTreeMap<String, FunctionEndpoint>,
    functions: &[Value],
    revisions: &[Value],
) -> Endpoints {
    let annotations: BTreeMap<&str, &str> = functions
        .iter()
        .filter_map(|function| Some((name_of(function)?, annotation_of(function)?)))
        .collect();
    let active = active_of(revisions);
    let mut names: BTreeSet<&str> = flags.keys().map(String::as_str).collect();
    names.extend(functions.iter().filter_map(name_of));
    names.extend(revisions.iter().filter_map(package_of));
    let endpoint = |name: &str| {
        if let Some(endpoint) = flags.get(name) {
            return Ok(endpoint.clone());
        }
        if let Some(text) = annotations.get(name) {
            let parsed = text.parse::<FunctionEndpoint>();
            return parsed.map_err(|error| {
                format!("cannot use annotation {ENDPOINT_ANNOTATION} of Function \"{name}\": {error}")
            });
        }
        active
            .get(name)
            .map_or_else(|| Err(NO_ACTIVE_REVISION.to_owned()), |active| target_of(active))
    };
    names
        .into_iter()
        .map(|name| (name.to_owned(), endpoint(name)))
        .collect()
}

fn active_of(revisions: &[Value]) -> BTreeMap<&str, &Value> {
    let mut active: BTreeMap<&str, &Value> = BTreeMap::new();
    for revision in revisions {
        let is_active = text(revision, "/spec/desiredState") == Some("Active");
        let Some(package) = package_of(revision).filter(|_| is_active) else {
            continue;
        };
        let chosen = active.entry(package).or_insert(revision);
        if rank(revision) < rank(chosen) {
            *chosen = revision;
        }
    }
    active
}

/// The lowest is chosen: the highest number, and of equal ones the first name.
fn rank(revision: &Value) -> (Reverse<i64>, &str) {
    let number = revision.pointer("/spec/revision").and_then(Value::as_i64);
    (Reverse(number.unwrap_or(0)), name_of(revision).unwrap_or(""))
}

fn target_of(revision: &Value) -> Result<FunctionEndpoint, String> {
    let name = name_of(revision).unwrap_or("");
    match text(revision, "/status/endpoint").unwrap_or("") {
        "" => Err(format!(
            "cannot determine gRPC target: active FunctionRevision \"{name}\" has an empty status.endpoint"
        )),
        target => target.parse().map_err(|error| {
            format!("cannot determine gRPC target: cannot use status.endpoint of active FunctionRevision \"{name}\": {error}")
        }),
    }
}

pub(super) fn name_of(object: &Value) -> Option<&str> {
    text(object, "/metadata/name")
}

/// An empty one is as good as none: it cannot be meant.
fn annotation_of(function: &Value) -> Option<&str> {
    let annotations = function.pointer("/metadata/annotations")?;
    annotations
        .get(ENDPOINT_ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}

pub(super) fn package_of(revision: &Value) -> Option<&str> {
    let labels = revision.pointer("/metadata/labels")?;
    labels.get(PACKAGE_LABEL)?.as_str()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(name: &str, endpoint: Option<&str>) -> Value {
        match endpoint {
            None => json!({"kind": "Function", "metadata": {"name": name}}),
            Some(endpoint) => json!({
                "kind": "Function",
                "metadata": {"name": name, "annotations": {ENDPOINT_ANNOTATION: endpoint}},
            }),
        }
    }

    fn revision(package: &str, number: i64, state: &str, endpoint: &str) -> Value {
        json!({
            "kind": "FunctionRevision",
            "metadata": {"name": format!("{package}-{number}"), "labels": {PACKAGE_LABEL: package}},
            "spec": {"desiredState": state, "revision": number},
            "status": {"endpoint": endpoint},
        })
    }

    /// What prints for the function `f`.
    fn printed(flags: &[(&str, &str)], functions: &[Value], revisions: &[Value]) -> String {
        let flags = flags.iter();
        let flags = flags.map(|(name, endpoint)| ((*name).to_owned(), endpoint.parse().unwrap()));
        match endpoints(&flags.collect(), functions, revisions).remove("f") {
            None => "unknown".into(),
            Some(Ok(endpoint)) => endpoint.to_string(),
            Some(Err(why)) => why,
        }
    }

    #[test]
    fn a_flag_beats_an_annotation_beats_a_revision() {
        let revisions = [revision("f", 1, "Active", "dns:///f.crossplane-system:9443")];
        let annotated = [function("f", Some("unix:/run/f.sock"))];
        let bare = [function("f", None)];
        assert_eq!(
            printed(&[("f", "http://127.0.0.1:9443")], &annotated, &revisions),
            "http://127.0.0.1:9443"
        );
        assert_eq!(printed(&[], &annotated, &revisions), "unix:///run/f.sock");
        for functions in [&bare[..], &[]] {
            assert_eq!(
                printed(&[], functions, &revisions),
                "https://f.crossplane-system:9443"
            );
        }
    }

    #[test]
    fn each_function_that_is_named_anywhere_is_listed() {
        let flags = BTreeMap::from([("a".to_owned(), "unix:///a".parse().unwrap())]);
        let functions = [function("b", Some("unix:///b")), function("c", None)];
        let revisions = [
            revision("d", 1, "Active", "d:9443"),
            revision("e", 1, "Inactive", "e:9443"),
        ];
        let endpoints = endpoints(&flags, &functions, &revisions);
        let none = || Err(NO_ACTIVE_REVISION.to_owned());
        let expected = [
            ("a", Ok("unix:///a")),
            ("b", Ok("unix:///b")),
            ("c", none()),
            ("d", Ok("https://d:9443")),
            ("e", none()),
        ];
        let expected =
            expected.map(|(name, endpoint)| (name.to_owned(), endpoint.map(|text| text.parse().unwrap())));
        assert_eq!(endpoints, Endpoints::from(expected));
    }

    #[test]
    fn the_highest_active_revision_counts() {
        let mut revisions = vec![
            revision("f", 3, "Inactive", "three:9443"),
            revision("f", 10, "Active", "ten:9443"),
            revision("f", 9, "Active", "nine:9443"),
            revision("other", 11, "Active", "other:9443"),
        ];
        for _ in 0..4 {
            revisions.rotate_left(1);
            assert_eq!(printed(&[], &[], &revisions), "https://ten:9443");
        }
    }

    #[test]
    fn what_gives_no_endpoint_says_why() {
        assert_eq!(printed(&[], &[function("f", None)], &[]), NO_ACTIVE_REVISION);
        let empty =
            "cannot determine gRPC target: active FunctionRevision \"f-1\" has an empty status.endpoint";
        assert_eq!(printed(&[], &[], &[revision("f", 1, "Active", "")]), empty);
        let mut without = revision("f", 1, "Active", "");
        without.as_object_mut().unwrap().remove("status");
        assert_eq!(printed(&[], &[], &[without]), empty);
        assert_eq!(
            printed(&[], &[], &[revision("f", 1, "Active", "f")]),
            "cannot determine gRPC target: cannot use status.endpoint of active FunctionRevision \"f-1\": \"f\" is not an endpoint of a function: write unix:///path, https://host:port, host:port or http://127.0.0.1:port"
        );
    }

    #[test]
    fn an_annotation_that_is_no_endpoint_is_not_passed_over() {
        let revisions = [revision("f", 1, "Active", "f:9443")];
        assert_eq!(
            printed(&[], &[function("f", Some("http://10.0.0.1:80"))], &revisions),
            "cannot use annotation crossbridge.dev/endpoint of Function \"f\": \"http://10.0.0.1:80\" would send objects and credentials in the clear: plain http:// is for loopback only, use https://"
        );
        assert_eq!(
            printed(&[], &[function("f", Some(""))], &revisions),
            "https://f:9443"
        );
    }

    #[test]
    fn objects_of_another_form_are_passed_over() {
        let odd = [
            json!(null),
            json!({}),
            json!({"metadata": {"name": 3, "labels": []}}),
        ];
        assert_eq!(endpoints(&BTreeMap::new(), &odd, &odd), Endpoints::new());
    }
}
