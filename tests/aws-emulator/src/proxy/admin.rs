//! What a script can do over HTTP: count, inject, give bucket names away.

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Proxy;
use crate::fault::Fault;
use crate::reply::Reply;

/// Not the name of any bucket: it has an underscore.
pub(super) const PREFIX: &str = "/_emulator/";

pub(super) fn answer(proxy: &Proxy, parts: &Parts, path: &str, body: &Bytes) -> Reply {
    match (&parts.method, path) {
        (&Method::GET, "calls") => Reply::json(StatusCode::OK, &calls(proxy)),
        (&Method::DELETE, "calls") => {
            proxy.calls.reset();
            done()
        }
        (&Method::GET, "faults") => Reply::json(StatusCode::OK, &json!(proxy.faults.list())),
        (&Method::POST, "faults") => match serde_json::from_slice::<Fault>(body) {
            Ok(fault) => {
                proxy.faults.add(fault);
                done()
            }
            Err(error) => refuse(StatusCode::BAD_REQUEST, &format!("this is not a fault: {error}")),
        },
        (&Method::DELETE, "faults") => {
            proxy.faults.clear();
            done()
        }
        _ => refuse(
            StatusCode::NOT_FOUND,
            "there are GET and DELETE of calls, and GET, POST and DELETE of faults",
        ),
    }
}

/// Counts of calls by service and action: `{"CloudFront": {"GetDistribution": 3}}`.
fn calls(proxy: &Proxy) -> Value {
    let mut found = json!({});
    for ((service, action), count) in proxy.calls.all() {
        found[service.to_string()][action] = count.into();
    }
    found
}

fn done() -> Reply {
    Reply::json(StatusCode::OK, &json!({}))
}

fn refuse(status: StatusCode, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message }))
}
