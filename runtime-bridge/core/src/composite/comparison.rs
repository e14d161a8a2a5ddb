//! What the last run desires beside what exists, for people. No value of an object is in it.

use serde_json::{Value, json};

use super::{
    ObjectId,
    context::Context,
    desired::ComposedResource,
    differences::change,
    live::{LiveObject, ObjectState, Ownership},
    memory::CompositeMemory,
    present, rules,
    snapshot::Snapshot,
};

/// A composed resource, and how it stands to what the last run desires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Composition resource name.
    pub resource_name: String,
    /// `None`: what is desired cannot be composed, so that it has none.
    pub id: Option<ObjectId>,
    /// How it stands.
    pub standing: Standing,
}

/// How a composed resource stands to what the last run desires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every desired field is there, and what is desired was written last.
    AsDesired,
    /// These desired fields are not there, or are something else.
    Differs(Vec<String>),
    /// Every desired field is there, but what was written last is something else: fields that are desired no more may be there, too.
    NotApplied,
    /// The API server, or an admission webhook, makes something else of these desired fields. That is not fought.
    Altered(Vec<String>),
    /// It does not exist.
    Absent,
    /// It is being deleted.
    Deleting,
    /// Another owner's object has its name.
    NotOurs,
    /// Ours, and desired no more.
    NotDesired,
    /// It is desired, and cannot be composed.
    Invalid(String),
    /// It cannot be compared, and why.
    Unknown(String),
}

/// What the last run desires beside what exists, by composition resource name, and what is ours and not desired; `None`: no run counts that
/// succeeded, or nothing is composed any more, as the composite resource is being deleted.
pub fn comparison(snapshot: &Snapshot, memory: &CompositeMemory) -> Option<Vec<Compared>> {
    if snapshot.xr.is_deleting() {
        return None;
    }
    let of = Context::new(snapshot, memory);
    let plan = of.plan.as_ref()?;
    let desired = plan.desired.iter().map(|(name, desired)| match desired {
        Ok(resource) => Compared {
            resource_name: name.clone(),
            id: Some(resource.id.clone()),
            standing: standing(&of, name, resource),
        },
        Err(why) => Compared {
            resource_name: name.clone(),
            id: None,
            standing: Standing::Invalid(why.clone()),
        },
    });
    let obsolete = plan.obsolete.iter().map(|(id, _)| id);
    let former = obsolete.chain(plan.replaced.iter().map(|(id, _)| id));
    let former = former.map(|id| {
        let name = of.object(id).and_then(LiveObject::resource_name);
        Compared {
            resource_name: name.unwrap_or_default().to_owned(),
            id: Some(id.clone()),
            standing: Standing::NotDesired,
        }
    });
    Some(desired.chain(former).collect())
}

fn standing(of: &Context, name: &str, resource: &ComposedResource) -> Standing {
    let object = match of.seen(&resource.id) {
        Some(ObjectState::Exists(object)) => object,
        Some(ObjectState::Unknown(why)) => return Standing::Unknown(why.clone()),
        Some(ObjectState::KindGone) => return Standing::Unknown("its kind is not served".to_owned()),
        Some(ObjectState::Absent) => return Standing::Absent,
        // It is referred to before it is created. But what exists keeps its name, and that of what is not known is not, either.
        None => {
            let why = unknown_of_kind(of, &resource.id);
            return why.map_or(Standing::Absent, |why| Standing::Unknown(why.to_owned()));
        }
    };
    let is_ours = match object.ownership(of.snapshot.xr.uid()) {
        Ownership::Ours => true,
        Ownership::Uncontrolled => rules::may_adopt(object, name),
        Ownership::Foreign => false,
    };
    if !is_ours {
        return Standing::NotOurs;
    }
    if object.is_deleting() {
        return Standing::Deleting;
    }
    let differences = present::differences(&resource.body, object.object());
    let paths = || differences.iter().map(|one| one.path.clone()).collect();
    match (change(of, name, resource), differences.is_empty()) {
        (Some(_), true) => Standing::NotApplied,
        (Some(_), false) => Standing::Differs(paths()),
        (None, true) => Standing::AsDesired,
        (None, false) => Standing::Altered(paths()),
    }
}

/// Why an object of the same kind is not known, under whatever name.
fn unknown_of_kind<'c>(of: &'c Context, id: &ObjectId) -> Option<&'c str> {
    let seen = of.snapshot.seen.iter();
    let mut same = seen.filter(|(other, _)| (&other.group, &other.kind) == (&id.group, &id.kind));
    same.find_map(|(_, state)| match state {
        ObjectState::Unknown(why) => Some(why.as_str()),
        _ => None,
    })
}

impl Compared {
    /// For people.
    pub fn to_json(&self) -> Value {
        let (state, fields, message) = self.standing.parts();
        let id = self.id.as_ref();
        json!({
            "resourceName": self.resource_name,
            "group": id.map(|id| &id.group),
            "kind": id.map(|id| &id.kind),
            "namespace": id.and_then(|id| id.namespace.as_ref()),
            "name": id.map(|id| &id.name),
            "state": state,
            "fields": fields,
            "message": message,
        })
    }
}

impl Standing {
    /// Its name, the JSON Pointers of the fields that it is about, and why.
    fn parts(&self) -> (&'static str, &[String], Option<&str>) {
        match self {
            Self::AsDesired => ("asDesired", &[], None),
            Self::Differs(fields) => ("differs", fields, None),
            Self::NotApplied => ("notApplied", &[], None),
            Self::Altered(fields) => ("altered", fields, None),
            Self::Absent => ("absent", &[], None),
            Self::Deleting => ("deleting", &[], None),
            Self::NotOurs => ("notOurs", &[], None),
            Self::NotDesired => ("notDesired", &[], None),
            Self::Invalid(why) => ("invalid", &[], Some(why)),
            Self::Unknown(why) => ("unknown", &[], Some(why)),
        }
    }
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
