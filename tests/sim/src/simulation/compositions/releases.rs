//! People who leave behind what holds a deletion up, and take the wrong uid for it.

use std::time::Duration;

use bridge_core::composite::names;
use http::Method;
use serde_json::{Value, json};

use super::{
    plan::{Plan, Propagation, Step},
    user::Object,
};
use crate::simulation::{chance::Chance, invariants::text};

/// What a person releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Released {
    /// What it composes under this number.
    One(u32),
    All,
    /// Something that does not exist, and all of another composite resource.
    Wrong,
}

impl Plan {
    /// A deletion is held up, and a person releases something of it.
    pub(super) fn draw_releases(&mut self, chance: &Chance, length: u32) {
        if !chance.happens(0.3) {
            return;
        }
        self.releases = true;
        let object = chance.below(u32::try_from(self.objects.len()).unwrap_or(1)) as usize;
        let at = chance.millis(length);
        let which = chance.below(4);
        self.steps.push((at, Step::Hold(object, which)));
        let deleted = at + chance.millis(5_000);
        self.steps
            .push((deleted, Step::Delete(object, Propagation::Background)));
        for _ in 0..=chance.below(2) {
            let choices = [
                (4, Released::One(which)),
                (2, Released::One(chance.below(4))),
                (2, Released::All),
                (3, Released::Wrong),
            ];
            let released = chance.weighted(&choices).unwrap_or(Released::Wrong);
            let released = Step::Release(object, released);
            self.steps
                .push((deleted + Duration::from_secs(1) + chance.millis(40_000), released));
        }
    }
}

impl Object<'_> {
    /// A person releases something of it. False: there is no such thing.
    pub(super) fn release(&self, released: Released) -> bool {
        let Some(composite) = self.composite() else {
            return false;
        };
        let mark = match released {
            Released::One(number) => {
                let uid = self.composed(number).and_then(|path| {
                    let (code, object) = self.environment.kube.request(&Method::GET, &path, &Value::Null);
                    (code == 200).then(|| text(&object, "/metadata/uid").to_owned())
                });
                let Some(uid) = uid else { return false };
                uid
            }
            Released::All => format!("all/{}", text(&composite, "/metadata/uid")),
            Released::Wrong => "4f6a1c1e-no-such-uid, all/4f6a1c1e-no-such-uid".to_owned(),
        };
        let change = json!({"metadata": {"annotations": {names::RELEASE: mark}}});
        let path = self.composite_path(text(&composite, "/metadata/name"));
        self.environment.kube.request(&Method::PATCH, &path, &change).0 < 300
    }
}
