use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::reply::Reply;

/// The way to moto.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    client: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
}

impl Upstream {
    pub(crate) fn new(address: SocketAddr) -> Self {
        // Moto closes each connection after its answer.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build_http();
        Self { client, address }
    }

    /// Hands a request on as it is, its Host header too: signatures cover it, and queue URLs are built from it.
    pub(crate) async fn forward(
        &self,
        mut parts: Parts,
        body: Bytes,
    ) -> Result<Reply, Box<dyn Error + Send + Sync>> {
        let mut uri = parts.uri.into_parts();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(Authority::try_from(self.address.to_string())?);
        uri.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        parts.uri = Uri::from_parts(uri)?;
        parts.headers.remove(CONNECTION);
        parts.headers.remove(TRANSFER_ENCODING);
        let is_head = parts.method == Method::HEAD;
        let response = self
            .client
            .request(Request::from_parts(parts, Full::new(body)))
            .await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let mut headers = head.headers;
        headers.remove(CONNECTION);
        headers.remove(TRANSFER_ENCODING);
        if !is_head {
            // Behaviors may change the length.
            headers.remove(CONTENT_LENGTH);
        }
        // Of moto's answer as it was.
        headers.remove("x-amz-crc32");
        Ok(Reply {
            status: head.status,
            headers,
            body,
        })
    }
}
