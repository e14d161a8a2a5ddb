//! Responses that stay good for a time, kept in memory. What is kept is opaque here.

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::Timestamp;

use super::FunctionEndpoint;

/// All kept responses together, in bytes.
pub const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// Of one entry, beside the response itself: key, times and the maps' nodes.
const ENTRY_BYTES: usize = 512;

/// What a response answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey {
    /// The function.
    pub function: String,
    /// Where it listens: another one may be another version.
    pub endpoint: FunctionEndpoint,
    /// SHA-256 of the request without its `meta`.
    pub request: [u8; 32],
}

/// Responses by what they answer. Beyond its size those go that were used least recently.
pub struct Cache<T> {
    limit: usize,
    bytes: usize,
    /// Each use has a number of its own.
    uses: u64,
    entries: BTreeMap<CacheKey, Entry<T>>,
    by_use: BTreeMap<u64, CacheKey>,
    removed: BTreeMap<String, CacheRemovals>,
}

/// What has left the cache, of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheRemovals {
    /// How many responses.
    pub responses: u64,
    /// Their bytes, as they were kept.
    pub bytes: u64,
}

struct Entry<T> {
    response: T,
    bytes: usize,
    stored: Timestamp,
    expires: Timestamp,
    used: u64,
}

impl<T> Entry<T> {
    /// Not either, where the clock was set back to before it was stored.
    fn is_good(&self, now: Timestamp) -> bool {
        self.stored <= now && now < self.expires
    }
}

/// A response that was kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hit<T> {
    /// The response.
    pub response: T,
    /// For how long it is still good; never zero.
    pub remaining: Duration,
}

/// Shows no response.
impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("limit", &self.limit)
            .field("bytes", &self.bytes)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Hit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hit")
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

