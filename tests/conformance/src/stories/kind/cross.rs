//! Two configs, each of which leads to a side of its own.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Document, FailureCode, Look, NameSource, OutcomeResult};
use futures::future::join_all;
use serde_json::Value;

use super::{
    configs::{NEVER_CROSS, is_own, look_with},
    observe::absent,
};
use crate::{
    lab::{Lab, Thing, Trail, look_of},
    verdict::{Judgement, Stop, holds},
    wish::differences,
};

/// How often two configs take turns, and how many looks of each are under way at once.
const TURNS: usize = 5;

/// Hands the thing back, which may have been changed.
pub(super) async fn run(lab: &Lab, thing: Thing) -> Result<Thing, Stop> {
    let bench = &lab.bench;
    let Some(other) = &bench.fixtures.other_config else {
        bench.not_applicable(NEVER_CROSS, "give --other-setting: one that leads elsewhere");
        return Ok(thing);
    };
    let other = other.context("conformance-other", "1");
    let mut sides = Sides {
        twin: twin(lab, &thing, &other).await?,
        own: thing,
        other,
    };
    sides.in_turn(lab).await?;
    let wishes = Wishes::of(lab);
    let tell = match &wishes {
        // No marker tells the sides apart: their fields must.
        Some(wishes) if !lab.kind.capabilities.holds_marker => sides.made_unlike(lab, wishes).await?,
        _ => None,
    };
    sides.looks_at_once(lab, tell.as_ref()).await?;
    if let Some(wishes) = &wishes {
        if tell.is_some() {
            lab.remove(&sides.twin).await?;
            sides.twin = twin(lab, &sides.own, &sides.other).await?;
        }
        Box::pin(sides.updates_at_once(lab, wishes)).await?;
    }
    lab.remove(&sides.twin).await?;
    let own = sides.look(lab, false).await?;
    bench.judge(NEVER_CROSS, is_own(&own, &sides.own));
    let others = look_of(look_with(lab, &sides.own, sides.other).await)?;
    bench.judge(NEVER_CROSS, absent(&others));
    Ok(sides.own)
}

/// The like of it on the other side, also by its name where that is given.
async fn twin(lab: &Lab, thing: &Thing, other: &wire::ConfigContext) -> Result<Thing, Stop> {
    let mut twin = lab.thing()?.with_config(other.clone());
    if lab.kind.external_name.source == NameSource::User {
        twin = twin.named(thing.name());
    }
    lab.make(&mut twin).await?;
    Ok(twin)
}

/// What an Update changes.
struct Wishes {
    changed: Document,
    pointers: Vec<String>,
}

impl Wishes {
    fn of(lab: &Lab) -> Option<Self> {
        let changed = lab.example.update_parameters.clone()?;
        let before = lab.example.create_parameters.clone().unwrap_or_default();
        let pointers = differences(&before, &changed);
        let is_any = lab.kind.capabilities.can_update && !pointers.is_empty();
        is_any.then_some(Self { changed, pointers })
    }
}

/// By which fields each side is known, where no marker tells.
struct Tell {
    pointers: Vec<String>,
    own: Vec<Option<Value>>,
    twin: Vec<Option<Value>>,
}

struct Sides {
    own: Thing,
    twin: Thing,
    other: wire::ConfigContext,
}

impl Sides {
    fn side(&self, of_twin: bool) -> &Thing {
        if of_twin { &self.twin } else { &self.own }
    }

    async fn look(&self, lab: &Lab, of_twin: bool) -> Result<Look, Stop> {
        lab.look(self.side(of_twin)).await
    }

    async fn in_turn(&self, lab: &Lab) -> Result<(), Stop> {
        for turn in 0..2 * TURNS {
            let of_twin = turn % 2 == 1;
            let look = self.look(lab, of_twin).await?;
            lab.bench.judge(NEVER_CROSS, is_own(&look, self.side(of_twin)));
        }
        Ok(())
    }

