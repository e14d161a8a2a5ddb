//! What an example needs.

use std::{collections::BTreeSet, sync::Arc};

use crossbridge_types::{Example, Kind};

use crate::{run_context::RunContext, verdict::Stop};

/// Those that must exist first, in the order in which they are created.
pub(super) fn requirements(
    run_ctx: &RunContext,
    example: &Example,
) -> Result<Vec<(Arc<Kind>, Example)>, Stop> {
    let mut found: Vec<(Arc<Kind>, Example)> = Vec::new();
    let mut open: Vec<String> = example.requires.clone();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let (kind, example) = name.split_once('/').unwrap_or((&name, ""));
        let needed = run_ctx
            .kinds
            .iter()
            .filter(|known| known.resource_type.kind == kind)
            .find_map(|known| {
                let examples = run_ctx.fixtures.examples_of(known);
                let example = examples.into_iter().find(|known| known.name == example)?;
                Some((Arc::clone(known), example))
            })
            .ok_or_else(|| Stop::blocked(format!("{name:?} is required, and is nowhere")))?;
        open.extend(needed.1.requires.iter().cloned());
        found.insert(0, needed);
    }
    Ok(found)
}
