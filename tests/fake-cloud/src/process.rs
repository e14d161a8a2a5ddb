//! The cloud as a process of its own: calls, and a way to inspect it and to inject faults, over HTTP on loopback.
//!
//! | request | what it does |
//! |---|---|
//! | `POST /call/{rpc}?deadline=MS` | serves a call of the plugin; protobuf in and out |
//! | `GET /objects` | what exists, as JSON |
//! | `GET /removed`, `GET /entries` | what was removed; the calls that came |
//! | `POST /faults`, `DELETE /faults` | one fault more; none any more |
//! | `GET /profile`, `PUT /profile` | how it behaves until another profile is set; fields that are left out have their defaults |
//! | `POST /foreign/{kind}/{name}` | another owner creates one; the body is its marker |
//! | `DELETE /objects/{kind}/{name}` | an unknown actor removes it by hand |

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderName, StatusCode},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::{
    cloud::{Cloud, Entry, External, Profile, Removed, Verdict},
    fault::{Fault, Rpc},
    remote::{Sent, decode_ask, encode_answer},
};

type Shared = State<Arc<Mutex<Cloud>>>;

/// What the plugin is to do with the answer.
pub(crate) const VERDICT: HeaderName = HeaderName::from_static("x-verdict");
/// Milliseconds before the answer.
pub(crate) const WAIT: HeaderName = HeaderName::from_static("x-wait-ms");

/// Serves an empty cloud until the process ends.
///
/// # Errors
/// The listener's.
pub async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let cloud = Arc::new(Mutex::new(Cloud::new()));
    let routes = Router::new()
        .route("/call/{rpc}", post(call))
        .route("/objects", get(objects))
        .route("/objects/{kind}/{*name}", delete(remove))
        .route("/removed", get(removed))
        .route("/entries", get(entries))
        .route("/faults", post(inject).delete(clear))
        .route("/profile", get(profile).put(set_profile))
        .route("/foreign/{kind}/{*name}", post(foreign))
        .with_state(cloud);
    axum::serve(listener, routes).await
}

async fn call(
    State(cloud): Shared,
    Path(rpc): Path<String>,
    Query(query): Query<BTreeMap<String, i64>>,
    body: Bytes,
) -> Response {
    let rpc: Rpc = match serde_json::from_value(rpc.into()) {
        Ok(rpc) => rpc,
        Err(error) => return (StatusCode::NOT_FOUND, error.to_string()).into_response(),
    };
    let ask = match decode_ask(rpc, &body) {
        Ok(ask) => ask,
        Err(why) => return (StatusCode::BAD_REQUEST, why).into_response(),
    };
    let deadline = query
        .get("deadline")
        .and_then(|milliseconds| Timestamp::from_millisecond(*milliseconds).ok());
    let verdict = cloud.lock().serve(&ask, deadline, Timestamp::now());
    match verdict {
        Verdict::Answer(answer, wait) => (
            [
                (VERDICT, Sent::Answer.header().to_owned()),
                (WAIT, wait.as_millis().to_string()),
            ],
            encode_answer(rpc, answer),
        )
            .into_response(),
        Verdict::Silence => said(Sent::Silence, String::new()),
        Verdict::Crash => said(Sent::Crash, String::new()),
        Verdict::Status => said(Sent::Status, String::new()),
        Verdict::Refused(problem) => said(Sent::Refused, problem),
    }
}

fn said(what: Sent, body: String) -> Response {
    ([(VERDICT, what.header())], body).into_response()
}

async fn objects(State(cloud): Shared) -> Json<Vec<External>> {
    let mut cloud = cloud.lock();
    cloud.settle(Timestamp::now());
    Json(cloud.objects.clone())
}

async fn removed(State(cloud): Shared) -> Json<Vec<Removed>> {
    let mut cloud = cloud.lock();
    cloud.settle(Timestamp::now());
    Json(cloud.removed.clone())
}

async fn entries(State(cloud): Shared) -> Json<Vec<Entry>> {
    Json(cloud.lock().entries.clone())
}

async fn inject(State(cloud): Shared, Json(fault): Json<Fault>) {
    cloud.lock().inject(fault);
}

async fn clear(State(cloud): Shared) {
    cloud.lock().faults.clear();
}

async fn profile(State(cloud): Shared) -> Json<Profile> {
    Json(cloud.lock().profile.clone())
}

async fn set_profile(State(cloud): Shared, Json(profile): Json<Profile>) {
    cloud.lock().profile = profile;
}

async fn foreign(State(cloud): Shared, Path((kind, name)): Path<(String, String)>, marker: String) {
    cloud.lock().foreign(&kind, &name, &marker, Timestamp::now());
}

async fn remove(State(cloud): Shared, Path((kind, name)): Path<(String, String)>) {
    cloud.lock().remove_by_hand(&kind, &name);
}
