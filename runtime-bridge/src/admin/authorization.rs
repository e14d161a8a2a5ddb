//! Who may ask for `/debug` over the network: whoever the API server knows by his token, and allows to get that path.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bridge_engine::{api_error::ApiError, client::ApiClient};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

/// What the API server said is believed for so long.
const BELIEVED: Duration = Duration::from_secs(10);

/// Answers that are kept. When there are more, all are forgotten.
const MOST: usize = 1024;

/// Requests to the API server at once: who sends tokens without end keeps it no busier than this.
const AT_ONCE: usize = 4;

/// For a request to wait its turn and be answered.
const WITHIN: Duration = Duration::from_secs(10);

/// Asks the API server, and remembers for a moment.
#[derive(Default)]
pub struct Authorization {
    client: OnceLock<ApiClient>,
    known: Mutex<HashMap<Asked, (Verdict, Instant)>>,
}

/// Which token asks for which path. A token is not kept.
#[derive(PartialEq, Eq, Hash, Clone)]
struct Asked {
    token: [u8; 32],
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed,
    Forbidden,
    /// The API server knows no such token.
    Unknown,
}

#[derive(Deserialize, Default)]
struct Reviewed {
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    allowed: bool,
    #[serde(default)]
    user: Value,
}

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);

impl Authorization {
    /// Once there is a cluster. Before that, nobody is known.
    pub fn connected(&self, client: ApiClient) {
        // There is one cluster for the life of a process.
        let _ = self.client.set(client);
    }

    /// Lets a request through, or answers it: over loopback without a token, else by what the token may do.
    pub(super) async fn check(self: Arc<Self>, is_local: bool, request: Request, next: Next) -> Response {
        match token(request.headers()) {
            None if is_local && names_this_machine(&request) => next.run(request).await,
            None => unauthorized(),
            Some(token) => match self.verdict(token, request.uri().path()).await {
                Ok(Verdict::Allowed) => next.run(request).await,
                Ok(Verdict::Forbidden) => (
                    StatusCode::FORBIDDEN,
                    "get of this path is not allowed to this user: bind a ClusterRole with nonResourceURLs\n",
                )
                    .into_response(),
                Ok(Verdict::Unknown) => unauthorized(),
                Err(why) => {
                    tracing::debug!(why, "failed to judge a request for /debug");
                    let text = "the API server did not say whether this is allowed\n";
                    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
                }
            },
        }
    }

    async fn verdict(&self, token: &str, path: &str) -> Result<Verdict, String> {
        let asked = Asked {
            token: Sha256::digest(token).into(),
            path: path.to_owned(),
        };
        let now = Instant::now();
        if let Some((verdict, until)) = self.known.lock().get(&asked)
            && now < *until
        {
            return Ok(*verdict);
        }
        let client = self
            .client
            .get()
            .ok_or("there is no connection to a cluster yet")?;
        let review = async {
            let _turn = TURNS.acquire().await;
            review(client, token, path).await
        };
        let verdict = timeout(WITHIN, review)
            .await
            .map_err(|_| "no answer in time".to_owned())?
            .map_err(|error| error.to_string())?;
        let mut known = self.known.lock();
        known.retain(|_, (_, until)| now < *until);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(asked, (verdict, Instant::now() + BELIEVED));
        Ok(verdict)
    }
}

/// Whether who asks over loopback knows it. A page in a browser on this machine may resolve a name of its own to loopback, and would read the answer as one
/// of its own site; the browser then sends that name.
fn names_this_machine(request: &Request) -> bool {
    let header = request.headers().get(header::HOST);
    let authority = match (request.uri().authority(), header) {
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => match Authority::try_from(host.as_bytes()) {
            Ok(authority) => authority,
            Err(_) => return false,
        },
        (None, None) => return true,
    };
    let host = authority.host();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    // What is no bearer token is one that nobody knows.
    Some(
        value
            .to_str()
            .ok()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim_start())
            .unwrap_or_default(),
    )
}

fn unauthorized() -> Response {
    let why = "/debug is answered over loopback, as by kubectl port-forward, or for a bearer token of the cluster\n";
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, "Bearer")],
        why,
    )
        .into_response()
}

/// Who it is, then whether he may.
async fn review(client: &ApiClient, token: &str, path: &str) -> Result<Verdict, ApiError> {
    if token.is_empty() {
        return Ok(Verdict::Unknown);
    }
    let known = create(
        client,
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "tokenreviews",
        &json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": { "token": token },
        }),
    )
    .await?;
    if !known.authenticated {
        return Ok(Verdict::Unknown);
    }
    let user = &known.user;
    let allowed = create(
        client,
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "subjectaccessreviews",
        &json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "nonResourceAttributes": { "path": path, "verb": "get" },
                "user": user["username"],
                "uid": user["uid"],
                "groups": user["groups"],
                "extra": user["extra"],
            },
        }),
    )
    .await?;
    Ok(if allowed.allowed {
        Verdict::Allowed
    } else {
        Verdict::Forbidden
    })
}

