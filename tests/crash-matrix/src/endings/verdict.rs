//! What went wrong in a story: a function of what the API server held.

use serde::Serialize;

use super::{
    manifests::CHANGED,
    record::{Life, Lives},
    story::{Left, Story},
};

/// What is counted; all of it must be 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Faults {
    /// Objects that are left though they should not be, or are missing though they should be left.
    pub left_over: Vec<String>,
    /// Deletions, ends, or creations, that came before what they must follow.
    pub out_of_order: Vec<String>,
    /// Objects that were deleted while a usage protected them.
    pub in_use: Vec<String>,
    /// Objects that were deleted though nothing asked for it: successors, and what stays.
    pub touched: Vec<String>,
}

impl Faults {
    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// All, in one sequence.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        [&self.left_over, &self.out_of_order, &self.in_use, &self.touched]
            .into_iter()
            .flatten()
    }
}

const DEFINITION: &str = "CompositeResourceDefinition";
const CRD: &str = "CustomResourceDefinition";
const CLAIM: &str = "Purchase";
const COMPOSED: [&str; 2] = ["ConfigMap", "Usage"];

fn is_composite(life: &Life) -> bool {
    life.kind == "Order" || life.kind == "XPurchase"
}

fn is_composed(life: &Life) -> bool {
    COMPOSED.contains(&life.kind.as_str()) && !life.controller.is_empty()
}

/// All that a story is about exists and is ready.
pub fn is_whole(story: Story, lives: &Lives) -> bool {
    let count = |is_it: &dyn Fn(&Life) -> bool| lives.values().filter(|life| is_it(life)).count();
    let composed = count(&|life| life.kind == "ConfigMap" && is_composed(life));
    let usages = count(&|life| life.kind == "Usage" && condition_is_true(life, "Ready"));
    let composites = count(&|life| is_composite(life) && is_ready(life));
    let claims = count(&|life| life.kind == CLAIM && is_ready(life));
    let expected = match story {
        Story::CompositeDeleted | Story::UsageRemoved => (3, 1, 1, 0),
        Story::ResourceRemoved | Story::CompositeChanged => (3, 0, 1, 0),
        Story::ClaimRecreated => (3, 0, 1, 1),
        Story::DefinitionDeleted => (6, 0, 3, 0),
        Story::CompositeCreated => (0, 0, 0, 0),
    };
    (composed, usages, composites, claims) == expected
}

/// All that a story is about is over.
pub fn is_over(story: Story, lives: &Lives) -> bool {
    let going = lives
        .values()
        .any(|life| life.gone.is_none() && life.marked.is_some());
    let is_changed = story != Story::CompositeChanged || is_changed(lives);
    !going && left(lives) == story.left() && is_settled(story, lives) && is_changed
}

/// Each composition resource name has its one object, with the content that is desired now.
fn is_changed(lives: &Lives) -> bool {
    let alive = lives.values().filter(|life| life.gone.is_none());
    let mut values: Vec<(&str, &str)> = alive
        .filter(|life| is_composed(life))
        .map(|life| {
            let annotations = &life.last["metadata"]["annotations"];
            let name = annotations["crossplane.io/composition-resource-name"].as_str();
            let value = life.last["data"]["value"].as_str();
            (name.unwrap_or_default(), value.unwrap_or_default())
        })
        .collect();
    values.sort_unstable();
    values == [("first", CHANGED), ("fourth", "fourth"), ("third", "third")]
}

/// What stays is whole.
fn is_settled(story: Story, lives: &Lives) -> bool {
    let mut alive = lives.values().filter(|life| life.gone.is_none());
    alive.all(|life| match story {
        Story::DefinitionDeleted => false,
        _ if is_composite(life) || life.kind == CLAIM => {
            let refs = ["/spec/crossplane/resourceRefs", "/spec/resourceRefs"];
            let refs = refs.iter().find_map(|path| life.last.pointer(path)?.as_array());
            is_ready(life) && (life.kind == CLAIM || refs.map_or(0, Vec::len) == story.left().composed)
        }
        _ => life.last["metadata"]["labels"]["crossplane.io/in-use"].is_null(),
    })
}

fn is_ready(life: &Life) -> bool {
    condition_is_true(life, "Ready") && condition_is_true(life, "Synced")
}

