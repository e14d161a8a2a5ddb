use std::{fmt, mem, slice};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};

type Entry = (Box<str>, Box<str>);

/// Labels or annotations: by key, and no larger than they are. The least node of a `BTreeMap` takes half a kilobyte, for one entry, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts(Box<[Entry]>);

impl Texts {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// Sets a value.
    pub fn insert(&mut self, key: &str, value: &str) {
        let at = self.find(key);
        self.change(|entries| match at {
            Ok(at) => entries[at].1 = value.into(),
            Err(at) => entries.insert(at, (key.into(), value.into())),
        });
    }

    /// Takes a key away, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Ok(at) = self.find(key) {
            self.change(|entries| drop(entries.remove(at)));
        }
    }

    /// All, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.into_iter()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(one, _)| (**one).cmp(key))
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<Entry>)) {
        let mut entries = mem::take(&mut self.0).into_vec();
        change(&mut entries);
        self.0 = entries.into_boxed_slice();
    }
}

impl<'a> IntoIterator for &'a Texts {
    type Item = (&'a str, &'a str);
    type IntoIter = std::iter::Map<slice::Iter<'a, Entry>, fn(&Entry) -> (&str, &str)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for Texts {
    /// Of several values of a key the last.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut entries: Vec<Entry> = entries.map(|(key, value)| (key.into(), value.into())).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|later, kept| {
            let is_again = later.0 == kept.0;
            if is_again {
                mem::swap(later, kept);
            }
            is_again
        });
        Self(entries.into_boxed_slice())
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("texts by their keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
        let mut entries = Vec::<Entry>::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn they_are_read_changed_and_written_as_a_map_is() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let mut texts = Texts::default();
            let mut map = BTreeMap::new();
            for value in 0..random.u32(0..8) {
                let (key, value) = (random.u8(b'a'..=b'e').to_string(), value.to_string());
                if random.bool() {
                    texts.insert(&key, &value);
                    map.insert(key, value);
                } else {
                    texts.remove(&key);
                    map.remove(&key);
                }
            }
            let json = serde_json::to_string(&map).unwrap();
            assert_eq!(serde_json::to_string(&texts).unwrap(), json);
            assert_eq!(serde_json::from_str::<Texts>(&json).unwrap(), texts);
            assert_eq!(map.into_iter().collect::<Texts>(), texts);
            for key in b'a'..=b'e' {
                let key = key.to_string();
                let found = texts
                    .iter()
                    .find_map(|(one, value)| (one == key).then_some(value));
                assert_eq!(texts.get(&key), found);
            }
        }
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_value_counts() {
        let twice = r#"{"b": "1", "a": "2", "b": "3", "b": "4"}"#;
        let texts: Texts = serde_json::from_str(twice).unwrap();
        assert!(texts.iter().eq([("a", "2"), ("b", "4")]));
    }
}
