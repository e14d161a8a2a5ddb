//! What the plugin lists.

use crossbridge_proto::v1alpha1 as wire;
use tokio::time::sleep;
use tonic::Status;

use super::{KindContext, PAUSE, TRIES};
use crate::{client::describe, verdict::Stop};

/// One page, asked for again where that failed only for the moment.
pub(crate) async fn list(
    ctx: &KindContext,
    request: &wire::ListExternalRequest,
) -> Result<wire::ListExternalResponse, Status> {
    let mut tries = 1;
    loop {
        let client = &ctx.run_ctx.client;
        let response = client.list_external(request.clone(), ctx.options()).await?;
        let code = response.failure.as_ref().map(wire::Failure::code);
        let is_momentary = matches!(
            code,
            Some(wire::FailureCode::Unavailable | wire::FailureCode::Throttled)
        );
        if !is_momentary || tries == TRIES {
            return Ok(response);
        }
        tries += 1;
        sleep(PAUSE).await;
    }
}

/// Everything that the plugin lists of this kind; `None`: it does not list this kind.
pub(crate) async fn list_all(
    ctx: &KindContext,
    page_size: i32,
) -> Result<Option<Vec<wire::ExternalResource>>, Stop> {
    /// An end for a plugin that pages for ever.
    const MOST_PAGES: usize = 10_000;
    let mut items = Vec::new();
    let mut page_token = String::new();
    for _ in 0..MOST_PAGES {
        let request = wire::ListExternalRequest {
            resource_type: Some(ctx.kind.resource_type.clone().into()),
            config: Some(ctx.run_ctx.config()),
            page_size,
            page_token,
            ..Default::default()
        };
        let response = match list(ctx, &request).await {
            Ok(response) => response,
            Err(status) if status.code() == tonic::Code::Unimplemented => return Ok(None),
            Err(status) => {
                return Err(Stop::blocked(format!(
                    "ListExternal was not processed: {}",
                    describe(&status)
                )));
            }
        };
        if let Some(failure) = response.failure {
            return Err(Stop::blocked(format!("ListExternal failed: {}", failure.message)));
        }
        items.extend(response.items);
        page_token = response.next_page_token;
        if page_token.is_empty() {
            return Ok(Some(items));
        }
    }
    Err(Stop::blocked("ListExternal has no last page"))
}
