//! `function-pythonic`, unmodified: its script stands in the step's input.

use std::sync::Arc;

use bridge_core::function::{
    Condition, ConditionStatus, HiddenMap, Observed, Requirements, Resource, ResourceMatch, ResourceSelector,
    ResultTarget, RunRequest, RunResponse,
};
use bridge_languages::Function;
use serde_json::{Value, json};

use crate::host::Host;

/// The page waits for the name of the settings, the settings for a `ConfigMap` that was there before.
const SCRIPT: &str = "
class Notice(BaseComposite):
    def compose(self):
        self.requireds.style('ConfigMap', 'v1', namespace=self.metadata.namespace, name='style')
        settings = self.resources.settings('ConfigMap', 'v1')
        settings.data.text = self.spec.text
        settings.data.style = self.requireds.style[0].data.name
        page = self.resources.page('ConfigMap', 'v1')
        page.data.settings = settings.observed.metadata.name
        self.status.text = self.spec.text
";

fn request(composed: &[(&str, Value)]) -> RunRequest {
    let composite = json!({
        "apiVersion": "example.org/v1alpha1",
        "kind": "Notice",
        "metadata": { "namespace": "default", "name": "step" },
        "spec": { "text": "Mind the step." },
    });
    let composed = composed
        .iter()
        .map(|(name, object)| ((*name).to_owned(), Resource::of(object.clone())));
    RunRequest {
        observed: Arc::new(Observed {
            composite: Resource::of(composite),
            resources: composed.collect(),
        }),
        input: Some(json!({
            "apiVersion": "pythonic.fn.crossplane.io/v1alpha1",
            "kind": "Composite",
            "step": "compose",
            "composite": SCRIPT,
        })),
        ..RunRequest::default()
    }
}

/// The next call of the same step: with the context that the function left, and what it required.
fn next(request: &RunRequest, response: &RunResponse) -> RunRequest {
    let style = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "default", "name": "style" },
        "data": { "name": "plain" },
    });
    RunRequest {
        context: response.context.clone(),
        required_resources: [("style".to_owned(), vec![Resource::of(style)])].into(),
        ..request.clone()
    }
}

fn calls(response: &RunResponse) -> Option<&Value> {
    let HiddenMap(context) = response.context.as_ref()?;
    context.get("iteration")
}

fn objects(response: &RunResponse) -> Vec<(&str, &Value)> {
    let resources = response.desired.resources.iter();
    resources
        .map(|(name, resource)| (name.as_str(), &resource.object))
        .collect()
}

#[tokio::test]
async fn a_script_is_shown_what_it_requires() {
    let host = Host::start(Function::Pythonic, &[]).await;
    let asked = request(&[]);
    let first = host.run(&asked).await.expect("a response");
    let style = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: ResourceMatch::Name("style".to_owned()),
        namespace: Some("default".to_owned()),
    };
    let required = Requirements {
        resources: [("style".to_owned(), style)].into(),
        ..Requirements::default()
    };
    assert_eq!((&first.requirements, calls(&first)), (&required, Some(&json!(1))));

    let second = host.run(&next(&asked, &first)).await.expect("a response");
    assert_eq!(
        (&second.requirements, calls(&second)),
        (&required, Some(&json!(2)))
    );
    let settings = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": { "text": "Mind the step.", "style": "plain" },
    });
    assert_eq!(objects(&second), [("settings", &settings)]);
    let status = second
        .desired
        .composite
        .as_ref()
        .map(|composite| &composite.object["status"]);
    assert_eq!(status, Some(&json!({ "text": "Mind the step." })));
    let waiting = Condition {
        type_: "ResourcesComposed".to_owned(),
        status: ConditionStatus::False,
        reason: "DesiredUnknowns".to_owned(),
        message: Some("Desired resources with unknowns: page".to_owned()),
        target: ResultTarget::Composite,
    };
    assert_eq!(second.conditions, [waiting]);
}

#[tokio::test]
async fn a_script_composes_what_it_knows_all_of() {
    let host = Host::start(Function::Pythonic, &[]).await;
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "step-x7k2p" } });
    let asked = request(&[("settings", settings)]);
    let first = host.run(&asked).await.expect("a response");
    let second = host.run(&next(&asked, &first)).await.expect("a response");
    let page = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "settings": "step-x7k2p" } });
    assert_eq!(objects(&second).first(), Some(&("page", &page)));
    let composed: Vec<_> = second
        .conditions
        .iter()
        .map(|one| (one.type_.as_str(), one.status))
        .collect();
    assert_eq!(composed, [("ResourcesComposed", ConditionStatus::True)]);
}
