//! What the plugin lists.

use crossbridge_proto::v1alpha1 as wire;

use super::{Lab, Thing};
use crate::{client::told, verdict::Stop};

/// How many resources of this kind the plugin lists under the thing's name or marker; `None`: it does not list.
pub(crate) async fn listed(lab: &Lab, thing: &Thing) -> Result<Option<usize>, Stop> {
    if !lab.bench.info()?.lists_external {
        return Ok(None);
    }
    let Some(items) = list_all(lab, 0).await? else {
        return Ok(None);
    };
    let is_it = |item: &wire::ExternalResource| {
        item.external_name == thing.name()
            || (lab.kind.capabilities.holds_marker && item.found_marker == thing.marker())
    };
    Ok(Some(items.iter().filter(|item| is_it(item)).count()))
}

/// Everything that the plugin lists of this kind; `None`: it does not list this kind.
pub(crate) async fn list_all(lab: &Lab, page_size: i32) -> Result<Option<Vec<wire::ExternalResource>>, Stop> {
    /// An end for a plugin that pages for ever.
    const MOST_PAGES: usize = 10_000;
    let mut items = Vec::new();
    let mut page_token = String::new();
    for _ in 0..MOST_PAGES {
        let request = wire::ListExternalRequest {
            resource_type: Some(lab.kind.resource_type.clone().into()),
            config: Some(lab.bench.config()),
            page_size,
            page_token,
            ..Default::default()
        };
        let answer = match lab.bench.client.list_external(request, lab.terms()).await {
            Ok(answer) => answer,
            Err(status) if status.code() == tonic::Code::Unimplemented => return Ok(None),
            Err(status) => {
                return Err(Stop::blocked(format!(
                    "ListExternal was not processed: {}",
                    told(&status)
                )));
            }
        };
        if let Some(failure) = answer.failure {
            return Err(Stop::blocked(format!("ListExternal failed: {}", failure.message)));
        }
        items.extend(answer.items);
        page_token = answer.next_page_token;
        if page_token.is_empty() {
            return Ok(Some(items));
        }
    }
    Err(Stop::blocked("ListExternal has no last page"))
}
