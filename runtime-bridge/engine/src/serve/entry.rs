//! One kind in the registry: when its definition is to be inspected.

use std::{sync::Arc, time::Duration};

use bridge_core::back_off::policies;
use tokio::time::Instant;

use super::{DesiredKind, Served};

/// Between two inspections of a definition that is not as it should be, though nothing has told that it changed.
const INSPECT_AGAIN: Duration = Duration::from_secs(15);

/// Writes that are further apart have nothing to do with each other.
const IN_A_ROW: Duration = Duration::from_mins(10);

/// A kind that was accepted.
pub(super) struct Entry {
    pub(super) kind: Arc<DesiredKind>,
    /// Once started it stays, whatever becomes of its definition: its watch follows that by itself.
    pub(super) served: Option<Served>,
    /// Its definition is inspected now.
    pub(super) inspecting: bool,
    /// When to inspect it next for what the definition is or was; `None`: when something changes.
    next: Option<Instant>,
    /// When to inspect it next for who leads: nothing that is found or shown meanwhile makes that needless.
    again: Option<Instant>,
    /// Version at which its definition was found good.
    good: Option<u64>,
    /// Version that the watch of definitions has shown last.
    shown: Option<u64>,
    /// Writes in a row, and the last one.
    writes: u32,
    written: Option<Instant>,
}

impl Entry {
    pub(super) fn new(kind: Arc<DesiredKind>, now: Instant) -> Self {
        Self {
            kind,
            served: None,
            inspecting: false,
            next: Some(now),
            again: None,
            good: None,
            shown: None,
            writes: 0,
            written: None,
        }
    }

    /// When to inspect it next; `None`: when something changes, or it is inspected now.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.inspecting {
            return None;
        }
        self.next.into_iter().chain(self.again).min()
    }

    /// Who leads has changed: it is to be inspected, whatever was found.
    pub(super) fn recheck(&mut self, now: Instant) {
        self.again = Some(self.earliest(now));
    }

    fn inspect_soon(&mut self, now: Instant) {
        let earliest = self.earliest(now);
        self.next = Some(self.next.map_or(earliest, |next| next.min(earliest)));
    }

    fn earliest(&self, now: Instant) -> Instant {
        let pause = match self.writes {
            0 => Duration::ZERO,
            writes => policies::DEFINITION.wait(writes, 0.0),
        };
        self.written.map_or(now, |written| now.max(written + pause))
    }

    /// The watch of definitions shows it at this version, or not at all. `true`: it was deleted.
    pub(super) fn shows(&mut self, version: Option<u64>, now: Instant) -> bool {
        if version == self.shown {
            return false;
        }
        self.shown = version;
        match version {
            Some(version) if self.good.is_some_and(|good| version <= good) => {
                // What was found is what the watch shows: there is nothing to wait for.
                self.next = None;
                false
            }
            Some(_) => {
                self.inspect_soon(now);
                false
            }
            None => {
                self.good = None;
                self.next = Some(now + INSPECT_AGAIN);
                true
            }
        }
    }

    /// It was found good at this version.
    pub(super) fn found_good(&mut self, version: u64, written: bool, now: Instant) {
        self.inspecting = false;
        self.good = Some(version);
        if written {
            let in_a_row = self.written.is_some_and(|last| now < last + IN_A_ROW);
            self.writes = if in_a_row {
                self.writes.saturating_add(1)
            } else {
                1
            };
            self.written = Some(now);
        }
        match self.shown {
            Some(shown) if shown > version => self.inspect_soon(now),
            Some(shown) if shown == version => self.next = None,
            // It may be deleted before the watch shows it, which nothing would tell.
            _ => self.next = Some(now + INSPECT_AGAIN),
        }
    }

    /// It is not as it should be.
    pub(super) fn found_bad(&mut self, now: Instant) {
        self.inspecting = false;
        self.good = None;
        let again = now + INSPECT_AGAIN;
        self.next = Some(self.next.map_or(again, |next| next.min(again)));
    }

    /// An inspection begins.
    pub(super) fn begin(&mut self) {
        self.inspecting = true;
        (self.next, self.again) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(now: Instant) -> Entry {
        let kind = DesiredKind {
            name: "Note".to_owned(),
            source: "plugin".to_owned(),
            crd: json!({}),
            controller: None,
        };
        let mut entry = Entry::new(Arc::new(kind), now);
        entry.begin();
        entry
    }

    fn after(entry: &Entry, now: Instant) -> Option<u64> {
        entry.due().map(|due| (due - now).as_secs())
    }

    #[test]
    fn a_good_definition_is_inspected_when_it_changes() {
        let now = Instant::now();
        let mut entry = entry(now);
        entry.found_good(7, true, now);
        assert_eq!(after(&entry, now), Some(15), "the watch has not shown it yet");
        assert!(!entry.shows(Some(7), now));
        assert_eq!(after(&entry, now), None, "our own write is no news");
        assert!(!entry.shows(Some(8), now));
        assert_eq!(after(&entry, now), Some(1));
    }

    #[test]
    fn a_deleted_definition_is_inspected_after_a_while() {
        let now = Instant::now();
        let mut entry = entry(now);
        assert!(!entry.shows(None, now), "it was never there");
        entry.found_good(7, false, now);
        assert!(!entry.shows(None, now), "the watch is behind what was found");
        entry.shows(Some(7), now);
        assert!(entry.shows(None, now));
        assert_eq!(after(&entry, now), Some(15));
    }

    #[test]
    fn who_begins_to_lead_during_an_inspection_inspects_again() {
        let now = Instant::now();
        let mut entry = entry(now);
        entry.recheck(now);
        assert_eq!(after(&entry, now), None, "one inspection at a time");
        entry.found_good(7, false, now);
        assert!(!entry.shows(Some(7), now));
        assert_eq!(after(&entry, now), Some(0));
        entry.begin();
        entry.found_good(7, false, now);
        assert_eq!(after(&entry, now), None);
    }

    #[test]
    fn who_writes_against_another_writer_does_so_less_and_less_often() {
        let now = Instant::now();
        let mut entry = entry(now);
        let mut pauses = Vec::new();
        for version in [10, 20, 30, 40] {
            entry.found_good(version, true, now);
            entry.shows(Some(version + 1), now);
            pauses.push(after(&entry, now).unwrap());
            entry.begin();
        }
        assert_eq!(pauses, [1, 2, 4, 8]);
        let later = now + IN_A_ROW;
        entry.found_good(50, true, later);
        entry.shows(Some(51), later);
        assert_eq!(after(&entry, later), Some(1));
    }
}
