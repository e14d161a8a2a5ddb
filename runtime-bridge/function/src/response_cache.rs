//! Responses with a TTL, kept as they came over the wire.

use std::time::Duration;

use bridge_core::function::{Cache, CacheKey, FunctionEndpoint, Hit, RunResponse, Severity};
use bytes::Bytes;
use function_proto::v1::RunFunctionResponse;
use jiff::Timestamp;
use parking_lot::Mutex;
use prost::Message;

use crate::decode;

/// Encoded, so that what it takes is known. It has no `Debug`: it holds connection details.
pub(crate) struct ResponseCache(Mutex<Cache<Bytes>>);

impl ResponseCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Mutex::new(Cache::new(limit)))
    }

    pub(crate) fn knows(&self, function: &str, endpoint: &FunctionEndpoint) -> bool {
        self.0.lock().knows(function, endpoint)
    }

    /// The response, with the time for which it is still good.
    pub(crate) fn get(&self, key: &CacheKey, now: Timestamp) -> Option<RunResponse> {
        let Hit { response, remaining } = self.0.lock().get(key, now)?;
        let response = RunFunctionResponse::decode(response).ok()?;
        Some(RunResponse {
            ttl: Some(remaining),
            ..decode::response(response).ok()?
        })
    }

    /// Keeps a response that is good for some time, given both as it came and as it is read. A fatal one is asked for again.
    pub(crate) fn put(&self, key: CacheKey, encoded: Bytes, response: &RunResponse, now: Timestamp) {
        let is_fatal = response
            .results
            .iter()
            .any(|result| result.severity == Severity::Fatal);
        if !is_fatal {
            let ttl = response.ttl.unwrap_or(Duration::ZERO);
            let bytes = encoded.len();
            self.0.lock().put(key, encoded, bytes, ttl, now);
        }
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
        cache.put(key.clone(), wire.encode_to_vec().into(), &response, now);
        let kept = cache.get(&key, now);
        assert!(kept.is_none() || kept == Some(response));
        kept.is_some()
    }

    #[test]
    fn a_fatal_response_is_not_kept_whatever_its_ttl() {
        let severities = [wire::Severity::Fatal, wire::Severity::Warning];
        assert_eq!(severities.map(is_kept), [false, true]);
    }
}