fn condition_is_true(life: &Life, type_: &str) -> bool {
    let conditions = life.last["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == type_ && condition["status"] == "True")
}

fn left(lives: &Lives) -> Left {
    let count = |is_it: fn(&Life) -> bool| {
        let alive = lives.values().filter(|life| life.gone.is_none());
        alive.filter(|life| is_it(life)).count()
    };
    Left {
        composed: count(|life| COMPOSED.contains(&life.kind.as_str())),
        composites: count(is_composite),
        claims: count(|life| life.kind == CLAIM || life.kind == DEFINITION || life.kind == CRD),
    }
}

/// Judges a story whose time is over.
pub fn judge(story: Story, lives: &Lives) -> Faults {
    let mut faults = Faults::default();
    if !is_over(story, lives) {
        let alive = lives.values().filter(|life| life.gone.is_none());
        let alive: Vec<String> = alive.map(describe).collect();
        let what = format!("it is not over; there are: {}", alive.join(", "));
        faults.left_over.push(what);
    }
    for (uid, life) in lives {
        order(uid, life, lives, &mut faults);
        if life.kind == "Usage" {
            protect(life, lives, &mut faults);
        }
        if life.marked.is_some() && !may_be_deleted(story, life, lives) {
            faults.touched.push(describe(life));
        }
    }
    faults
}

fn describe(life: &Life) -> String {
    format!("{} {} of revision {}", life.kind, life.name, life.created)
}

/// `None` is never.
fn is_before(earlier: Option<u64>, later: Option<u64>) -> bool {
    match (earlier, later) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(earlier), Some(later)) => earlier < later,
    }
}

fn order(uid: &str, life: &Life, lives: &Lives, faults: &mut Faults) {
    let mut must = |holds: bool, what: &str, other: &Life| {
        if !holds {
            let what = format!("{} {what} {}", describe(life), describe(other));
            faults.out_of_order.push(what);
        }
    };
    if let Some(xr) = lives.get(&life.controller).filter(|_| is_composed(life)) {
        // Of a composite resource that stays, what is decomposed goes alone.
        if xr.marked.is_some() && is_before(xr.marked, life.marked) {
            must(
                is_before(xr.said, life.marked),
                "was deleted before it was said of",
                xr,
            );
        }
        must(is_before(life.gone, xr.gone), "outlived", xr);
        // Else nobody would find it after a crash in between.
        let (_, name) = life.name.split_once('/').unwrap_or_default();
        let referred = xr.referred.get(&format!("{} {name}", life.kind)).copied();
        must(
            is_before(referred, Some(life.created)),
            "was created before it was referred to by",
            xr,
        );
    }
    if is_composite(life) && life.kind == "XPurchase" {
        let claim_uid = life.last["metadata"]["annotations"]["crossbridge.dev/claim"].as_str();
        if let Some(claim) = claim_uid.and_then(|uid| lives.get(uid)) {
            must(
                is_before(claim.said, life.marked),
                "was deleted before it was said of",
                claim,
            );
            must(is_before(life.gone, claim.gone), "outlived", claim);
        }
    }
    if life.kind == DEFINITION {
        for other in lives.values() {
            if is_composite(other) {
                must(
                    is_before(life.said, other.marked),
                    "did not say that it ends before the deletion of",
                    other,
                );
            }
            if other.kind == CRD && other.controller == uid {
                must(is_before(other.gone, life.gone), "was gone before", other);
            }
        }
    }
    if life.kind == CRD {
        for other in lives.values().filter(|other| is_composite(other)) {
            must(
                is_before(other.gone, life.marked),
                "was deleted before the end of",
                other,
            );
        }
    }
}

/// A usage protects until it has taken its label off, which it does when what uses is gone, if its own composite resource is deleted.
fn protect(usage: &Life, lives: &Lives, faults: &mut Faults) {
    let place = usage.name.split('/').next().unwrap_or_default();
    let find = |side: &str| {
        let name = usage.last["spec"][side]["resourceRef"]["name"].as_str()?;
        let name = format!("{place}/{name}");
        lives
            .values()
            .find(|life| life.kind == "ConfigMap" && life.name == name)
    };
    let (Some(of), Some(by)) = (find("of"), find("by")) else {
        return;
    };
    if of.marked_in_use || !is_before(usage.marked, of.marked) {
        faults.in_use.push(describe(of));
    }
    let owner_goes = lives
        .get(&usage.controller)
        .is_some_and(|xr| xr.marked.is_some() && is_before(xr.marked, usage.marked));
    for (later, at) in [(usage, usage.gone), (of, of.marked)] {
        if owner_goes && !is_before(by.gone, at) {
            let what = format!("{} went before {}", describe(later), describe(by));
            faults.out_of_order.push(what);
        }
    }
}

fn may_be_deleted(story: Story, life: &Life, lives: &Lives) -> bool {
    match story {
        Story::CompositeDeleted | Story::DefinitionDeleted => true,
        Story::ResourceRemoved | Story::CompositeChanged => {
            life.kind == "ConfigMap" && life.name.ends_with("/second")
        }
        Story::UsageRemoved => life.kind == "Usage",
        Story::CompositeCreated => false,
        Story::ClaimRecreated => {
            // All that came after the end of the first claim is of its successor.
            let mut claims = lives.values().filter(|life| life.kind == CLAIM);
            let first = claims.by_ref().min_by_key(|claim| claim.created);
            first.is_some_and(|first| first.gone.is_none_or(|gone| life.created < gone))
        }
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
