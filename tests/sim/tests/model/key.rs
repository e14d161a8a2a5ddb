//! When are two states the same? When they print alike, with times counted from now and made-up names counted in the order in which they appear.

use std::{
    collections::HashMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hasher as _},
    ops::Range,
};

use bridge_core::{
    driver::Effect,
    managed::{ReconcileMemory, Snapshot},
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    bridge::{Bridge, Driver, Phase},
    etcd::Object,
    nominal_schedule::NominalSchedule,
    reference_model::Model,
};

/// Of what is older only the order counts: a look is good for a minute, and nothing counts for longer than half of one before a look.
pub const OLD: SignedDuration = SignedDuration::from_secs(-95);

/// Words that the model makes up, each with a number behind it.
const MADE_UP: &[&str] = &[
    "token", "question", "cloud", "create", "update", "uid", "id", "rv",
];

/// What tells this state from others, as 128 bits.
pub fn key(course: &NominalSchedule) -> u128 {
    let mut text = String::with_capacity(16 * 1024);
    course.describe(&mut text);
    hash(&text, course.model.now)
}

impl NominalSchedule {
    fn describe(&self, text: &mut String) {
        let (choices, uttered, wait_limit) = (&self.choices, self.uttered, self.wait_limit);
        let _ = write!(
            text,
            "{uttered} {wait_limit} {} {} ",
            choices.blips, choices.may_blip
        );
        self.model.describe(text);
    }
}

impl Model {
    fn describe(&self, text: &mut String) {
        let suspension = self
            .suspension
            .as_ref()
            .filter(|suspension| suspension.until > self.now);
        let identity = self.config.as_ref().map(|config| &config.identity);
        let _ = write!(
            text,
            "{identity:?} {suspension:?} {:?} {:?} {} {} ",
            self.sensitive, self.secret.0, self.secret_missing, self.watcher.late_update
        );
        self.describe_object(text);
        if let Some(lane) = &self.second {
            let newest = lane.etcd.object.as_ref();
            let _ = write!(text, "{:?} {newest:?} {:?} ", self.claims, lane.etcd.gone);
            let _ = write!(text, "{:?} ", lane.paused_since);
            for bridge in &lane.bridges {
                bridge.describe(text, newest, self.now);
            }
        }
        let _ = write!(text, "{:?} {:?} ", self.flights, self.late_writes);
        self.watcher.replacements.describe(text, &self.cloud.objects);
        self.cloud.describe(text, self.now);
    }

    fn describe_object(&self, text: &mut String) {
        let newest = self.etcd.object.as_ref();
        let _ = write!(
            text,
            "{newest:?} {:?} {:?} ",
            self.etcd.gone,
            self.watcher.paused_since()
        );
        for bridge in &self.bridges {
            bridge.describe(text, newest, self.now);
        }
    }
}

impl Bridge {
    fn describe(&self, text: &mut String, newest: Option<&Object>, now: Timestamp) {
        let stalled = self.stalled_until.filter(|until| *until > now);
        let _ = write!(
            text,
            "{} {} {} {:?} {stalled:?} ",
            self.leads, self.dirty, self.uid, self.lags_until
        );
        if self.store.as_ref() == newest {
            text.push_str("newest ");
        } else {
            let _ = write!(text, "{:?} ", self.store);
        }
        let _ = write!(text, "{} ", self.memory.is_of_term(self.term));
        memory(text, &self.memory);
        match &self.phase {
            Phase::Resting(wake) => {
                let _ = write!(text, "resting {wake:?} ");
            }
            Phase::Running(running) => driver(text, running, self.store.as_ref()),
            Phase::Waiting(wait) => {
                driver(text, &wait.driver, self.store.as_ref());
                let _ = write!(text, "{:?} {:?} ", wait.until, wait.answer);
            }
        }
        let _ = write!(text, "{:?} ", self.dies);
    }
}

/// Where a reconcile is: what it was decided from, what is done, and upon which version.
fn driver(text: &mut String, driver: &Driver, store: Option<&Object>) {
    if let Some(snapshot) = driver.snapshot() {
        self::snapshot(text, snapshot, store);
    }
    let _ = write!(text, "{:?} {:?} ", driver.began(), driver.answer());
    match driver.effect() {
        Effect::Begin { object, action } | Effect::Perform { object, action } => {
            version(text, object, store);
            let _ = write!(text, "{action:?} ");
        }
        Effect::Persist { object, action, .. } => {
            version(text, object, store);
            let _ = write!(text, "{action:?} persists ");
        }
        other => {
            let _ = write!(text, "{other:?} {:?} ", driver.action());
        }
    }
}

fn version(text: &mut String, object: &Object, store: Option<&Object>) {
    if store == Some(object) {
        text.push_str("as stored ");
    } else {
        let _ = write!(text, "{object:?} ");
    }
}

fn memory(text: &mut String, memory: &ReconcileMemory) {
    // Which time of leading it is does not matter, only whether it is the present one.
    let _ = write!(text, "{:?} ", memory.without_term());
    // Secrets do not print themselves.
    for value in memory.connection_details().0.values() {
        let _ = write!(text, "{} ", String::from_utf8_lossy(value));
    }
}

