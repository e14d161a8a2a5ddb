//! Whether everything is as it should be.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    manifests::{EDITED, GROUP, Kind},
    run::Run,
    secrets, settings,
    state::{self, condition, controller, is_deleting},
    user::Object,
};
use crate::simulation::invariants::{annotation, text};

impl Run {
    /// What is not as it should be; `None`: everything is.
    pub(super) fn trouble(&self) -> Option<String> {
        let mut kinds = self.plan.kinds.iter();
        let objects = (0..self.plan.objects.len()).map(|number| self.object(number));
        let mut troubles = objects.filter_map(|object| self.trouble_of(&object));
        let secrets = || {
            let has_secrets = self.plan.program.has_secrets;
            has_secrets
                .then(|| self.environment.trouble_of_secrets())
                .flatten()
        };
        kinds
            .find_map(|kind| self.trouble_of_definition(*kind))
            .or_else(|| troubles.next())
            .or_else(|| self.trouble_of_nested())
            .or_else(|| self.trouble_of_standalone())
            .or_else(|| self.leftover())
            .or_else(secrets)
    }

    /// It is there, as it was edited last, and so is what it defines.
    fn trouble_of_definition(&self, kind: Kind) -> Option<String> {
        let name = kind.definition_name();
        let Some(definition) = self.environment.definition(kind) else {
            return Some(format!("{name} is not defined"));
        };
        let conditions = || definition["status"]["conditions"].to_string();
        if is_deleting(&definition) {
            return Some(format!("{name} is being deleted: {}", conditions()));
        }
        let mut served = vec![(kind.composite_plural(), "Established")];
        if kind == Kind::Purchase {
            served.push((kind.plural(), "Offered"));
        }
        let is_edited = self.edits_of(kind) % 2 == 1;
        let state = self.environment.kube.state();
        served.into_iter().find_map(|(plural, wanted)| {
            if condition(&definition, wanted).0 != "True" {
                return Some(format!("{name} is not {wanted}: {}", conditions()));
            }
            let crd = state.object(
                "customresourcedefinitions",
                "apiextensions.k8s.io",
                "",
                &format!("{plural}.{GROUP}"),
            );
            let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
            let field = crd.and_then(|crd| crd.pointer(&format!("{spec}/{EDITED}")));
            (crd.is_none() || field.is_some() != is_edited)
                .then(|| format!("the CRD of {plural} is not as {name} has it"))
        })
    }

    fn trouble_of(&self, object: &Object) -> Option<String> {
        let found = object.get()?;
        let name = object.name;
        if let Some(trouble) = unready(name, &found) {
            return Some(trouble);
        }
        let Some(composite) = object.composite() else {
            return Some(format!("{name} has no composite resource"));
        };
        if composite["spec"]["size"] != found["spec"]["size"] {
            return Some(format!("the composite resource of {name} has another size"));
        }
        self.trouble_of_composite(name, object.kind, &composite)
    }

    /// Composite resources that others compose are as good as those.
    fn trouble_of_nested(&self) -> Option<String> {
        let nested: Vec<Value> = {
            let state = self.environment.kube.state();
            let all = state.all(Kind::Order.plural(), GROUP);
            all.filter(|order| controller(order).is_some()).cloned().collect()
        };
        nested.iter().find_map(|order| {
            let name = text(order, "/metadata/name");
            unready(name, order).or_else(|| self.trouble_of_composite(name, Kind::Order, order))
        })
    }

