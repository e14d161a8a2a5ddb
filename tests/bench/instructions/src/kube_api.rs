//! An API server in the process: it stores what is put, answers, and keeps watches open. No checks, and no time.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::stream::{self, Pending};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Collected, Either, Full, StreamBody};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;

/// What it answers: at once, or never.
type AnswerBody = Either<Full<Bytes>, StreamBody<Pending<Result<Frame<Bytes>, Infallible>>>>;

/// What it stores, by path, and what its watches bring.
#[derive(Default)]
pub struct KubeApi {
    objects: Mutex<BTreeMap<String, Value>>,
    /// Path of a collection -> what its first watch brings, all at once. Every other one stays silent.
    watched: Mutex<BTreeMap<String, Vec<u8>>>,
    requests: Mutex<u64>,
}

impl KubeApi {
    /// A client of it.
    pub fn client(self: &Arc<Self>) -> kube::Client {
        let server = Arc::clone(self);
        let serve = move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        kube::Client::new(tower::service_fn(serve), "default")
    }

    /// What the first watch of a collection brings.
    pub fn watch(&self, path: &str, lines: Vec<u8>) {
        self.watched.lock().insert(path.to_owned(), lines);
    }

    /// What stands there.
    pub fn get(&self, path: &str) -> Option<Value> {
        self.objects.lock().get(path).cloned()
    }

    /// Stores an object as it is.
    pub fn store(&self, path: &str, object: Value) {
        self.objects.lock().insert(path.to_owned(), object);
    }

    /// Changes what stands there, as somebody else.
    pub fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) -> Option<Value> {
        let mut objects = self.objects.lock();
        let object = objects.get_mut(path)?;
        edit(object);
        raise(object);
        Some(object.clone())
    }

    /// Requests that were no watches.
    pub fn requests(&self) -> u64 {
        *self.requests.lock()
    }

    async fn answer(&self, request: Request<Body>) -> Response<AnswerBody> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if parts
            .uri
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            let lines = self.watched.lock().remove(path);
            return Response::new(
                lines.map_or_else(|| Either::Right(StreamBody::new(stream::pending())), at_once),
            );
        }
        *self.requests.lock() += 1;
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match parts.method {
            Method::PUT => self.put(path, sent),
            Method::GET => self.get(path),
            _ => Some(sent),
        };
        let text = answer.as_ref().map_or_else(String::new, Value::to_string);
        let mut response = Response::new(at_once(text.into_bytes()));
        if answer.is_none() {
            *response.status_mut() = http::StatusCode::NOT_FOUND;
        }
        response
    }

    fn put(&self, path: &str, mut sent: Value) -> Option<Value> {
        let (path, of_status) = match path.strip_suffix("/status") {
            Some(path) => (path, true),
            None => (path, false),
        };
        let mut objects = self.objects.lock();
        let object = objects.get_mut(path)?;
        if of_status {
            object["status"] = sent["status"].take();
        } else {
            for field in ["annotations", "finalizers"] {
                object["metadata"][field] = sent["metadata"][field].take();
            }
            object["spec"] = sent["spec"].take();
        }
        raise(object);
        let metadata = &object["metadata"];
        let finalizers = metadata["finalizers"].as_array().map_or(0, Vec::len);
        if metadata["deletionTimestamp"].is_string() && finalizers == 0 {
            return objects.remove(path);
        }
        Some(object.clone())
    }
}

fn at_once(text: Vec<u8>) -> AnswerBody {
    Either::Left(Full::from(text))
}

fn raise(object: &mut Value) {
    let version: u64 = object["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|version| version.parse().ok())
        .unwrap_or_default();
    object["metadata"]["resourceVersion"] = (version + 1).to_string().into();
}
