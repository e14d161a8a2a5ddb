//! What is done to few objects, and what of it is noted.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bridge_bench::{
    figures::per,
    report::{Notes, Report},
    rows,
};
use kube::api::PatchParams;

use super::{
    Kind,
    objects::{PACE, PACED, bytes, create, create_paced, size, warm_up, watch},
    printed::now_micros,
    subject::{Subject, Usage},
};
use crate::{
    board::Board,
    managed::GRACE,
    user::{self, delete, names},
};

/// For how long what is at rest is watched.
const REST: Duration = Duration::from_secs(30);

/// Creation in a burst and at a pace, changes, and deletion of what is old and of what is fresh.
pub(crate) async fn lives(subject: &mut Subject, kind: Kind, objects: usize, report: &mut Report) {
    let board = watch(subject, kind);
    warm_up(subject, &board, kind).await;
    let mut notes = report.of(subject.side, kind.what, None);
    let (api_server, controller) = subject.rest(kind).await;
    notes.note(&rows::REST_API_SERVER, api_server * 1000.0);
    notes.note(&rows::REST_CONTROLLER, controller * 1000.0);

    let paced = names("paced", PACED);
    notes.note_all(&rows::PACED, create_paced(subject, &board, kind, &paced).await);
    delete(&board, &paced).await;

    let names = names("burst", objects);
    let before = subject.usage(kind).await;
    notes.note_all(&rows::BURST, create(subject, &board, kind, &names).await);
    let created = subject.usage(kind).await;
    notes.note(&rows::SIZE, f64_of(bytes(&board, &names[0]).await) / 1000.0);

    tokio::time::sleep(GRACE).await;
    changes(subject, &board, kind, &names, &mut notes).await;

    let resting = subject.usage(kind).await;
    let seconds = delete(&board, &names).await;
    let deleted = subject.usage(kind).await;
    notes.note(&rows::DRAIN, f64_of(objects) / seconds);
    note_lives(
        subject,
        kind,
        objects,
        [(&before, &created), (&resting, &deleted)],
        &mut notes,
    );

    let fresh = user::names("fresh", objects);
    create(subject, &board, kind, &fresh).await;
    let seconds = delete(&board, &fresh).await;
    notes.note(&rows::DRAIN_FRESH, f64_of(objects) / seconds);
}

/// What a poll costs that finds nothing new, and what is written meanwhile.
pub(crate) async fn rest(subject: &Subject, kind: Kind, objects: usize, notes: &mut Notes<'_>) {
    // The first observation after a creation may come sooner than the others.
    let count = u64::try_from(objects).unwrap_or_default();
    subject.until_observed(subject.printed.observed() + count).await;
    let (before, observed) = (subject.usage(kind).await, subject.printed.observed());
    tokio::time::sleep(REST).await;
    let (after, observed) = (subject.usage(kind).await, subject.printed.observed() - observed);
    let polls = usize::try_from(observed).unwrap_or_default();
    let each = |seconds: f64| per(seconds * 1000.0, polls);
    notes.note(&rows::POLL_CONTROLLER, each(after.both_since(&before)));
    notes.note(&rows::POLL_PLUGIN, each(after.plugin - before.plugin));
    notes.note(&rows::POLL_API_SERVER, each(subject.api_server(&before, &after)));
    notes.note(&rows::POLL_WRITES, per(after.writes_since(&before), polls));
}

/// From the user's request that changes the spec until the Update reaches the cloud.
async fn changes(subject: &Subject, board: &Board, kind: Kind, names: &[String], notes: &mut Notes<'_>) {
    let changed = &names[..names.len().min(PACED)];
    let mut tick = tokio::time::interval(PACE);
    let mut took = Vec::new();
    let before = subject.usage(kind).await;
    for name in changed {
        tick.tick().await;
        let known = subject.printed.updates();
        let sent = now_micros();
        let patched = board.api.patch(name, &PatchParams::default(), &size(2)).await;
        patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
        // Nothing else is changed meanwhile: the update that was not there before is this one.
        let arrived = eventually_new(subject, &known).await;
        let took_micros = Duration::from_micros(arrived.saturating_sub(sent));
        took.push(took_micros.as_secs_f64() * 1000.0);
    }
    board.until_synced(changed, 2).await;
    let after = subject.usage(kind).await;
    notes.note_all(&rows::CHANGE, took);
    let own = after.writes_since(&before) - f64_of(changed.len());
    notes.note(&rows::CHANGE_WRITES, per(own, changed.len()));
}

async fn eventually_new(subject: &Subject, known: &HashMap<String, u64>) -> u64 {
    let begun = Instant::now();
    loop {
        let new = subject.printed.updates();
        if let Some(at) = new
            .iter()
            .find_map(|(name, at)| (!known.contains_key(name)).then_some(*at))
        {
            return at;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "no Update has come");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Of creation and deletion together, without the writes of the user's own two requests.
fn note_lives(
    subject: &Subject,
    kind: Kind,
    objects: usize,
    spans: [(&Usage, &Usage); 2],
    notes: &mut Notes<'_>,
) {
    let each = |of: &dyn Fn(&Usage, &Usage) -> f64| {
        let sum: f64 = spans.iter().map(|(from, to)| of(from, to)).sum();
        per(sum, objects)
    };
    let writes = each(&|from, to| to.writes_since(from));
    notes.note(kind.writes, writes - 2.0);
    notes.note(&rows::EVENTS, each(&|from, to| to.events_since(from)));
    let thousand = |of: &dyn Fn(&Usage, &Usage) -> f64| each(of) * 1000.0;
    notes.note(
        &rows::LIFE_API_SERVER,
        thousand(&|from, to| subject.api_server(from, to)),
    );
    notes.note(&rows::LIFE_CONTROLLER, thousand(&|from, to| to.both_since(from)));
    notes.note(&rows::LIFE_PLUGIN, thousand(&|from, to| to.plugin - from.plugin));
}

pub(crate) fn f64_of(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}