impl<T: Clone> Cache<T> {
    /// Empty. `limit`: all of it, in bytes; 0: nothing is ever kept.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: 0,
            uses: 0,
            entries: BTreeMap::new(),
            by_use: BTreeMap::new(),
            removed: BTreeMap::new(),
        }
    }

    /// Bytes in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it holds any response of a function at an endpoint, good or not: only then a request is worth its digest.
    pub fn knows(&self, function: &str, endpoint: &FunctionEndpoint) -> bool {
        let first = CacheKey {
            function: function.to_owned(),
            endpoint: endpoint.clone(),
            request: [0; 32],
        };
        let found = self.entries.range(first..).next();
        found.is_some_and(|(key, _)| key.function == function && key.endpoint == *endpoint)
    }

    /// The response to a request, while it is good.
    pub fn get(&mut self, key: &CacheKey, now: Timestamp) -> Option<Hit<T>> {
        let entry = self.entries.get_mut(key)?;
        if !entry.is_good(now) {
            self.remove(key);
            return None;
        }
        self.by_use.remove(&entry.used);
        self.uses += 1;
        entry.used = self.uses;
        self.by_use.insert(entry.used, key.clone());
        Some(Hit {
            response: entry.response.clone(),
            remaining: Duration::try_from(entry.expires.duration_since(now)).ok()?,
        })
    }

    /// Keeps a response of so many bytes. False: it alone is too large, or is good for no time.
    pub fn put(&mut self, key: CacheKey, response: T, bytes: usize, ttl: Duration, now: Timestamp) -> bool {
        self.remove(&key);
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        if ttl.is_zero() || bytes > self.limit {
            return false;
        }
        if self.bytes + bytes > self.limit {
            self.remove_expired(now);
        }
        while self.bytes + bytes > self.limit
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, key.clone());
        let entry = Entry {
            response,
            bytes,
            stored: now,
            expires: now.saturating_add(ttl).unwrap_or(Timestamp::MAX),
            used: self.uses,
        };
        self.entries.insert(key, entry);
        true
    }

    /// What was removed since this was called last, by function: what had expired, made room, was replaced or forgotten.
    pub fn take_removed(&mut self) -> BTreeMap<String, CacheRemovals> {
        std::mem::take(&mut self.removed)
    }

    /// Drops all of a function: it listens elsewhere, or exists no more.
    pub fn forget(&mut self, function: &str) {
        self.remove_where(|key, _| key.function == function);
    }

    fn remove_expired(&mut self, now: Timestamp) {
        self.remove_where(|_, entry| !entry.is_good(now));
    }

    fn remove_where(&mut self, is_removed: impl Fn(&CacheKey, &Entry<T>) -> bool) {
        let keys = self.entries.iter();
        let keys = keys.filter(|(key, entry)| is_removed(key, entry));
        let keys: Vec<CacheKey> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
            let removed = self.removed.entry(key.function.clone()).or_default();
            removed.responses += 1;
            let bytes = u64::try_from(entry.bytes.saturating_sub(ENTRY_BYTES));
            removed.bytes = removed.bytes.saturating_add(bytes.unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn of(function: &str, endpoint: &str, request: u8) -> CacheKey {
        CacheKey {
            function: function.into(),
            endpoint: endpoint.parse().unwrap(),
            request: [request; 32],
        }
    }

    fn key(request: u8) -> CacheKey {
        of("f", "unix:///f", request)
    }

    fn minute() -> Duration {
        Duration::from_mins(1)
    }

    /// With room for so many responses of 100 bytes.
    fn room_for(responses: usize) -> Cache<&'static str> {
        Cache::new(responses * (ENTRY_BYTES + 100))
    }

    #[test]
    fn a_hit_has_the_remaining_time() {
        let mut cache = room_for(2);
        cache.put(key(1), "one", 100, minute(), at(0));
        for (seconds, remaining) in [(0, 60), (59, 1)] {
            let remaining = Duration::from_secs(remaining);
            assert_eq!(
                cache.get(&key(1), at(seconds)),
                Some(Hit {
                    response: "one",
                    remaining
                })
            );
        }
        assert_eq!(cache.get(&key(1), at(60)), None);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn another_function_endpoint_or_request_is_no_hit() {
        let mut cache = room_for(2);
        cache.put(key(1), "one", 100, minute(), at(0));
        for other in [
            of("g", "unix:///f", 1),
            of("f", "unix:///g", 1),
            of("f", "unix:///f", 2),
        ] {
            assert_eq!(cache.get(&other, at(0)), None, "{other:?}");
        }
        assert!(cache.knows("f", &key(1).endpoint));
        assert!(!cache.knows("e", &key(1).endpoint) && !cache.knows("g", &key(1).endpoint));
        assert!(!cache.knows("f", &"unix:///a".parse().unwrap()));
    }

    #[test]
    fn a_response_that_is_good_for_no_time_is_not_kept() {
        let mut cache = room_for(1);
        cache.put(key(1), "one", 100, minute(), at(0));
        cache.put(key(1), "two", 100, Duration::ZERO, at(1));
        assert_eq!(cache.get(&key(1), at(1)), None);
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let mut cache = room_for(2);
        cache.put(key(1), "one", 100, minute(), at(0));
        cache.put(key(2), "two", 100, minute(), at(0));
        cache.get(&key(1), at(1));
        cache.put(key(3), "three", 100, minute(), at(2));
        let kept = [1, 2, 3].map(|one| cache.get(&key(one), at(3)).map(|hit| hit.response));
        assert_eq!(kept, [Some("one"), None, Some("three")]);
        assert_eq!(cache.bytes(), 2 * (ENTRY_BYTES + 100));
    }

    #[test]
    fn what_has_expired_makes_room_first() {
        let mut cache = room_for(2);
        cache.put(key(1), "one", 100, minute(), at(0));
        cache.put(key(2), "two", 100, Duration::from_secs(1), at(0));
        cache.put(key(3), "three", 100, minute(), at(2));
        let kept = [1, 2, 3].map(|one| cache.get(&key(one), at(3)).map(|hit| hit.response));
        assert_eq!(kept, [Some("one"), None, Some("three")]);
    }

    #[test]
    fn a_response_larger_than_all_of_it_is_not_kept() {
        let mut cache = room_for(1);
        cache.put(key(1), "one", 100, minute(), at(0));
        cache.put(key(2), "two", 101, minute(), at(0));
        assert_eq!(cache.get(&key(1), at(1)).map(|hit| hit.response), Some("one"));
        let mut none = Cache::new(0);
        none.put(key(1), "one", 0, minute(), at(0));
        assert_eq!(none.bytes(), 0);
    }

    #[test]
    fn a_newer_response_takes_the_place_of_the_former() {
        let mut cache = room_for(1);
        for response in ["one", "two"] {
            cache.put(key(1), response, 100, minute(), at(0));
        }
        assert_eq!(cache.get(&key(1), at(1)).map(|hit| hit.response), Some("two"));
        assert_eq!(cache.bytes(), ENTRY_BYTES + 100);
        cache.forget("f");
        assert_eq!((cache.bytes(), cache.by_use.len()), (0, 0));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_response_last_longer() {
        let mut cache = room_for(1);
        cache.put(key(1), "one", 100, minute(), at(0));
        assert_eq!(cache.get(&key(1), at(-1)), None);
    }

    #[test]
    fn what_leaves_it_for_any_reason_is_counted_once() {
        let mut cache = room_for(2);
        for request in 1..=3 {
            assert!(cache.put(key(request), "kept", 100, minute(), at(0)));
        }
        let one = CacheRemovals {
            responses: 1,
            bytes: 100,
        };
        let removed = |cache: &mut Cache<_>| cache.take_removed().into_values().collect::<Vec<_>>();
        assert_eq!(removed(&mut cache), [one], "the first made room");
        assert!(cache.put(key(3), "newer", 100, minute(), at(1)));
        assert_eq!(removed(&mut cache), [one], "the former was replaced");
        assert!(!cache.put(key(4), "large", 10_000, minute(), at(1)));
        assert!(!cache.put(key(4), "good for no time", 100, Duration::ZERO, at(1)));
        assert_eq!(removed(&mut cache), []);
        assert!(cache.get(&key(2), at(60)).is_none());
        assert_eq!(removed(&mut cache), [one], "it had expired");
        cache.forget("f");
        cache.forget("f");
        assert_eq!(removed(&mut cache), [one]);
    }

    #[test]
    fn no_response_is_shown() {
        let mut cache = room_for(1);
        cache.put(key(1), "canary", 100, minute(), at(0));
        let hit = cache.get(&key(1), at(0));
        assert!(!format!("{cache:?} {hit:?}").contains("canary"));
    }
}
