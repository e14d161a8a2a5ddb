//! A usage as others see it: what it protects, and from what.

use jiff::Timestamp;

use super::{
    mark::Mark,
    names,
    usage::{Side, Usage, Which},
};
use crate::{
    composite::{LiveObject, ObjectId},
    rule::Rule,
};

/// Shows why usages cannot be listed.
const LIST: &str = "kubectl get usages.protection.crossplane.io,clusterusages.protection.crossplane.io,usages.apiextensions.crossplane.io -A";

/// What is reported while usages cannot be listed.
pub fn unlisted(why: &str) -> String {
    format!(
        "usages cannot be listed: {why}. One of them may protect it, so that nothing is deleted until they can. See: {LIST}"
    )
}

/// Likewise of what lives and is kept. The error, which may read differently each time, would cost a write each time.
pub fn unlisted_kept() -> String {
    format!("usages cannot be listed, one of which may protect it. See: {LIST}")
}

/// A usage as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageView {
    /// Uid.
    pub uid: String,
    /// `Usage default/protect-db`.
    pub title: String,
    /// What uses what, or why; empty: the bridge has not written it yet.
    pub details: String,
    /// Since when it exists.
    pub created: Option<Timestamp>,
    /// Uid of what controls it.
    pub controller: Option<String>,
    /// It is being deleted.
    pub is_deleting: bool,
    /// It bears the finalizer of usages: before it goes, it lets its object go.
    pub has_finalizer: bool,
    /// Name and uid of the used object, as far as they are known.
    pub of: Option<NamedObject>,
    /// Likewise of the using one.
    pub by: Option<NamedObject>,
}

/// One of the objects of a usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedObject {
    /// Which. Where its kind is not known to be namespaced, it has the namespace that it would have.
    pub id: ObjectId,
    /// `None`: it has not been found yet.
    pub uid: Option<String>,
}

impl NamedObject {
    /// It is this one: by uid, where that is known.
    pub fn is(&self, id: &ObjectId, uid: &str) -> bool {
        match &self.uid {
            Some(known) => known == uid,
            None => self.has_name_of(id),
        }
    }

    fn has_name_of(&self, id: &ObjectId) -> bool {
        let is_there = id.namespace.is_none() || id.namespace == self.id.namespace;
        let parts = |id: &ObjectId| (id.group.clone(), id.kind.clone(), id.name.clone());
        is_there && parts(id) == parts(&self.id)
    }
}

impl UsageView {
    /// One that may not be listed, for this reason, and of which the label of its object is known alone.
    pub fn unlisted(id: &ObjectId, object: &LiveObject, why: &str) -> Self {
        Self {
            uid: String::new(),
            title: "a usage that cannot be listed".to_owned(),
            details: unlisted(why),
            created: None,
            controller: None,
            is_deleting: false,
            has_finalizer: true,
            of: Some(NamedObject {
                id: id.clone(),
                uid: Some(object.uid().to_owned()),
            }),
            by: None,
        }
    }

    /// What is stored of a usage.
    pub fn of(usage: &Usage) -> Self {
        let record = usage.record();
        let recorded = |side: Side| {
            let record = record.as_ref()?;
            match side {
                Side::Used => Some(&record.of),
                Side::Using => record.by.as_ref(),
            }
        };
        let named = |side: Side| {
            if let Some(identity) = recorded(side) {
                return Some(NamedObject {
                    id: identity.reference.id(None),
                    uid: Some(identity.uid.clone()),
                });
            }
            let naming = usage.naming(side)?;
            let Which::Name(name) = &naming.which else {
                return None;
            };
            Some(NamedObject {
                id: naming.reference(name, true).id(None),
                uid: usage.using_uid().filter(|_| side == Side::Using),
            })
        };
        Self {
            uid: usage.uid().to_owned(),
            title: usage.title(),
            details: usage.annotation(names::DETAILS).unwrap_or_default().to_owned(),
            created: usage.created(),
            controller: usage
                .controller()
                .and_then(|controller| controller["uid"].as_str())
                .map(ToOwned::to_owned),
            is_deleting: usage.is_deleting(),
            has_finalizer: usage.has_finalizer(),
            of: named(Side::Used),
            by: named(Side::Using),
        }
    }

