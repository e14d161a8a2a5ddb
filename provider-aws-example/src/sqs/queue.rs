//! The kind Queue.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observation, Observed, Outcome, Resource, Update, async_trait,
};

use super::attributes::{self, Attributes};
use super::look::{Found, is_absence, look, tags};
use super::model::{QueueParameters, QueueStatus};
use super::{kind, name};
use crate::ownership::{Owner, TagChange, not_ours, wanted};
use crate::session::{Session, Sessions, region_of};
use crate::upstream::{Refusal, Steps};

/// SQS lets the name of a deleted queue rest so long.
const NAME_RESTS: Duration = Duration::from_mins(1);

/// SQS queues.
#[derive(Debug)]
pub(crate) struct Queue {
    sessions: Arc<Sessions>,
}

impl Queue {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }

    /// Where the queue is, as its URL tells. The wish may name another region by now: there the queue would be missed, and made again.
    async fn session(&self, call: &Call, wish: &Map<String, Value>) -> Result<Arc<Session>, Failure> {
        let known = name::region_in(&call.target.external_name);
        self.sessions
            .regional(&call.config, known.or(region_of(wish)))
            .await
    }

    /// Makes what was found like the wish, and tells how it is now.
    async fn finish(
        session: &Session,
        steps: &Steps,
        call: &Call,
        found: Found,
        wish: &QueueParameters,
    ) -> Result<Outcome<Self>, Failure> {
        let written = converge(session, steps, &found, wish, &call.target.ownership_marker).await?;
        let url = found.url.clone();
        let outcome = match look(session, steps, &url).await {
            // AWS takes up to a minute to tell of what was written; that is known.
            Ok(Some(again)) => {
                let now = again.with(written.attributes, found.tags.with(written.tags));
                Outcome::observed(Observation::from(now))
            }
            // The work is done, whether or not it can be looked at.
            _ => Outcome::completed(),
        };
        Ok(outcome.external_name(url))
    }
}

/// What was changed of a queue.
struct Written {
    tags: TagChange,
    attributes: Attributes,
}

#[async_trait]
impl Resource for Queue {
    type Parameters = QueueParameters;
    type Status = QueueStatus;

    fn kind() -> Kind {
        kind::queue()
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<QueueParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let session = self.session(call, &desired.json).await?;
        let wished = desired.json.get("name").and_then(Value::as_str);
        let url = match (call.target.external_name.as_str(), wished) {
            ("", Some(wished)) => name::url(&session, &steps, wished).await?,
            ("", None) => {
                let message = "a queue without an external name is found by its name, which is not given";
                return Err(Failure::invalid_spec(message).violation("/name", "is required"));
            }
            (url, _) => url.to_owned(),
        };
        match look(&session, &steps, &url).await? {
            Some(found) => Ok(Observation::from(found).into()),
            None => Ok(Observed::absent_as(url)),
        }
    }

    async fn create(&self, call: &Call, create: &Create<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &create.desired.parameters;
        wish.check()?;
        let session = self
            .sessions
            .regional(&call.config, wish.region.as_deref())
            .await?;
        let url = name::url(&session, &steps, &wish.name).await?;
        if !call.target.external_name.is_empty() && call.target.external_name != url {
            let message = format!("the queue that is wished for has the URL {url}");
            return Err(Failure::invalid_spec(message.clone()).violation("", message));
        }
        // CreateQueue on a queue that is there succeeds, and changes its tags.
        if let Some(found) = look(&session, &steps, &url).await? {
            if !create.outcome_unknown || found.tags.owner(&call.target) == Owner::Another {
                return Err(exists(&wish.name, &url));
            }
            call.record_name(&url);
            converge(&session, &steps, &found, wish, &call.target.ownership_marker).await?;
            return Ok(Outcome::already_done().external_name(url));
        }
        let request = session
            .sqs()
            .create_queue()
            .queue_name(&wish.name)
            .set_attributes(Some(attributes::initial(wish).into_iter().collect()))
            .set_tags(Some(
                wanted(wish.tags.as_ref(), &call.target.ownership_marker)
                    .into_iter()
                    .collect(),
            ));
        match steps.change("sqs:CreateQueue", request.send()).await {
            Ok(_) => {}
            Err(refusal) if refusal.is("QueueDeletedRecently") => return Err(resting(refusal, &wish.name)),
            Err(refusal) if refusal.is_any(&["QueueNameExists", "QueueAlreadyExists"]) => {
                return Err(refusal.told_as(exists(&wish.name, &url)));
            }
            Err(refusal) => return Err(refusal.into()),
        }
        call.record_name(&url);
        let outcome = match look(&session, &steps, &url).await {
            Ok(Some(found)) => Outcome::observed(Observation::from(found)),
            // A new queue may take a moment to be seen.
            _ => Outcome::completed(),
        };
        Ok(outcome.external_name(url))
    }