/// What a process has gathered, as far as worlds differ within one search.
fn snapshot(text: &mut String, snapshot: &Snapshot, store: Option<&Object>) {
    if store.is_some_and(|store| store.managed == snapshot.managed) {
        text.push_str("as stored ");
    } else {
        let _ = write!(text, "{:?} ", snapshot.managed);
    }
    let desired = snapshot
        .desired
        .as_ref()
        .map(|desired| (&desired.digest, &desired.sensitive_digest));
    let identity = snapshot.config.as_ref().map(|config| &config.identity);
    let _ = write!(
        text,
        "{desired:?} {identity:?} {:?} {} {:?} ",
        snapshot.suspension, snapshot.may_act, snapshot.now
    );
}

enum Part {
    Text(Range<usize>),
    Time(Timestamp),
    MadeUp(Range<usize>),
}

fn hash(text: &str, now: Timestamp) -> u128 {
    let parts = parts(text);
    let mut old: Vec<Timestamp> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Time(time) if time.duration_since(now) < OLD => Some(*time),
            _ => None,
        })
        .collect();
    old.sort_unstable();
    old.dedup();
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    hashers[1].write_u8(1);
    let mut put = |tag: u8, bytes: &[u8]| {
        for hasher in &mut hashers {
            hasher.write_u8(tag);
            hasher.write(bytes);
        }
    };
    let mut names = HashMap::new();
    for part in parts {
        match part {
            Part::Text(range) => put(0, &text.as_bytes()[range]),
            Part::Time(time) => match old.binary_search(&time) {
                Ok(rank) => put(1, &rank.to_le_bytes()),
                Err(_) => put(2, &time.duration_since(now).as_nanos().to_le_bytes()),
            },
            Part::MadeUp(range) => {
                let next = names.len();
                let number: usize = *names.entry(&text[range]).or_insert(next);
                put(3, &number.to_le_bytes());
            }
        }
    }
    let [one, other] = hashers.map(|hasher| u128::from(hasher.finish()));
    one << 64 | other
}

fn parts(text: &str) -> Vec<Part> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while at < bytes.len() {
        let word = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let found = match bytes[at] {
            b'0'..=b'9' => time(text, at).or_else(|| generation(text, at)),
            b'a'..=b'z' if word => made_up(text, at),
            _ => None,
        };
        match found {
            Some((end, part)) => {
                parts.push(Part::Text(begun..at));
                parts.extend(part);
                (begun, at) = (end, end);
            }
            None => at += 1,
        }
    }
    parts.push(Part::Text(begun..bytes.len()));
    parts
}

/// Times that only people read.
const FOR_PEOPLE: &[&str] = &[
    "last_transition_time: ",
    "deletion: Some(",
    "since: ",
    "begun at ",
    // Tokens are retained for ever where states are compared.
    "started_at: ",
    "startedAt\\\":\\\"",
];

fn time(text: &str, at: usize) -> Option<(usize, Option<Part>)> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= at + 20 && bytes[at + 4] == b'-' && bytes[at + 10] == b'T';
    if !shaped {
        return None;
    }
    let end = at + bytes[at..].iter().position(|byte| *byte == b'Z')? + 1;
    let time = text[at..end].parse().ok()?;
    let read = FOR_PEOPLE.iter().any(|before| text[..at].ends_with(before));
    Some((end, (!read).then_some(Part::Time(time))))
}

/// Only whether two are the same counts.
fn generation(text: &str, at: usize) -> Option<(usize, Option<Part>)> {
    let digits = text.as_bytes()[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let before = &text[..at];
    let named = before.ends_with("generation: ")
        || before.ends_with("eneration\\\":")
        || before.ends_with("approve-replacement\": \"");
    named.then(|| (at + digits, Some(Part::MadeUp(at..at + digits))))
}

fn made_up(text: &str, at: usize) -> Option<(usize, Option<Part>)> {
    let bytes = text.as_bytes();
    let letters = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    if !MADE_UP.contains(&&text[at..at + letters]) || bytes.get(at + letters) != Some(&b'-') {
        return None;
    }
    let from = at + letters + 1;
    let rest = bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let end = from + rest;
    (rest > 0).then_some((end, Some(Part::MadeUp(at..end))))
}

#[test]
fn times_count_from_now_and_names_in_their_order() {
    let now: Timestamp = "2026-11-21T12:00:00Z".parse().expect("a time");
    let later = now + SignedDuration::from_mins(1);
    let one = hash("token-3 by uid-1 at 2026-11-21T12:00:05Z, token-3, token-4", now);
    let other = hash(
        "token-7 by uid-2 at 2026-11-21T12:01:05Z, token-7, token-1",
        later,
    );
    assert_eq!(one, other);
    let swapped = hash(
        "token-7 by uid-2 at 2026-11-21T12:01:05Z, token-1, token-7",
        later,
    );
    assert_ne!(one, swapped);
    let sooner = hash(
        "token-7 by uid-2 at 2026-11-21T12:01:04Z, token-7, token-1",
        later,
    );
    assert_ne!(one, sooner);
    let old = |first: &str, second: &str| hash(&format!("2026-11-21T{first}Z 2026-11-21T{second}Z"), now);
    assert_eq!(old("08:00:00", "09:00:00"), old("08:00:00", "08:00:01"));
    assert_ne!(old("08:00:00", "09:00:00"), old("09:00:00", "08:00:00"));
}
