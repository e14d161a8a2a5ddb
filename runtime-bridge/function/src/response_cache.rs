//! Responses with a TTL, kept as they came over the wire.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::function::{Cache, CacheKey, CacheRemovals, FunctionEndpoint, Hit, RunResponse, Severity};
use bytes::Bytes;
use function_proto::v1::RunFunctionResponse;
use jiff::Timestamp;
use parking_lot::Mutex;
use prost::Message;

use crate::decode;

/// Encoded, so that what it takes is known. It has no `Debug`: it holds connection details.
pub(crate) struct ResponseCache(Mutex<Cache<Bytes>>);

/// What was kept cannot be read: a bug.
#[derive(Debug)]
pub(crate) struct Unreadable;

impl ResponseCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Mutex::new(Cache::new(limit)))
    }

    pub(crate) fn knows(&self, function: &str, endpoint: &FunctionEndpoint) -> bool {
        self.0.lock().knows(function, endpoint)
    }

    /// The response, with the time for which it is still good.
    pub(crate) fn get(&self, key: &CacheKey, now: Timestamp) -> Result<Option<RunResponse>, Unreadable> {
        let Some(Hit { response, remaining }) = self.0.lock().get(key, now) else {
            return Ok(None);
        };
        let response = RunFunctionResponse::decode(response).map_err(|_| Unreadable)?;
        Ok(Some(RunResponse {
            ttl: Some(remaining),
            kept: true,
            ..decode::response(response).map_err(|_| Unreadable)?
        }))
    }

    /// Keeps a response that is good for some time, given both as it came and as it is read; false: it is not kept. A fatal one is asked for again.
    pub(crate) fn put(&self, key: CacheKey, encoded: Bytes, response: &RunResponse, now: Timestamp) -> bool {
        let is_fatal = response
            .results
            .iter()
            .any(|result| result.severity == Severity::Fatal);
        let ttl = response.ttl.unwrap_or(Duration::ZERO);
        let bytes = encoded.len();
        !is_fatal && self.0.lock().put(key, encoded, bytes, ttl, now)
    }

    /// What was removed since this was called last, by function.
    pub(crate) fn take_removed(&self) -> BTreeMap<String, CacheRemovals> {
        self.0.lock().take_removed()
    }

    pub(crate) fn forget(&self, function: &str) {
        self.0.lock().forget(function);
    }
}

#[cfg(test)]
mod tests {
    use function_proto::v1 as wire;

    use super::*;

    /// Kept by one with a TTL of a minute and a result.
    fn is_kept(severity: wire::Severity) -> bool {
        let now = Timestamp::UNIX_EPOCH;
        let wire = RunFunctionResponse {
            meta: Some(wire::ResponseMeta {
                ttl: Some(prost_types::Duration {
                    seconds: 60,
                    nanos: 0,
                }),
                ..wire::ResponseMeta::default()
            }),
            results: vec![wire::Result {
                severity: severity.into(),
                ..wire::Result::default()
            }],
            ..RunFunctionResponse::default()
        };
        let key = CacheKey {
            function: "f".into(),
            endpoint: "unix:///f".parse().unwrap(),
            request: [1; 32],
        };
        let cache = ResponseCache::new(1024);
        let response = decode::response(wire.clone()).unwrap();
        let is_kept = cache.put(key.clone(), wire.encode_to_vec().into(), &response, now);
        let kept = cache.get(&key, now).unwrap();
        let expected = RunResponse {
            kept: true,
            ..response
        };
        assert_eq!(kept, is_kept.then_some(expected));
        is_kept
    }

    #[test]
    fn a_fatal_response_is_not_kept_whatever_its_ttl() {
        let severities = [wire::Severity::Fatal, wire::Severity::Warning];
        assert_eq!(severities.map(is_kept), [false, true]);
    }
}
