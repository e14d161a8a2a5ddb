use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

use kube::Config;

use super::{connect::get, *};

/// What a server does with a request, once it has read its head.
#[derive(Clone, Copy)]
enum Answers {
    With(&'static str),
    Never,
    ByHangingUp,
}

/// Answers all requests alike, and keeps the last one's head.
struct Server {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    head: Arc<parking_lot::Mutex<String>>,
    _serving: JoinSet<()>,
}

async fn serve(answers: Answers) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (requests, head) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(parking_lot::Mutex::new(String::new())),
    );
    let (counted, kept) = (Arc::clone(&requests), Arc::clone(&head));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let mut buffer = [0; 4096];
            while !text.contains("\r\n\r\n") {
                match socket.read(&mut buffer).await.unwrap() {
                    0 => break,
                    n => text.push_str(&String::from_utf8_lossy(&buffer[..n])),
                }
            }
            counted.fetch_add(1, Ordering::SeqCst);
            *kept.lock() = text.to_lowercase();
            match answers {
                Answers::With(answer) => socket.write_all(answer.as_bytes()).await.unwrap(),
                Answers::Never => open.push(socket),
                Answers::ByHangingUp => {}
            }
        }
    });
    Server {
        address,
        requests,
        head,
        _serving: serving,
    }
}

fn kubeconfig(address: SocketAddr) -> PathBuf {
    let path = std::env::temp_dir().join(format!(
        "crossbridge-client-{}-{}",
        std::process::id(),
        address.port()
    ));
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

async fn connect(address: SocketAddr) -> Result<Clients, ConnectError> {
    let path = kubeconfig(address);
    let options = ConnectOptions {
        kubeconfig: Some(path.clone()),
        context: None,
    };
    let connected = Clients::connect(&options, &Arc::new(Metrics::new())).await;
    std::fs::remove_file(path).unwrap();
    connected
}

/// What becomes of one call.
async fn call(answers: Answers) -> (ApiError, usize) {
    let server = serve(answers).await;
    match connect(server.address).await {
        Err(ConnectError::Unreachable { source, .. }) => (source, server.requests.load(Ordering::SeqCst)),
        other => panic!("{:?}", other.map(|clients| clients.version)),
    }
}

#[tokio::test]
async fn connect_identifies_itself_and_reads_the_version() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n{\"gitVersion\":\"v1.36.3\"}";
    let server = serve(Answers::With(answer)).await;
    let clients = connect(server.address).await.unwrap();
    assert_eq!(clients.version, "v1.36.3");
    let agent = format!("user-agent: crossbridge/{}\r\n", env!("CARGO_PKG_VERSION"));
    assert!(server.head.lock().contains(&agent), "{}", server.head.lock());
}

#[tokio::test]
async fn nothing_is_tried_twice_behind_our_back() {
    let throttled = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n";
    let (error, requests) = call(Answers::With(throttled)).await;
    assert!(
        matches!(error, ApiError::Throttled { retry_after, .. } if retry_after.as_secs() == 9),
        "{error:?}"
    );
    assert_eq!(requests, 1);
    let (error, requests) = call(Answers::With(
        "HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n",
    ))
    .await;
    assert!(matches!(error, ApiError::Unavailable(_)), "{error:?}");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_the_outcome_unknown() {
    let (error, requests) = call(Answers::ByHangingUp).await;
    assert!(matches!(error, ApiError::Interrupted(_)), "{error:?}");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for_for_ever() {
    let server = serve(Answers::Never).await;
    // A build of the whole workspace brings two providers: one must be named. An error means that it is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kube =
        kube::Client::try_from(Config::new(format!("http://{}", server.address).parse().unwrap())).unwrap();
    let limit = Duration::from_millis(50);
    let client = ApiClient::new(kube, Arc::new(Metrics::new()), limit);
    let answer = client.call_text("get", "version", get("/version")).await;
    assert_eq!(answer, Err(ApiError::Timeout(limit)));
}

#[tokio::test]
async fn an_unreachable_server_means_no_effect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    match connect(address).await {
        Err(ConnectError::Unreachable {
            source: ApiError::Unavailable(_),
            server,
        }) => {
            assert_eq!(server, format!("http://{address}/"));
        }
        other => panic!("{:?}", other.map(|clients| clients.version)),
    }
}

/// An API server that needs this long for each write, and forgets one that is given up.
fn slow_server(takes: Duration) -> ApiClient {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        if request.method() != Method::GET {
            tokio::time::sleep(takes).await;
        }
        Ok::<_, std::io::Error>(Response::new(Body::from(b"{}".to_vec())))
    });
    let kube = kube::Client::new(service, "default");
    ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE)
}

async fn send(client: &ApiClient, method: Method, path: &'static str) -> Result<(), ApiError> {
    let mut request = get(path);
    *request.method_mut() = method;
    client.call_text("update", "plants", request).await.map(drop)
}

async fn write(client: &ApiClient, path: &'static str) -> Result<(), ApiError> {
    send(client, Method::PUT, path).await
}

#[tokio::test(start_paused = true)]
async fn a_write_that_takes_longer_than_its_deadline_has_twice_as_long_the_next_time() {
    let slow = slow_server(Duration::from_secs(35));
    let none_within = |seconds| Err(ApiError::Timeout(Duration::from_secs(seconds)));
    assert_eq!(write(&slow, "/plants/a").await, none_within(10));
    assert_eq!(write(&slow, "/plants/a").await, none_within(20));
    // The object is read between its writes, which takes no time.
    let read = slow.call_text("get", "plants", get("/plants/a")).await;
    assert_eq!(read.as_deref(), Ok("{}"));
    // Each path by itself: what one object needs takes no other's time.
    assert_eq!(write(&slow, "/plants/b").await, none_within(10));
    assert_eq!(write(&slow, "/plants/a").await, Ok(()));
    // What took so long has as long from now on.
    assert_eq!(write(&slow, "/plants/a").await, Ok(()));
    // Who has a deadline of its own, like the lease, keeps it.
    let strict = slow.with_deadline(Duration::from_secs(5));
    assert_eq!(write(&strict, "/plants/a").await, none_within(5));
    assert_eq!(write(&strict, "/plants/a").await, none_within(5));
}

#[tokio::test(start_paused = true)]
async fn no_deadline_is_longer_than_that_of_the_api_server() {
    let slow = slow_server(Duration::from_hours(1));
    let mut deadlines = Vec::new();
    for _ in 0..5 {
        let Err(ApiError::Timeout(deadline)) = write(&slow, "/plants/a").await else {
            panic!("an answer");
        };
        deadlines.push(deadline.as_secs());
    }
    assert_eq!(deadlines, [10, 20, 40, 60, 60]);
}

/// After a create that had no answer nothing may be created later than this lets one think.
#[tokio::test(start_paused = true)]
async fn a_create_and_a_deletion_never_have_longer_than_the_first_deadline() {
    let slow = slow_server(Duration::from_secs(15));
    for (method, path) in [(Method::POST, "/plants"), (Method::DELETE, "/plants/a")] {
        for _ in 0..3 {
            let sent = send(&slow, method.clone(), path).await;
            assert_eq!(sent, Err(ApiError::Timeout(DEADLINE)));
        }
    }
}
