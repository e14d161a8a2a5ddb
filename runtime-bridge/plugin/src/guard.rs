//! A channel that turns away what tonic would report as if the plugin itself had said it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tonic::{
    body::Body,
    codegen::{Service, http},
    transport::Channel,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Tonic reports a compressed answer as UNIMPLEMENTED, which would read as "nothing was done" although the call was served.
#[derive(Debug, thiserror::Error)]
#[error("the answer is compressed ({0}), which was not asked for")]
struct CompressedAnswer(String);

/// A [`Channel`] whose compressed answers are errors without a gRPC code of their own.
#[derive(Debug, Clone)]
pub(crate) struct Guarded(pub(crate) Channel);

impl Service<http::Request<Body>> for Guarded {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            match answer.headers().get("grpc-encoding") {
                Some(encoding) if encoding != "identity" => {
                    Err(CompressedAnswer(String::from_utf8_lossy(encoding.as_bytes()).into_owned()).into())
                }
                _ => Ok(answer),
            }
        })
    }
}
