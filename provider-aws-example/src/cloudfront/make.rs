//! Creation. The bridge's token is the caller reference, by which AWS makes one distribution only, however often it is asked. A tag tells
//! which request came first under the token.

use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Create, Effect, Failure, FailureCode, OperationVerb, Outcome};
use sha2::{Digest, Sha256};

use super::distribution::Distribution;
use super::model::{self, DistributionParameters};
use super::refused;
use super::work::{Found, Work};
use crate::ownership::{FoundTags, Owner, REQUEST_TAG, wanted};
use crate::upstream::Refusal;

/// How the request that makes a distribution ended.
enum Made {
    New(Box<Found>),
    /// AWS knows the caller reference.
    Known(Refusal),
}

impl Work<'_> {
    pub(super) async fn create(
        &self,
        create: &Create<DistributionParameters>,
    ) -> Result<Outcome<Distribution>, Failure> {
        // What had its effect is not checked again, and may not pass today's checks.
        if create.outcome_unknown
            && let Ok(found) = self.find_indexed().await
            && let Some(found) = of_token(found, &create.client_request_token)
        {
            return self.earlier(&found, create);
        }
        match self.make(create).await {
            Ok(Made::New(found)) => {
                self.call.record_name(found.id());
                self.progress(&found, OperationVerb::Create)
            }
            Ok(Made::Known(refusal)) => self.settle(refusal, create).await,
            // Our own earlier work may be what is in the way, for instance of an alias.
            Err(failure) if create.outcome_unknown && speaks_of_the_wish(&failure) => {
                match of_token(
                    self.find().await.unwrap_or_default(),
                    &create.client_request_token,
                ) {
                    Some(found) => self.earlier(&found, create),
                    None => Err(failure),
                }
            }
            Err(failure) => Err(failure),
        }
    }

    async fn make(&self, create: &Create<DistributionParameters>) -> Result<Made, Failure> {
        let wish = &create.desired.parameters;
        wish.check()?;
        let mut tags = wanted(wish.tags.as_ref(), &self.call.target.ownership_marker);
        tags.insert(REQUEST_TAG.to_owned(), self.request(create));
        let mut list = aws::Tags::builder();
        for (key, value) in &tags {
            list = list.items(aws::Tag::builder().key(key).value(value).build()?);
        }
        let config = aws::DistributionConfigWithTags::builder()
            .distribution_config(model::new(wish, &create.client_request_token)?)
            .tags(list.build())
            .build();
        let request = self
            .cloudfront()
            .create_distribution_with_tags()
            .distribution_config_with_tags(config);
        match self
            .steps
            .change("cloudfront:CreateDistribution", request.send())
            .await
        {
            Ok(answer) => match answer.distribution {
                Some(distribution) => Ok(Made::New(Box::new(Found {
                    distribution,
                    etag: answer.e_tag.unwrap_or_default(),
                    tags: tags.into_iter().collect::<FoundTags>(),
                }))),
                None => Err(Failure::unavailable(
                    "AWS made a distribution and did not tell which",
                )),
            },
            Err(refusal) if refusal.is("DistributionAlreadyExists") => Ok(Made::Known(refusal)),
            Err(refusal) => Err(refused::told(refusal)),
        }
    }

    /// The distribution that AWS made when this token came before. Its configuration may have been edited since: only its caller reference
    /// and its marker count.
    async fn settle(
        &self,
        refusal: Refusal,
        create: &Create<DistributionParameters>,
    ) -> Result<Outcome<Distribution>, Failure> {
        let token = &create.client_request_token;
        // As long as we do not know whose it is, this call may have made it: requests are repeated on the way, too.
        let uncertain = |failure: Failure| failure.effect(Effect::Unknown);
        let Some(id) = id_in(refusal.message()) else {
            let found = self.find().await.map_err(uncertain)?;
            return match of_token(found, token) {
                Some(found) => self.earlier(&found, create),
                None => Err(refusal.told_as(reused())),
            };
        };
        let looked = self.look(id).await.map_err(uncertain)?;
        let Some(found) = looked else {
            self.call.record_name(id);
            let message = format!("this request made the distribution {id}, which is gone again");
            let gone = refusal.told_as(Failure::not_found(message).reason("GoneAgain"));
            // Under a new token only this very call can have made it, and then it may just not be seen yet.
            return Err(if create.outcome_unknown {
                gone
            } else {
                uncertain(gone)
            });
        };
        let by_token = found.config()?.caller_reference == *token;
        if !by_token || self.owner(&found) == Owner::Another {
            return Err(refusal.told_as(reused()));
        }
        self.earlier(&found, create)
    }

    /// Our own earlier work, if this request made it. It counts what was asked for then: it may have been edited since.
    fn earlier(
        &self,
        found: &Found,
        create: &Create<DistributionParameters>,
    ) -> Result<Outcome<Distribution>, Failure> {
        let by_token = found.config()?.caller_reference == create.client_request_token;
        if by_token
            && found
                .tags
                .request()
                .is_some_and(|first| first != self.request(create))
        {
            return Err(reused());
        }
        self.call.record_name(found.id());
        // A poll would not take one without a marker for ours; an update puts the marker back.
        if found.is_deployed() || self.owner(found) == Owner::Nobody {
            return Ok(found.named(Outcome::already_done()));
        }
        self.progress(found, OperationVerb::Create)
    }

    /// What tells this request from another under the same token. The marker counts by itself.
    fn request(&self, create: &Create<DistributionParameters>) -> String {
        // The keys of a JSON object come sorted.
        let request = json!([self.call.config.id(), create.desired.json]);
        let digest = Sha256::digest(request.to_string());
        let bytes = digest.iter().take(16);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

fn reused() -> Failure {
    Failure::token_reused(
        "under this token AWS made a distribution for another request, or for another object",
    )
}

/// Of those with our marker, the one that this token made; else the oldest: there is one for each object.
fn of_token(found: Vec<Found>, token: &str) -> Option<Found> {
    let by_token = found.iter().position(|found| {
        found
            .config()
            .is_ok_and(|config| config.caller_reference == token)
    });
    found.into_iter().nth(by_token.unwrap_or(0))
}

fn speaks_of_the_wish(failure: &Failure) -> bool {
    use FailureCode::{DependencyNotReady, InvalidSpec, QuotaExceeded};
    matches!(
        failure.code(),
        Some(InvalidSpec | DependencyNotReady | QuotaExceeded)
    )
}

/// AWS tells the id at the end of its message: `… Already exists: EDFDVBD632BHDS5`.
fn id_in(message: &str) -> Option<&str> {
    let last = message.rsplit_once(':')?.1.trim().trim_end_matches('.');
    let is_id = last.len() >= 8 && last.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    is_id.then_some(last)
}

#[cfg(test)]
mod tests {
    use super::id_in;

    #[test]
    fn the_id_stands_at_the_end_of_the_message() {
        let said = "The caller reference that you are using to create a distribution is associated with another distribution.";
        assert_eq!(
            id_in(&format!("{said} Already exists: E1SABCDEFGHIJ")),
            Some("E1SABCDEFGHIJ")
        );
        assert_eq!(
            id_in(&format!("{said} Already exists: E1SABCDEFGHIJ.")),
            Some("E1SABCDEFGHIJ")
        );
        assert_eq!(id_in(said), None);
        assert_eq!(id_in("Already exists: something else"), None);
        assert_eq!(id_in(""), None);
    }
}
