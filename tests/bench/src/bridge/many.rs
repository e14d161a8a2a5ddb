//! Memory, rest and a restart with many objects.

use std::time::{Duration, Instant};

use bridge_bench::{
    figures::per,
    report::{Notes, Report},
    rows,
};
use kube::api::PatchParams;

use super::{
    Kind,
    objects::{create, size, warm_up, watch},
    phases::rest,
    printed::now_micros,
    subject::Subject,
};
use crate::{board::Board, user};

pub(crate) async fn measure(subject: &mut Subject, kind: Kind, objects: usize, report: &mut Report) {
    let board = watch(subject, kind);
    warm_up(subject, &board, kind).await;
    let mut notes = report.of(subject.side, kind.what, Some(objects));
    subject.rest(kind).await;
    let before = subject.resident_kb();
    let names = user::names("many", objects);
    create(subject, &board, kind, &names).await;
    // Each is observed once more meanwhile: what a burst needs for itself is no longer in use.
    rest(subject, kind, objects, &mut notes).await;
    notes.note(&rows::MEMORY, per(subject.resident_kb() - before, objects));
    let changed = names.last().expect("one object at least");
    restart(subject, &board, kind, objects, changed, &mut notes).await;
}

/// One object is changed while the controller is stopped.
async fn restart(
    subject: &mut Subject,
    board: &Board,
    kind: Kind,
    objects: usize,
    changed: &String,
    notes: &mut Notes<'_>,
) {
    subject.stop_controller().await;
    board
        .api
        .patch(changed, &PatchParams::default(), &size(7))
        .await
        .expect("a change");
    let count = u64::try_from(objects).unwrap_or_default();
    let (observed, known) = (subject.printed.observed(), subject.printed.updates());
    let before = subject.usage(kind).await;
    let (begun, begun_micros) = (Instant::now(), now_micros());
    subject.start_controller();
    board.until_synced(std::slice::from_ref(changed), 2).await;
    let updates = subject.printed.updates();
    // Where the cloud gives the names it is known by none: it is the only one that was updated.
    let first = updates
        .iter()
        .filter(|(name, at)| known.get(*name) != Some(*at))
        .map(|(_, at)| *at)
        .min();
    let first = Duration::from_micros(first.unwrap_or(begun_micros).saturating_sub(begun_micros));
    subject.until_observed(observed + count).await;
    let last = begun.elapsed();
    // The last ones are still to be written.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = subject.usage(kind).await;
    notes.note(&rows::RESTART_FIRST, first.as_secs_f64());
    notes.note(&rows::RESTART_LAST, last.as_secs_f64());
    notes.note(&rows::RESTART_API_SERVER, subject.api_server(&before, &after));
    notes.note(&rows::RESTART_CONTROLLER, after.both_since(&before));
    // One is the Update's.
    notes.note(&rows::RESTART_WRITES, after.writes_since(&before) - 1.0);
}
