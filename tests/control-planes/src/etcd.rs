//! What is stored beneath the API server, by the JSON gateway of etcd.

use std::{collections::BTreeMap, io, num::ParseIntError, path::PathBuf, time::Duration};

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use bridge_control_plane::ControlPlane;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header::HOST};
use http_body_util::{BodyExt, Full};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::UnixStream, time::timeout};

use crate::LIMIT;

/// As etcd has it: `/registry/RESOURCE/NAMESPACE/NAME`.
pub(crate) type Key = String;

/// As many as one transaction takes are 128.
const OPERATIONS: usize = 100;

/// Why etcd could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// There is no connection.
    #[error("cannot connect to etcd at {socket}: {source}")]
    Connect {
        /// Its socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The connection broke, or was never one.
    #[error("cannot ask etcd: {0}")]
    Http(#[from] hyper::Error),
    /// It answered something else.
    #[error("etcd answers {status}: {text}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// What it says.
        text: String,
    },
    /// Its answer is not what it is said to be.
    #[error("the answer of etcd cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A revision in it is no number.
    #[error("a revision in the answer of etcd cannot be read: {0}")]
    Revision(#[from] ParseIntError),
    /// It does not answer.
    #[error("etcd does not answer within {0:?}")]
    Silent(Duration),
    /// A key in it.
    #[error("a key in the answer of etcd cannot be read: {0}")]
    Key(#[from] DecodeError),
}

pub(crate) struct Etcd {
    socket: PathBuf,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    key: String,
    /// 64 bits, and so a text.
    mod_revision: String,
}

impl Etcd {
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        Self {
            socket: plane.etcd_socket(),
        }
    }

    /// Keys that begin so, each with the revision that wrote it last.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<BTreeMap<Key, i64>, EtcdError> {
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let range =
            json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end), "keys_only": true});
        let found: Range = serde_json::from_value(self.ask("/v3/kv/range", &range).await?)?;
        let keys = found.kvs.into_iter().map(|found| {
            let key = String::from_utf8_lossy(&STANDARD.decode(found.key)?).into_owned();
            Ok((key, found.mod_revision.parse()?))
        });
        keys.collect()
    }

    pub(crate) async fn delete(&self, keys: &[Key]) -> Result<(), EtcdError> {
        for some in keys.chunks(OPERATIONS) {
            let delete = |key: &Key| json!({"request_delete_range": {"key": STANDARD.encode(key)}});
            let all: Vec<Value> = some.iter().map(delete).collect();
            self.ask("/v3/kv/txn", &json!({"success": all})).await?;
        }
        Ok(())
    }

    async fn ask(&self, path: &'static str, question: &Value) -> Result<Value, EtcdError> {
        let answer = timeout(LIMIT, self.post(path, question)).await;
        answer.map_err(|_| EtcdError::Silent(LIMIT))?
    }

    async fn post(&self, path: &'static str, question: &Value) -> Result<Value, EtcdError> {
        let socket = UnixStream::connect(&self.socket).await;
        let socket = socket.map_err(|source| EtcdError::Connect {
            socket: self.socket.clone(),
            source,
        })?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        let mut request = Request::new(Full::new(Bytes::from(question.to_string())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(path);
        let host = HeaderValue::from_static("etcd");
        request.headers_mut().insert(HOST, host);
        let answer = requests.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            let text = String::from_utf8_lossy(&body).into_owned();
            return Err(EtcdError::Refused { status, text });
        }
        Ok(serde_json::from_slice(&body)?)
    }
}
