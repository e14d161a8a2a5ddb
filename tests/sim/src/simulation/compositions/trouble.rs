//! Whether everything is as it should be.

use serde_json::Value;

use super::{
    run::Run,
    state::{self, condition, controller, is_deleting},
    user::Object,
};
use crate::simulation::invariants::{annotation, text};

impl Run {
    /// What is not as it should be; `None`: everything is.
    pub(super) fn trouble(&self) -> Option<String> {
        let objects = (0..self.plan.objects.len()).map(|number| self.object(number));
        let mut troubles = objects.filter_map(|object| self.trouble_of(&object));
        troubles.next().or_else(|| self.leftover())
    }

    fn trouble_of(&self, object: &Object) -> Option<String> {
        let found = object.get()?;
        let name = object.name;
        let conditions = || found["status"]["conditions"].to_string();
        if is_deleting(&found) {
            return Some(format!("{name} is being deleted: {}", conditions()));
        }
        for wanted in ["Ready", "Synced"] {
            if condition(&found, wanted).0 != "True" {
                return Some(format!("{name} is not {wanted}: {}", conditions()));
            }
        }
        let Some(composite) = object.composite() else {
            return Some(format!("{name} has no composite resource"));
        };
        if composite["spec"]["size"] != found["spec"]["size"] {
            return Some(format!("the composite resource of {name} has another size"));
        }
        let size = found["spec"]["size"].as_u64().unwrap_or_default();
        let variant = self.variants.get(&object.kind).copied().unwrap_or_default();
        let uid = text(&composite, "/metadata/uid");
        let state = self.environment.kube.state();
        let mut composed: Vec<&Value> = state::composed(&state)
            .filter_map(|(composed, owner)| (owner == uid).then_some(composed))
            .collect();
        for desired in object.kind.resources(variant) {
            let is_it = |composed: &&Value| resource_name(composed) == desired.name;
            let found = composed.iter().position(is_it);
            match (found, desired.is_for(size)) {
                (None, true) => return Some(format!("{name} has no {}", desired.name)),
                (None, false) => {}
                (Some(at), true) => {
                    if let Some(wrong) = differs(composed.remove(at), &desired.object) {
                        return Some(format!("{name}: {} {wrong}", desired.name));
                    }
                }
                (Some(_), false) => return Some(format!("{name} still has {}", desired.name)),
            }
        }
        composed
            .first()
            .map(|more| format!("{name} has a second {}", resource_name(more)))
    }

    /// What nobody has any use for.
    fn leftover(&self) -> Option<String> {
        let state = self.environment.kube.state();
        let lost = |(object, owner): (&Value, &str)| {
            let name = text(object, "/metadata/name");
            if is_deleting(object) {
                return Some(format!("{name} is still being deleted"));
            }
            match state::composite(&state, owner) {
                None => Some(format!("{name} is left over")),
                Some(composite) if !state::lists(composite, object) => {
                    Some(format!("{name} is in no references"))
                }
                Some(_) => None,
            }
        };
        if let Some(lost) = state::composed(&state).find_map(lost) {
            return Some(lost);
        }
        let used = |object: &Value| {
            let labelled = object["metadata"]["labels"]["crossplane.io/in-use"] == "true";
            let uid = controller(object).map(|owner| owner["uid"].clone());
            let mut usages = state.all("usages", "protection.crossplane.io");
            let has_usage = usages.any(|usage| controller(usage).map(|owner| owner["uid"].clone()) == uid);
            (labelled && !has_usage).then(|| {
                let name = text(object, "/metadata/name");
                format!("{name} bears the label of what is in use, and no usage protects it")
            })
        };
        if let Some(used) = state.all("configmaps", "").find_map(used) {
            return Some(used);
        }
        let unclaimed = state
            .all("xpurchases", super::manifests::GROUP)
            .find(|composite| {
                let claim = text(composite, "/spec/claimRef/name");
                state
                    .object("purchases", super::manifests::GROUP, "default", claim)
                    .is_none()
            });
        unclaimed.map(|composite| {
            let name = text(composite, "/metadata/name");
            format!("the composite resource {name} has no claim any more")
        })
    }
}

pub(super) fn resource_name(object: &Value) -> &str {
    annotation(object, "crossplane.io/composition-resource-name")
}

/// How an object differs from what is desired of it. What is desired no more must be gone.
fn differs(object: &Value, desired: &Value) -> Option<String> {
    if !desired["data"].is_null() && object["data"] != desired["data"] {
        return Some(format!("holds {}, not {}", object["data"], desired["data"]));
    }
    let late = |object: &Value| object["metadata"]["labels"]["late"].clone();
    (late(object) != late(desired)).then(|| format!("has the labels {}", object["metadata"]["labels"]))
}