    /// Changes the twin. `None`: that cannot be seen.
    async fn made_unlike(&mut self, lab: &Lab, wishes: &Wishes) -> Result<Option<Tell>, Stop> {
        let before = lab.found(&self.own).await?;
        let trail = update(lab, &mut self.twin, wishes).await?;
        if trail.completed("Update").is_err() {
            return Ok(None);
        }
        lab.wait_out_window().await;
        let after = lab.found(&self.twin).await?;
        let is_unlike = |pointer: &&String| {
            let (own, twin) = (at(&before.parameters, pointer), at(&after.parameters, pointer));
            own != twin
        };
        let pointers: Vec<String> = wishes.pointers.iter().filter(is_unlike).cloned().collect();
        Ok((!pointers.is_empty()).then(|| Tell {
            own: values(&before.parameters, &pointers),
            twin: values(&after.parameters, &pointers),
            pointers,
        }))
    }

    async fn looks_at_once(&self, lab: &Lab, tell: Option<&Tell>) -> Result<(), Stop> {
        let looks = (0..2 * TURNS).map(|turn| self.look(lab, turn % 2 == 1));
        for (turn, look) in join_all(looks).await.into_iter().enumerate() {
            let (of_twin, look) = (turn % 2 == 1, look?);
            let judgement = is_own(&look, self.side(of_twin)).and(tell.map_or(Ok(()), |tell| {
                let due = if of_twin { &tell.twin } else { &tell.own };
                shows(&look, &tell.pointers, due)
            }));
            let judgement = judgement.map_err(|seen| format!("looked at once: {seen}"));
            lab.bench.judge(NEVER_CROSS, judgement);
        }
        Ok(())
    }

    /// Both sides are as they were made.
    async fn updates_at_once(&mut self, lab: &Lab, wishes: &Wishes) -> Result<(), Stop> {
        let mut before = Vec::new();
        for of_twin in [false, true] {
            let found = lab.found(self.side(of_twin)).await?;
            before.push(values(&found.parameters, &wishes.pointers));
        }
        let (own, twin) = futures::join!(
            update(lab, &mut self.own, wishes),
            update(lab, &mut self.twin, wishes)
        );
        if ![own?, twin?].iter().all(says_something) {
            return Ok(());
        }
        lab.wait_out_window().await;
        let mut are_changed = Vec::new();
        for (of_twin, before) in [false, true].into_iter().zip(&before) {
            let found = lab.found(self.side(of_twin)).await?;
            are_changed.push(values(&found.parameters, &wishes.pointers) != *before);
        }
        // Where neither is, it is not for the other's sake.
        let judgement = holds(are_changed[0] == are_changed[1], || {
            "of two Updates at once, one for each side, one side shows nothing".to_owned()
        });
        lab.bench.judge(NEVER_CROSS, judgement);
        Ok(())
    }
}

async fn update(lab: &Lab, thing: &mut Thing, wishes: &Wishes) -> Result<Trail, Stop> {
    *thing = thing.clone().with_parameters(&wishes.changed);
    let request = thing.update();
    lab.update(thing, request).await
}

/// It was done, or went to where there is nothing; other failures have reasons of their own.
fn says_something(trail: &Trail) -> bool {
    match trail.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(_)) => true,
        Some(OutcomeResult::Failure(failure)) => failure.code == FailureCode::NotFound,
        _ => false,
    }
}

fn at(document: &Document, pointer: &str) -> Option<Value> {
    Value::Object(document.clone()).pointer(pointer).cloned()
}

fn values(document: &Document, pointers: &[String]) -> Vec<Option<Value>> {
    pointers.iter().map(|pointer| at(document, pointer)).collect()
}

fn shows(look: &Look, pointers: &[String], due: &[Option<Value>]) -> Judgement {
    match look {
        Look::Found(found) => holds(values(&found.parameters, pointers) == due, || {
            "the fields of the other config's resource are found".to_owned()
        }),
        // Judged already.
        Look::Absent(_) | Look::Failed(_) => Ok(()),
    }
}
