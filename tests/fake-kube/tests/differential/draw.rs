//! What a sequence consists of, drawn from its seed before it begins.

use serde_json::{Map, Value, json};

use super::kinds::KINDS;

pub const NAMES: [&str; 3] = ["a", "b", "c"];

/// What a request holds of the object that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// It was read just now.
    Newest,
    /// As it was first seen.
    First,
    /// Read just now; its version is left out.
    NoVersion,
    /// Read just now, with the uid of another object.
    OtherUid,
}

/// One step of a sequence: a request of one object, of all, or of the namespace.
#[derive(Debug, Clone)]
pub enum Step {
    Create(&'static str, Value),
    /// Of the object, or of its status.
    Put(&'static str, Base, bool, Vec<(String, Value)>),
    MergePatch(&'static str, bool, Value),
    /// Whether it tests the uid first, and which.
    JsonPatch(&'static str, bool, Option<Base>, Value),
    Delete(&'static str, Option<Base>, &'static str),
    DeleteStatus(&'static str),
    Get(&'static str, bool),
    List,
    /// The namespace is deleted, and nothing new comes into it.
    EndNamespace,
    /// It is deleted, and finalised by force: what is in it stays.
    DropNamespace,
}

/// A sequence: its kind, and what happens.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub plural: &'static str,
    pub kind: &'static str,
    pub steps: Vec<Step>,
}

/// A small generator of its own, so that a seed means the same for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Fields of every schema, any of which a request may set to anything.
const FIELDS: [&str; 20] = [
    "size", "ratio", "flag", "word", "colour", "maybe", "perhaps", "choice", "either", "words", "holes",
    "items", "map", "objects", "nested", "given", "free", "any", "frees", "unknown",
];

/// Values that keep a field's type, but for what the API server changes in them.
fn fitting(random: &mut Random, field: &str) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(1.0),
        json!(-3.0),
        json!(2.5),
        json!(1e3),
        json!(1e20),
        json!(1e21),
        json!(1e-7),
        json!(-0.0),
        json!(1e300),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_i64),
        json!(0.1),
    ];
    let whole = [json!(0), json!(7), json!(7.0), json!(3e2), json!(-2)];
    match field {
        "size" => random.one_of(&whole),
        "ratio" => random.one_of(&numbers),
        "flag" => json!(random.happens(50)),
        "choice" => random.one_of(&[json!("a"), json!("b")]),
        "either" => random.one_of(&[json!("10%"), json!(10), json!(10.0)]),
        "words" => random.one_of(&[json!([]), json!(["a"]), json!(["a", ""]), json!(["a", "b", "c"])]),
        "holes" => json!([random.one_of(&numbers), null, 1.0]),
        "items" => random.one_of(&[
            json!([]),
            json!([{}]),
            json!([{"x": null, "y": null, "z": 1}]),
            json!([{"x": 2.0, "y": "q"}, {"y": null}]),
        ]),
        "map" => json!({"k": random.one_of(&numbers), "null": null}),
        "objects" => random.one_of(&[
            json!({"k": {}}),
            json!({"k": {"x": null, "u": 1}, "l": null}),
            json!({"k": {"x": 2.0}}),
            json!({}),
        ]),
        "nested" | "given" => random.one_of(&[
            json!({}),
            json!({"a": null}),
            json!({"a": 4.0, "u": 1}),
            json!({"deep": {"b": 1.0, "c": null}}),
            json!({"deep": null}),
            json!({"deep": {}}),
        ]),
        "free" => random.one_of(&[
            json!({}),
            json!({"u": null, "v": {"w": null, "x": 1.0}}),
            json!({"known": {"a": 1.0, "b": 2}}),
            json!({"known": null, "l": [null, 1.0, {"n": null}]}),
        ]),
        "any" | "unknown" => random.one_of(&[
            json!(1.0),
            json!("text"),
            json!([1.0, null, {"a": null}]),
            json!({"a": {"b": null}}),
            json!(true),
            json!({}),
        ]),
        "frees" => random.one_of(&[
            json!([]),
            json!([{"size": 1.0, "u": null}]),
            json!([{"v": {"w": 1.0}}]),
        ]),
        _ => random.one_of(&[json!("a"), json!(""), json!("red"), json!("longer")]),
    }
}

fn value(random: &mut Random, field: &str) -> Value {
    match random.below(100) {
        0..=12 => Value::Null,
        13..=16 => random.one_of(&[
            json!("text"),
            json!(1.5),
            json!([1]),
            json!({"a": 1}),
            json!(true),
            json!([null]),
        ]),
        _ => fitting(random, field),
    }
}

fn half(random: &mut Random) -> Value {
    let mut fields = Map::new();
    for _ in 0..random.below(6) {
        let field = random.one_of(&FIELDS);
        let value = value(random, field);
        fields.insert(field.to_owned(), value);
    }
    // Without it a strict object is rejected.
    if random.happens(85) {
        fields.entry("size").or_insert(json!(1));
    }
    Value::Object(fields)
}

fn metadata(random: &mut Random) -> Value {
    let mut metadata = json!({});
    if random.happens(40) {
        metadata["finalizers"] = random.one_of(&[
            json!(["example.org/a"]),
            json!(["example.org/a", "example.org/b"]),
            json!([]),
            json!(null),
        ]);
    }
    if random.happens(25) {
        metadata["labels"] = random.one_of(&[
            json!({"a": "b"}),
            json!({"a": "not valid"}),
            json!({}),
            json!(null),
            json!({"a": null}),
            json!({"a": 1}),
        ]);
    }
    if random.happens(25) {
        metadata["annotations"] = random.one_of(&[
            json!({"example.org/a": "b"}),
            json!({"a b": "c"}),
            json!({"e": ""}),
            json!({}),
        ]);
    }
    if random.happens(8) {
        let (field, value) = random.one_of(&[
            ("generation", json!(7)),
            ("uid", json!("other")),
            ("deletionTimestamp", json!("2020-01-01T00:00:00Z")),
            ("creationTimestamp", json!("2020-01-01T00:00:00Z")),
            ("unknown", json!(1)),
            ("creationTimestamp", json!(null)),
        ]);
        metadata[field] = value;
    }
    metadata
}

fn object(random: &mut Random) -> Value {
    let mut object = json!({"metadata": metadata(random), "spec": half(random)});
    if random.happens(40) {
        object["status"] = half(random);
    }
    if random.happens(8) {
        object["spec"] = random.one_of(&[json!(null), json!("text"), json!([])]);
    }
    if random.happens(10) {
        object["extra"] = json!({"a": 1});
    }
    object
}

/// Pointers and values of what changes; null takes it away or writes a null.
fn changes(random: &mut Random) -> Vec<(String, Value)> {
    let mut changes = Vec::new();
    for _ in 0..random.below(4) {
        let half = random.one_of(&["spec", "status"]);
        let field = random.one_of(&FIELDS);
        changes.push((format!("/{half}/{field}"), value(random, field)));
    }
    if random.happens(25) {
        for (field, value) in metadata(random).as_object().unwrap() {
            changes.push((format!("/metadata/{field}"), value.clone()));
        }
    }
    if random.happens(6) {
        changes.push(("/status".to_owned(), Value::Null));
    }
    changes
}

fn merge(random: &mut Random) -> Value {
    let mut patch = json!({});
    for half in ["spec", "status"] {
        for _ in 0..random.below(3) {
            let field = random.one_of(&FIELDS);
            patch[half][field] = value(random, field);
        }
    }
    if random.happens(30) {
        patch["metadata"] = metadata(random);
    }
    patch
}

fn operations(random: &mut Random) -> Value {
    let mut operations = Vec::new();
    for _ in 0..=random.below(2) {
        let half = random.one_of(&["spec", "status"]);
        let field = random.one_of(&FIELDS);
        let path = format!("/{half}/{field}");
        operations.push(match random.below(4) {
            0 => json!({"op": "remove", "path": path}),
            1 => json!({"op": "replace", "path": path, "value": value(random, field)}),
            2 => json!({"op": "add", "path": path, "value": value(random, field)}),
            _ => json!({"op": "remove", "path": "/metadata/finalizers/0"}),
        });
    }
    json!(operations)
}

fn step(random: &mut Random) -> Step {
    let name = random.one_of(&NAMES);
    let status = random.happens(50);
    let bases = [
        Base::Newest,
        Base::Newest,
        Base::Newest,
        Base::Newest,
        Base::Newest,
        Base::First,
        Base::NoVersion,
        Base::OtherUid,
    ];
    match random.below(100) {
        0..=19 => Step::Create(name, object(random)),
        20..=49 => Step::Put(name, random.one_of(&bases), status, changes(random)),
        50..=61 => Step::MergePatch(name, status, merge(random)),
        62..=73 => {
            let test = random.one_of(&[None, Some(Base::Newest), Some(Base::OtherUid)]);
            Step::JsonPatch(name, status, test, operations(random))
        }
        74..=85 => {
            let base = random.one_of(&[
                None,
                None,
                Some(Base::Newest),
                Some(Base::First),
                Some(Base::OtherUid),
            ]);
            Step::Delete(
                name,
                base,
                random.one_of(&["", "", "", "Background", "Orphan", "Foreground"]),
            )
        }
        86 => Step::DeleteStatus(name),
        87..=93 => Step::Get(name, status),
        94..=97 => Step::List,
        98 => Step::EndNamespace,
        _ => Step::DropNamespace,
    }
}

pub fn steps(seed: u64) -> Sequence {
    let mut random = Random(seed);
    let (plural, kind) = random.one_of(&KINDS);
    let count = 8 + random.below(20);
    let mut steps: Vec<Step> = NAMES[..2]
        .iter()
        .map(|name| Step::Create(name, object(&mut random)))
        .collect();
    steps.extend((0..count).map(|_| step(&mut random)));
    Sequence { plural, kind, steps }
}
