use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::{NoAnswer, Proxy, admin};
use crate::reply::Reply;

/// Serves until its runtime ends.
pub(crate) async fn serve(proxy: Arc<Proxy>, listener: TcpListener) {
    loop {
        // Out of file descriptors, or a client that left before it was served: the next one may do.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let proxy = Arc::clone(&proxy);
        let service = service_fn(move |request| handle(Arc::clone(&proxy), request));
        // Ends with an error whenever a fault cuts it, or the client does.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// An error causes hyper to close the connection without a response.
async fn handle(proxy: Arc<Proxy>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, NoAnswer> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| NoAnswer::Cut)?.to_bytes();
    if let Some(path) = parts.uri.path().strip_prefix(admin::PREFIX) {
        return Ok(respond(admin::answer(&proxy, &parts, path, &body)));
    }
    // On its own, so that it is finished when the client goes away.
    match tokio::spawn(async move { proxy.answer(parts, body).await })
        .await
        .map_err(|_| NoAnswer::Cut)?
    {
        Ok(reply) => Ok(respond(reply)),
        Err(NoAnswer::Silence) => std::future::pending().await,
        Err(cut) => Err(cut),
    }
}

fn respond(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}
