//! Changes of an input: of its bytes, and of its values where it is JSON.

use fastrand::Rng;
use serde_json::{Map, Number, Value};

/// What parsers stumble over.
const WORDS: [&str; 22] = [
    "",
    "\0",
    "\n",
    "\u{1b}[2J",
    "\u{feff}",
    "\u{202e}",
    "é",
    "..",
    "/",
    "~1",
    "null",
    "true",
    "-1",
    "9223372036854775808",
    "1e400",
    "0.1",
    "NaN",
    "9999-12-31T23:59:59Z",
    "-009999-01-01T00:00:00Z",
    "999999999h",
    "*",
    "a.b",
];
/// How deep a value is wrapped at once: beyond the contract's limit of 64 and `serde_json`'s of 128.
const DEPTHS: [usize; 5] = [1, 2, 63, 64, 130];
/// How often a text or a list is repeated at once.
const TIMES: [usize; 4] = [2, 8, 64, 1025];

/// Changes inputs of one target.
pub(crate) struct Mutator<'a> {
    rng: &'a mut Rng,
    words: &'a [&'a str],
    longest: usize,
}

impl<'a> Mutator<'a> {
    /// `words`: those of the target; `longest`: of an input, in bytes.
    pub(crate) fn new(rng: &'a mut Rng, words: &'a [&'a str], longest: usize) -> Self {
        Self { rng, words, longest }
    }

    /// One to four changes of `input`; `other` is another input, parts of which may be taken.
    pub(crate) fn mutated(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut input = input.to_vec();
        for _ in 0..self.rng.usize(1..=4) {
            let parsed = serde_json::from_slice::<Value>(&input)
                .ok()
                .filter(|_| self.rng.u8(..10) < 8);
            input = match parsed {
                Some(mut value) => {
                    let other = serde_json::from_slice(other).unwrap_or(Value::Null);
                    self.change_value(&mut value, &other);
                    value.to_string().into_bytes()
                }
                None => self.change_bytes(input, other),
            };
            input.truncate(self.longest);
        }
        input
    }

    fn word(&mut self) -> String {
        let known = self.rng.usize(..WORDS.len() + self.words.len());
        let word = WORDS.get(known).or_else(|| self.words.get(known - WORDS.len()));
        (*word.unwrap_or(&"")).to_owned()
    }

    fn change_bytes(&mut self, mut input: Vec<u8>, other: &[u8]) -> Vec<u8> {
        let at = self.rng.usize(..=input.len());
        let end = (at + self.rng.usize(..=16)).min(input.len());
        match self.rng.u8(..8) {
            0 => drop(input.drain(at..end)),
            1 => drop(input.splice(at..at, self.word().into_bytes())),
            2 => drop(input.splice(at..end, self.word().into_bytes())),
            3 => {
                let from = self.rng.usize(..=other.len());
                let to = (from + self.rng.usize(..=64)).min(other.len());
                drop(input.splice(at..at, other[from..to].to_vec()));
            }
            4 => {
                let times = self.one_of(&TIMES);
                let part = input[at..end].repeat(times);
                drop(input.splice(at..at, part));
            }
            5 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.rng.u8(..8);
                }
            }
            6 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.rng.u8(..);
                }
            }
            _ => input.truncate(at),
        }
        input
    }

    /// Changes one value somewhere below.
    fn change_value(&mut self, value: &mut Value, other: &Value) {
        let goes_deeper = self.rng.u8(..10) < 8;
        match value {
            Value::Array(items) if goes_deeper && !items.is_empty() => {
                let at = self.rng.usize(..items.len());
                self.change_value(&mut items[at], other);
            }
            Value::Object(fields) if goes_deeper && !fields.is_empty() => {
                let at = self.rng.usize(..fields.len());
                if let Some(field) = fields.values_mut().nth(at) {
                    self.change_value(field, other);
                }
            }
            Value::Array(items) if self.rng.bool() => self.change_items(items, other),
            Value::Object(fields) if self.rng.bool() => self.change_fields(fields, other),
            Value::String(text) if self.rng.u8(..4) > 0 => self.change_text(text, other),
            value => self.replace(value, other),
        }
    }

    fn change_items(&mut self, items: &mut Vec<Value>, other: &Value) {
        let at = self.rng.usize(..=items.len());
        match items.get(at).cloned() {
            Some(item) if self.rng.bool() => {
                let times = self
                    .one_of(&TIMES)
                    .min(self.longest / (item.to_string().len() + 1) + 1);
                drop(items.splice(at..at, std::iter::repeat_n(item, times)));
            }
            Some(_) if self.rng.bool() => drop(items.remove(at)),
            _ => items.insert(at, self.part_of(other)),
        }
    }

    fn change_fields(&mut self, fields: &mut Map<String, Value>, other: &Value) {
        let name = match fields.len() {
            0 => String::new(),
            fields_there => {
                let at = self.rng.usize(..fields_there);
                fields.keys().nth(at).cloned().unwrap_or_default()
            }
        };
        match self.rng.u8(..3) {
            0 => drop(fields.remove(&name)),
            1 => {
                let value = fields.remove(&name).unwrap_or(Value::Null);
                fields.insert(self.word(), value);
            }
            _ => {
                let value = self.part_of(other);
                fields.insert(self.word(), value);
            }
        }
    }

    /// A text may itself be JSON, as documents of the contract and annotations are.
    fn change_text(&mut self, text: &mut String, other: &Value) {
        if let Ok(mut inner) = serde_json::from_str::<Value>(text)
            && (inner.is_object() || inner.is_array())
            && self.rng.u8(..4) > 0
        {
            self.change_value(&mut inner, other);
            *text = inner.to_string();
            return;
        }
        match self.rng.u8(..4) {
            0 => *text = self.word(),
            1 => text.push_str(&self.word()),
            2 => {
                let times = self.one_of(&TIMES).min(self.longest / (text.len() + 1) + 1);
                *text = text.repeat(times);
            }
            _ => {
                let bytes = self.change_bytes(std::mem::take(text).into_bytes(), b"");
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }

    fn replace(&mut self, value: &mut Value, other: &Value) {
        *value = match self.rng.u8(..8) {
            0 => Value::Null,
            1 => Value::Bool(self.rng.bool()),
            2 => Value::from(self.one_of(&[0, 1, -1, i64::MAX, i64::MIN, 4097, 1 << 32])),
            3 => Number::from_f64(self.one_of(&[0.5, 1e300, -0.0, 5e-324, 9_007_199_254_740_992.0]))
                .map_or(Value::Null, Value::Number),
            4 => Value::String(self.word()),
            5 => {
                let depth = self.one_of(&DEPTHS);
                (0..depth).fold(value.take(), |inner, _| {
                    if self.rng.bool() {
                        Value::Array(vec![inner])
                    } else {
                        Value::Object(Map::from_iter([("a".to_owned(), inner)]))
                    }
                })
            }
            6 => Value::Object(Map::new()),
            _ => self.part_of(other),
        };
    }

    /// A value somewhere in another input.
    fn part_of(&mut self, other: &Value) -> Value {
        let deeper = match other {
            Value::Array(items) if !items.is_empty() => items.get(self.rng.usize(..items.len())),
            Value::Object(fields) if !fields.is_empty() => {
                fields.values().nth(self.rng.usize(..fields.len()))
            }
            _ => None,
        };
        match deeper {
            Some(part) if self.rng.u8(..4) > 0 => self.part_of(part),
            _ => other.clone(),
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(..all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_one_sequence_and_no_input_passes_the_limit() {
        let sequence = |seed| {
            let (mut rng, mut input, mut all) =
                (Rng::with_seed(seed), b"{\"a\":[1,\"x\"]}".to_vec(), Vec::new());
            for _ in 0..2000 {
                input = Mutator::new(&mut rng, &["word"], 512).mutated(&input, b"{\"b\":{\"c\":null}}");
                assert!(input.len() <= 512);
                all.push(input.clone());
                if input.is_empty() {
                    input = b"{\"a\":[1,\"x\"]}".to_vec();
                }
            }
            all
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
    }
}
