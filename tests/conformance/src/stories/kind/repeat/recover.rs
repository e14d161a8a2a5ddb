//! Clearing up a creation whose end nobody knows.

use crossbridge_types::{CreateRecovery, Look};

use super::{ended, honours_token, judge, promises};
use crate::{
    lab::{Lab, Thing},
    verdict::{Stop, Verdict},
};

/// Clears it up as the bridge would, says whether one resource came of it, and removes that.
pub(crate) async fn recover(lab: &Lab, thing: &mut Thing) -> Result<Verdict, Stop> {
    if !promises(lab) {
        lab.remove(thing).await?;
        let why = "the kind declares no recovery: a person is asked";
        return Ok(Verdict::NotApplicable(why.to_owned()));
    }
    let first = lab.kind.capabilities.create_recovery.first().copied();
    let found = if first == Some(CreateRecovery::ClientToken) {
        None
    } else {
        lab.wait_out_window().await;
        match lab.look(thing).await? {
            Look::Found(found) => Some(found.external_name),
            _ => None,
        }
    };
    let mut answers = Vec::new();
    if let Some(name) = found {
        thing.target.external_name = name;
    } else {
        // Once to settle it, once more to see that it is settled.
        for _ in 0..2 {
            let outcome = lab.create_once(thing, true).await?;
            answers.push(ended(lab, thing, outcome).await?);
            lab.wait_out_window().await;
        }
    }
    lab.bench.registry.enter(thing);
    let settled = judge::settled(&answers, thing.name(), honours_token(lab));
    if thing.name().is_empty() {
        lab.remove(thing).await?;
        return Ok(settled.map_or_else(Verdict::Failed, |()| Verdict::Passed));
    }
    let counted = lab.one_and_gone(thing).await?;
    Ok(match settled {
        Ok(()) => counted,
        Err(seen) => Verdict::Failed(seen),
    })
}