    async fn update(&self, call: &Call, update: &Update<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &update.desired.parameters;
        wish.check()?;
        let session = self.session(call, &update.desired.json).await?;
        let url = &call.target.external_name;
        let Some(found) = look(&session, &steps, url).await? else {
            return Err(Failure::not_found(format!("there is no queue {url}")));
        };
        if found.tags.owner(&call.target) == Owner::Another {
            return Err(not_ours(&format!("the queue {url}")));
        }
        for (path, is, wished) in [
            ("/region", session.region.as_str(), wish.region.as_deref()),
            ("/name", name::of(url), Some(wish.name.as_str())),
        ] {
            if wished.is_some_and(|wished| wished != is) {
                let message = format!("this cannot be changed, and is {is:?}");
                return Err(Failure::immutable_field(message.clone()).violation(path, message));
            }
        }
        if wish.fifo_queue.is_some_and(|fifo| fifo != found.is_fifo()) {
            let message = "a queue is made as a FIFO queue or never becomes one";
            return Err(Failure::immutable_field(message).violation("/fifoQueue", message));
        }
        Self::finish(&session, &steps, call, found, wish).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let session = self.session(call, &delete.desired.json).await?;
        let url = &call.target.external_name;
        let tags = match tags(&session, &steps, url).await {
            Ok(tags) => tags,
            Err(refusal) if is_absence(&refusal) => return Ok(Outcome::already_done()),
            Err(refusal) => return Err(refusal.into()),
        };
        if tags.owner(&call.target) == Owner::Another {
            return Err(not_ours(&format!("the queue {url}")));
        }
        match steps
            .change(
                "sqs:DeleteQueue",
                session.sqs().delete_queue().queue_url(url).send(),
            )
            .await
        {
            Ok(_) => Ok(Outcome::completed()),
            Err(refusal) if is_absence(&refusal) => Ok(Outcome::already_done()),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

async fn converge(
    session: &Session,
    steps: &Steps,
    found: &Found,
    wish: &QueueParameters,
    marker: &str,
) -> Result<Written, Failure> {
    let written = Written {
        tags: found.tags.change(wish.tags.as_ref(), marker),
        attributes: attributes::missing(attributes::mutable(wish), &found.attributes),
    };
    let sqs = session.sqs();
    if !written.tags.set.is_empty() {
        let request = sqs
            .tag_queue()
            .queue_url(&found.url)
            .set_tags(Some(written.tags.set.clone().into_iter().collect()));
        steps.change("sqs:TagQueue", request.send()).await?;
    }
    if !written.tags.remove.is_empty() {
        let request = sqs
            .untag_queue()
            .queue_url(&found.url)
            .set_tag_keys(Some(written.tags.remove.clone()));
        steps.change("sqs:UntagQueue", request.send()).await?;
    }
    if !written.attributes.is_empty() {
        let request = sqs
            .set_queue_attributes()
            .queue_url(&found.url)
            .set_attributes(Some(written.attributes.clone().into_iter().collect()));
        steps.change("sqs:SetQueueAttributes", request.send()).await?;
    }
    Ok(written)
}

fn exists(name: &str, url: &str) -> Failure {
    Failure::already_exists(
        url,
        format!("a queue named {name:?} exists already in this account and region"),
    )
}

fn resting(refusal: Refusal, name: &str) -> Failure {
    let message =
        format!("a queue named {name:?} was deleted less than a minute ago, and AWS lets its name rest");
    let failure = Failure::dependency_not_ready(message)
        .reason("QueueDeletedRecently")
        .retry_after(NAME_RESTS);
    refusal.told_as(failure)
}
