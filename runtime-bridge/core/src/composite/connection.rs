//! Connection details: what of them a legacy composite resource is to publish now (reference 5.4).

use std::time::Duration;

use jiff::Timestamp;

use super::{
    context::Context,
    digest::ContentDigest,
    publication::{FailedPublication, Publication, SecretName},
    secrets::own_secret,
    snapshot::RunState,
};

/// What was written is shown by its watch within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// What is to be published, and is not; `Err`: until when it waits.
pub(super) fn due(of: &Context) -> Option<Result<Publication, Timestamp>> {
    let publication = desired(of)?;
    let digest = ContentDigest::of_secret(&publication.data);
    let (now, shown) = (of.snapshot.now, version(of, &publication.secret));
    let known = of.memory.published.as_ref();
    let known = known.filter(|known| known.secret == publication.secret && known.digest == digest);
    if let Some(known) = known {
        match shown {
            Some(version) if version <= known.version => return None,
            None if !of.snapshot.secrets_watched => return None,
            None if now < known.at + SHOWN_WITHIN => return Some(Err(known.at + SHOWN_WITHIN)),
            Some(_) | None if now < known.again_at() => return Some(Err(known.again_at())),
            Some(_) | None => {}
        }
    }
    let failed = of.memory.failed_publication.as_ref();
    let same = failed.filter(|failed| {
        failed.secret == publication.secret && failed.version == shown && failed.digest == digest
    });
    match same {
        Some(failed) if now < failed.retry_at => Some(Err(failed.retry_at)),
        _ => Some(Ok(publication)),
    }
}

/// Why what is to be published is not, if that is no matter of a moment.
pub(super) fn failure<'a>(of: &'a Context) -> Option<&'a FailedPublication> {
    let failed = of.memory.failed_publication.as_ref()?;
    (!failed.is_conflict && due(of).is_some()).then_some(failed)
}

/// Version of a Secret, if it is known.
pub(super) fn version(of: &Context, secret: &SecretName) -> Option<u64> {
    of.snapshot.secrets.get(secret).copied().flatten()
}

fn desired(of: &Context) -> Option<Publication> {
    let secret = own_secret(&of.snapshot.xr)?;
    let RunState::Ended { outcome, .. } = &of.snapshot.run else {
        return None;
    };
    // Of a run for something else there is no plan.
    of.plan.as_ref()?;
    let composite = outcome.result.as_ref().ok()?.composite.as_ref();
    let details = composite.map(|one| one.connection_details.clone());
    let mut data = details.unwrap_or_default();
    let keys = &of.snapshot.connection_keys;
    if !keys.is_empty() {
        data.0.retain(|key, _| keys.contains(key));
    }
    Some(Publication { secret, data })
}