    /// It has what is desired of its kind and size, and nothing else.
    fn trouble_of_composite(&self, name: &str, kind: Kind, composite: &Value) -> Option<String> {
        let size = composite["spec"]["size"].as_u64().unwrap_or_default();
        let variant = self.variants.get(&kind).copied().unwrap_or_default();
        let uid = text(composite, "/metadata/uid");
        let state = self.environment.kube.state();
        let mut composed: Vec<&Value> = state::composed(&state)
            .filter_map(|(composed, owner)| (owner == uid).then_some(composed))
            .collect();
        let (refers, has) = (state::references(composite).len(), composed.len());
        if refers != has {
            return Some(format!("{name} refers to {refers} objects, and has {has}"));
        }
        if self.plan.program.has_secrets && kind == Kind::Purchase {
            let details = composed
                .iter()
                .position(|one| resource_name(one) == secrets::DETAILS);
            let Some(at) = details else {
                return Some(format!("{name} has no {}", secrets::DETAILS));
            };
            if let Some(wrong) = secrets::differs(composed.remove(at)) {
                return Some(format!("{name}: {} {wrong}", secrets::DETAILS));
            }
        }
        for mut desired in kind.resources(variant) {
            if self.plan.program.has_settings && desired.name == settings::holder(kind) {
                settings::add_copies(&mut desired.object, &state);
            }
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

    /// For whoever replays the seed: all that could be in the way.
    pub(super) fn note_what_is_left(&self) {
        let state = self.environment.kube.state();
        let mut kinds = BTreeSet::from(state::COMPOSED);
        kinds.extend(self.plan.kinds.iter().map(|kind| (kind.plural(), GROUP)));
        for object in kinds
            .into_iter()
            .flat_map(|(plural, group)| state.all(plural, group))
        {
            let metadata = &object["metadata"];
            let (conditions, spec) = (&object["status"]["conditions"], &object["spec"]);
            self.environment.log.note(|| {
                format!(
                    "left: {} {} since {} finalizers {} labels {} spec {spec} {conditions}",
                    object["kind"],
                    metadata["name"],
                    metadata["deletionTimestamp"],
                    metadata["finalizers"],
                    metadata["labels"],
                )
            });
        }
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
            let has_usage =
                state::usages(&state).any(|usage| state::used(usage) == text(object, "/metadata/uid"));
            (state::is_in_use(object) && !has_usage).then(|| {
                let name = text(object, "/metadata/name");
                format!("{name} bears the label of what is in use, and no usage protects it")
            })
        };
        let mut all = state::COMPOSED
            .into_iter()
            .flat_map(|(plural, group)| state.all(plural, group));
        if let Some(used) = all.find_map(used) {
            return Some(used);
        }
        let unclaimed = state.all("xpurchases", GROUP).find(|composite| {
            let claim = text(composite, "/spec/claimRef/name");
            state.object("purchases", GROUP, "default", claim).is_none()
        });
        unclaimed.map(|composite| {
            let name = text(composite, "/metadata/name");
            format!("the composite resource {name} has no claim any more")
        })
    }
}

/// Why it is neither ready nor synced, or about to go.
fn unready(name: &str, object: &Value) -> Option<String> {
    let conditions = || object["status"]["conditions"].to_string();
    if is_deleting(object) {
        return Some(format!("{name} is being deleted: {}", conditions()));
    }
    let mut wanted = ["Ready", "Synced"].into_iter();
    let missing = wanted.find(|wanted| condition(object, wanted).0 != "True")?;
    Some(format!("{name} is not {missing}: {}", conditions()))
}

pub(super) fn resource_name(object: &Value) -> &str {
    annotation(object, "crossplane.io/composition-resource-name")
}

/// How an object differs from what is desired of it. What is desired no more must be gone.
fn differs(object: &Value, desired: &Value) -> Option<String> {
    if !desired["data"].is_null() && object["data"] != desired["data"] {
        return Some(format!("holds {}, not {}", object["data"], desired["data"]));
    }
    // What a composite or a managed resource is asked for, beside what it fills in itself.
    let wanted = |pointer: &str| {
        desired
            .pointer(pointer)
            .filter(|wanted| object.pointer(pointer) != Some(*wanted))
    };
    if let Some(wanted) = wanted("/spec/size").or_else(|| wanted("/spec/forProvider/size")) {
        return Some(format!("has not the size {wanted}"));
    }
    let late = |object: &Value| object["metadata"]["labels"]["late"].clone();
    (late(object) != late(desired)).then(|| format!("has the labels {}", object["metadata"]["labels"]))
}