    /// The object may not be deleted as long as this usage is as it is. One that is being deleted, and has let its object go, protects it no more.
    pub fn protects(&self, id: &ObjectId, object: &LiveObject) -> bool {
        if self.is_deleting && !Mark::of(object).held_by.contains(&self.uid) {
            return false;
        }
        if self.comes_too_late(object) && !Rule::UsageHoldsNoEarlierDeletion.is_off() {
            return false;
        }
        // A successor of the used object is protected as soon as the usage is seen to.
        let is_named =
            |of: &NamedObject| of.is(id, object.uid()) || (!self.is_deleting && of.has_name_of(id));
        self.of.as_ref().is_some_and(is_named)
    }

    /// What composes both waits until the object is gone, and keeps the usage: that would hold a deletion for ever which began while there was no usage.
    /// Times are of whole seconds.
    fn comes_too_late(&self, object: &LiveObject) -> bool {
        let controller = object
            .controller()
            .and_then(|controller| controller["uid"].as_str());
        let is_of_the_same = controller.is_some() && self.controller.as_deref() == controller;
        let times = self.created.zip(object.deletion_began());
        is_of_the_same && times.is_some_and(|(created, deleted)| created > deleted)
    }

    /// `Usage default/protect-db: App/app uses Db/db`.
    pub fn text(&self) -> String {
        if self.details.is_empty() {
            self.title.clone()
        } else {
            format!("{}: {}", self.title, self.details)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protection::sample;

    fn id(name: &str) -> ObjectId {
        sample::reference("Db", name).id(None)
    }

    #[test]
    fn a_usage_protects_one_object_by_uid_once_it_has_found_it() {
        let named = UsageView::of(&sample::usage());
        let object = sample::object("Db", "db");
        assert!(named.protects(&id("db"), &object));
        assert!(!named.protects(&id("other"), &object));
        let recorded = UsageView::of(&sample::recorded());
        assert!(recorded.protects(&id("db"), &object));
        let mut successor = object;
        successor.object_mut()["metadata"]["uid"] = json!("another");
        assert!(
            recorded.protects(&id("db"), &successor),
            "it is to be protected, too"
        );
        let deleting = UsageView::of(&sample::deleting(sample::recorded()));
        assert!(!deleting.protects(&id("db"), &successor));
    }

    #[test]
    fn a_usage_that_goes_protects_what_it_has_not_let_go() {
        let deleting = UsageView::of(&sample::deleting(sample::recorded()));
        let mut object = sample::object("Db", "db");
        assert!(!deleting.protects(&id("db"), &object));
        object.object_mut()["metadata"]["annotations"] = json!({names::HELD_BY: "x,uid-usage"});
        assert!(deleting.protects(&id("db"), &object));
    }

    /// Seed 7000029: a composite resource waited for the end of what its usage kept.
    #[test]
    fn a_usage_holds_no_earlier_deletion_of_what_is_composed_with_it() {
        let owned = |uid: &str| json!([{"uid": uid, "controller": true}]);
        let protects = |controllers: [&str; 2], deleted: &str| {
            let [mut usage, mut object] = [sample::recorded().0, sample::marked()];
            usage.object_mut()["metadata"]["ownerReferences"] = owned(controllers[0]);
            object.object_mut()["metadata"]["ownerReferences"] = owned(controllers[1]);
            object.object_mut()["metadata"]["deletionTimestamp"] = json!(deleted);
            UsageView::of(&Usage(usage)).protects(&id("db"), &object)
        };
        assert!(!protects(["xr", "xr"], "2025-12-31T23:59:59Z"));
        assert!(protects(["xr", "xr"], "2026-01-01T00:00:00Z"));
        assert!(protects(["xr", "xr"], "2026-01-01T00:00:01Z"));
        assert!(
            protects(["xr", "other"], "2025-12-31T23:59:59Z"),
            "nobody composes both"
        );
    }

    #[test]
    fn a_usage_is_shown_with_what_it_says() {
        let mut usage = sample::usage();
        assert_eq!(UsageView::of(&usage).text(), "Usage team/protect-db");
        usage.0.object_mut()["metadata"]["annotations"] = json!({names::DETAILS: "App/app uses Db/db"});
        assert_eq!(
            UsageView::of(&usage).text(),
            "Usage team/protect-db: App/app uses Db/db"
        );
        usage.0.object_mut()["spec"]["of"]["resourceRef"] = Value::Null;
        assert_eq!(UsageView::of(&usage).of, None);
    }
}