async fn create(
    client: &ApiClient,
    path: &'static str,
    resource: &str,
    review: &Value,
) -> Result<Status, ApiError> {
    let request = http::Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .map_err(|error| ApiError::Unusable(error.to_string()))?;
    let reviewed: Reviewed = client.call("create", resource, request).await?;
    Ok(reviewed.status)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::atomic::AtomicUsize, sync::atomic::Ordering};

    use axum::{Router, body::Body, middleware::from_fn, routing::get};
    use bridge_engine::{client::DEADLINE, metrics::Metrics};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    /// An API server that knows the users `reader` and `other` by tokens of their names, and allows the first to read; how often it was asked.
    fn cluster() -> (ApiClient, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                let body = request.into_body().collect().await.expect("a body").to_bytes();
                let review: Value = serde_json::from_slice(&body).expect("JSON");
                let spec = &review["spec"];
                let status = if review["kind"] == "TokenReview" {
                    let is_known = ["reader", "other"].contains(&spec["token"].as_str().unwrap_or_default());
                    json!({ "authenticated": is_known, "user": { "username": spec["token"] } })
                } else {
                    let wanted = json!({ "path": "/debug/state", "verb": "get" });
                    json!({ "allowed": spec["user"] == "reader" && spec["nonResourceAttributes"] == wanted })
                };
                let answer = json!({ "status": status }).to_string();
                Ok::<_, Infallible>(http::Response::new(kube::client::Body::from(answer.into_bytes())))
            }
        });
        let kube = kube::Client::new(service, "default");
        (ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE), asked)
    }

    async fn status(authorization: &Arc<Authorization>, is_local: bool, token: Option<&str>) -> u16 {
        let authorization = Arc::clone(authorization);
        let judged = from_fn(move |request: Request, next: Next| {
            Arc::clone(&authorization).check(is_local, request, next)
        });
        let router: Router = Router::new()
            .route("/debug/state", get(|| async { "{}" }))
            .layer(judged);
        let mut request = http::Request::get("/debug/state");
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let request = request.body(Body::empty()).expect("a request");
        router
            .oneshot(request)
            .await
            .expect("an answer")
            .status()
            .as_u16()
    }

    #[tokio::test]
    async fn a_stranger_needs_a_token_that_may_get_the_path() {
        let authorization = Arc::new(Authorization::default());
        assert_eq!(status(&authorization, false, Some("Bearer reader")).await, 503);
        authorization.connected(cluster().0);
        let cases = [
            (true, None, 200),
            (false, None, 401),
            (false, Some("Bearer reader"), 200),
            (false, Some("bearer reader"), 200),
            (false, Some("Bearer other"), 403),
            (false, Some("Bearer nobody"), 401),
            (false, Some("Bearer "), 401),
            (false, Some("Basic reader"), 401),
            (true, Some("Bearer other"), 403),
        ];
        for (is_local, token, expected) in cases {
            assert_eq!(
                status(&authorization, is_local, token).await,
                expected,
                "{is_local} {token:?}"
            );
        }
    }

    #[test]
    fn a_page_that_calls_this_machine_by_a_name_of_its_own_is_no_neighbour() {
        let asked = |uri: &str, host: Option<&str>| {
            let mut request = http::Request::get(uri);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            names_this_machine(&request.body(Body::empty()).expect("a request"))
        };
        for host in [
            "localhost:8081",
            "LOCALHOST",
            "127.0.0.1:8081",
            "127.0.0.9",
            "[::1]:8081",
        ] {
            assert!(asked("/debug/state", Some(host)), "{host}");
        }
        assert!(asked("/debug/state", None), "no browser leaves it out");
        assert!(asked("http://localhost:8081/debug/state", None));
        for host in [
            "evil.example.org:8081",
            "localhost.evil.example.org",
            "10.0.0.1",
            "",
            "a b",
        ] {
            assert!(!asked("/debug/state", Some(host)), "{host}");
        }
        assert!(!asked("http://evil.example.org/debug/state", Some("localhost")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_said_is_believed_for_ten_seconds() {
        let (client, asked) = cluster();
        let authorization = Arc::new(Authorization::default());
        authorization.connected(client);
        for (passed, requests) in [(0, 2), (9, 2), (2, 4)] {
            tokio::time::sleep(Duration::from_secs(passed)).await;
            assert_eq!(status(&authorization, false, Some("Bearer reader")).await, 200);
            assert_eq!(asked.load(Ordering::SeqCst), requests);
        }
    }
}
