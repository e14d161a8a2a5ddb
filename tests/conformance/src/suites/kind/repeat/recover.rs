//! Recovery of a creation whose outcome is unknown.

use crossbridge_types::{CreateRecovery, ObserveResult};

use super::{ended, honors_token, judge, promises};
use crate::{
    kind_context::{KindContext, TestResource},
    verdict::{Stop, Verdict},
};

/// Clears it up as the bridge would, reports whether one resource came of it, and removes that.
pub(crate) async fn recover(ctx: &KindContext, resource: &mut TestResource) -> Result<Verdict, Stop> {
    if !promises(ctx) {
        ctx.remove(resource).await?;
        let why = "the kind declares no recovery: a person is asked";
        return Ok(Verdict::NotApplicable(why.to_owned()));
    }
    let first = ctx.kind.capabilities.create_recovery.first().copied();
    let found = if first == Some(CreateRecovery::ClientToken) {
        None
    } else {
        ctx.wait_for_consistency().await;
        match ctx.observe(resource).await? {
            ObserveResult::Found(found) => Some(found.external_name),
            _ => None,
        }
    };
    let mut responses = Vec::new();
    if let Some(name) = found {
        resource.target.external_name = name;
    } else {
        // Once to resolve it, once more to see that it is resolved.
        for _ in 0..2 {
            let outcome = ctx.create_once(resource, true).await?;
            responses.push(ended(ctx, resource, outcome).await?);
            ctx.wait_for_consistency().await;
        }
    }
    ctx.run_ctx.registry.add(resource);
    let settled = judge::settled(&responses, resource.name(), honors_token(ctx));
    if resource.name().is_empty() {
        ctx.remove(resource).await?;
        return Ok(settled.map_or_else(Verdict::Failed, |()| Verdict::Passed));
    }
    let counted = ctx.count_and_delete(resource).await?;
    Ok(match settled {
        Ok(()) => counted,
        Err(seen) => Verdict::Failed(seen),
    })
}
