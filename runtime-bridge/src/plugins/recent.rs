//! The last calls, for the admin endpoint and `trace`.

use std::{collections::VecDeque, time::Duration};

use bridge_plugin::CallRecord;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Calls that are kept, of all objects together.
const KEPT: usize = 4096;

/// One call to a plugin that has ended, as `trace` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentCall {
    /// When it had ended.
    pub ended: Timestamp,
    /// Method of the contract.
    pub method: String,
    /// `OK`, a gRPC status code, `NOT_SENT` or `INVALID_ANSWER`.
    pub code: String,
    /// What was answered, in a few words.
    pub described: String,
    /// From the call until its answer, waiting for a connection included.
    pub milliseconds: u64,
}

/// The last calls on behalf of objects. Those of one object are found by its uid.
#[derive(Default)]
pub struct RecentCalls(Mutex<VecDeque<(String, RecentCall)>>);

impl RecentCalls {
    /// Adds a call; the oldest is dropped beyond the limit.
    pub fn push(&self, call: &CallRecord<'_>, now: Timestamp) {
        if call.owner.is_empty() {
            return;
        }
        let recent = RecentCall {
            ended: now,
            method: call.method.to_owned(),
            code: call.code.to_owned(),
            described: call.described.to_owned(),
            milliseconds: milliseconds(call.took),
        };
        let mut calls = self.0.lock();
        if calls.len() == KEPT {
            calls.pop_front();
        }
        calls.push_back((call.owner.to_owned(), recent));
    }

    /// At most `most` of one object, the newest last.
    pub fn of(&self, uid: &str, most: usize) -> Vec<RecentCall> {
        let calls = self.0.lock();
        let newest = calls.iter().rev().filter(|(owner, _)| owner == uid).take(most);
        let mut found: Vec<_> = newest.map(|(_, call)| call.clone()).collect();
        found.reverse();
        found
    }
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_calls_are_bounded() {
        let calls = RecentCalls::default();
        let call = |owner: &'static str, milliseconds| CallRecord {
            plugin: "p",
            method: "Observe",
            kind: "Thing.example.org/v1",
            owner,
            code: "OK",
            described: "absent",
            took: Duration::from_millis(milliseconds),
        };
        calls.push(&call("", 0), Timestamp::UNIX_EPOCH);
        for milliseconds in 1..=3 {
            calls.push(&call("one", milliseconds), Timestamp::UNIX_EPOCH);
            calls.push(&call("two", milliseconds), Timestamp::UNIX_EPOCH);
        }
        let took = |calls: Vec<RecentCall>| {
            calls
                .into_iter()
                .map(|call| call.milliseconds)
                .collect::<Vec<_>>()
        };
        assert_eq!(took(calls.of("one", 2)), [2, 3]);
        for _ in 0..KEPT - 1 {
            calls.push(&call("other", 0), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(
            (took(calls.of("one", 9)), took(calls.of("two", 9))),
            (vec![], vec![3])
        );
    }
}
