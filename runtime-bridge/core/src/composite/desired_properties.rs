use proptest::prelude::*;
use serde_json::json;

use super::{super::super::sample, *};

fn arbitrary() -> impl Strategy<Value = DesiredState> {
    let kinds = prop_oneof![Just("ConfigMap"), Just("Pod"), Just("")];
    let metadata = prop_oneof![
        4 => sample::object(),
        4 => "[a-b.]{0,2}".prop_map(|name| json!({"name": name})),
        1 => sample::json(),
    ];
    let object = (kinds, metadata, sample::json())
        .prop_map(|(kind, metadata, data)| json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}));
    prop::collection::btree_map("[a-c]{1,2}", object, 0..6).prop_map(|objects| DesiredState {
        composite: None,
        resources: objects
            .into_iter()
            .map(|(name, object)| (name, Resource::of(object)))
            .collect(),
    })
}

proptest! {
    #[test]
    fn what_is_composed_does_not_depend_on_order(desired in arbitrary()) {
        let resources = desired.resources.iter().rev();
        let reversed = DesiredState {
            composite: None,
            resources: resources
                .map(|(name, resource)| (name.clone(), Resource::of(sample::reversed(&resource.object))))
                .collect(),
        };
        prop_assert_eq!(desired_resources(&desired, &context()), desired_resources(&reversed, &context()));
    }

    #[test]
    fn composing_what_is_observed_changes_nothing(desired in arbitrary()) {
        let first = desired_resources(&desired, &context()).resources;
        let mut second = context();
        for composed in first.values().flatten() {
            let key = (composed.resource_name.clone(), composed.id.group_kind());
            let metadata = &composed.body["metadata"];
            let name = ObservedName {
                namespace: composed.id.namespace.clone(),
                name: composed.id.name.clone(),
                generate_name: metadata["generateName"].as_str().map(str::to_owned),
            };
            second.observed.insert(key, name);
        }
        prop_assert_eq!(desired_resources(&desired, &second).resources, first);
    }

    #[test]
    fn nothing_leaves_the_namespace_of_its_composite(desired in arbitrary()) {
        let result = desired_resources(&desired, &context());
        prop_assert_eq!(result.resources.len(), desired.resources.len());
        for composed in result.resources.values().flatten() {
            prop_assert_eq!(composed.id.namespace.as_deref(), Some("team"));
            prop_assert_eq!(&composed.body["metadata"]["namespace"], "team");
        }
    }
}
