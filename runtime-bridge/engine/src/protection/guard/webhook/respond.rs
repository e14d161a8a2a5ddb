//! One request of the API server, answered.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    protection::guard::{Review, judge, names::WEBHOOK_PATH},
    watch_plan::GroupKind,
};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes};
use serde_json::Value;
use tokio::time::timeout;

use super::index::UsageIndex;
use crate::{
    clock::Clock,
    engine::Engine,
    object::{ApiType, Key},
    write::{Merge, Writer},
};

/// An object that the API server stores is smaller.
const LARGEST_REQUEST: usize = 16 << 20;

/// The refusal does not wait longer for its note: the API server waits 10 s for it.
const NOTE_WITHIN: Duration = Duration::from_secs(3);

/// Answers from the index of usages.
pub(super) struct Responder {
    writer: Writer,
    clock: Arc<dyn Clock>,
    index: UsageIndex,
    namespace: String,
}

impl Responder {
    /// `namespace`: the bridge's own.
    pub(super) fn new(engine: &Engine, index: UsageIndex, namespace: &str) -> Self {
        Self {
            writer: engine.writer.clone(),
            clock: Arc::clone(&engine.clock),
            index,
            namespace: namespace.to_owned(),
        }
    }

    pub(super) async fn respond<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if request.uri().path() != WEBHOOK_PATH {
            return text(
                StatusCode::NOT_FOUND,
                &format!("the webhook is at {WEBHOOK_PATH}"),
            );
        }
        if request.method() != Method::POST {
            return text(
                StatusCode::METHOD_NOT_ALLOWED,
                "an AdmissionReview is sent by POST",
            );
        }
        let body = Limited::new(request.into_body(), LARGEST_REQUEST).collect().await;
        let review = match body.map(http_body_util::Collected::to_bytes) {
            Ok(body) => Review::parse(&body).map_err(|error| error.to_string()),
            Err(error) => Err(format!("cannot read the request: {error}")),
        };
        let review = match review {
            Ok(review) => review,
            Err(why) => return text(StatusCode::BAD_REQUEST, &why),
        };
        if !self.index.is_complete() {
            // The API server refuses then.
            let why = "the bridge does not know all usages yet";
            return text(StatusCode::SERVICE_UNAVAILABLE, why);
        }
        let usages = self.index.of(&review.used);
        let answer = judge(&review, &usages, &self.namespace, self.clock.now());
        if let Some(note) = answer.note_attempt {
            self.note(&review, note).await;
        }
        let body = answer.verdict.to_review(&review.uid).to_string();
        let mut response = Response::new(Full::new(Bytes::from(body)));
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }

    /// Without the note the deletion is refused all the same.
    async fn note(&self, review: &Review, note: Value) {
        let used = &review.used;
        let namespace = Some(used.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let api = Arc::new(ApiType {
            kind: GroupKind::new(&used.group, &used.kind),
            version: review.version.clone(),
            plural: review.plural.clone(),
            namespaced: namespace.is_some(),
        });
        let key = Key::new(api.kind.clone(), namespace, &used.name);
        let merge = Merge {
            uid: &review.used_uid,
            version: None,
            change: note,
        };
        let noted = timeout(NOTE_WITHIN, self.writer.merge(&api, &key, merge)).await;
        let failure = match noted {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {NOTE_WITHIN:?}"),
        };
        tracing::warn!(object = %key, failure, "failed to note on an object in use that it was to be deleted");
    }
}

fn text(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{why}\n"))));
    *response.status_mut() = status;
    response
}
