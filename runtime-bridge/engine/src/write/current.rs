//! Whether what a decision was made on is still what is stored.

use http::{HeaderValue, Method, header};

use super::{Writer, decode, request};
use crate::{api_error::ApiError, client::METADATA_ONLY, object::Object};

impl Writer {
    /// Before a write that the object's own version does not guard: it is as the watch has shown it. A watch may lag, above all that of a process that has just
    /// begun to lead. Such writes are rare; at rest nothing is read.
    ///
    /// # Errors
    /// [`ApiError::NotSent`] if this process may not act, [`ApiError::Conflict`] if the object is another than was seen, and whatever reading it gives.
    pub(crate) async fn verify_current(
        &self,
        object: &Object,
        may_act: impl Fn() -> bool,
    ) -> Result<(), ApiError> {
        if !may_act() {
            return Err(ApiError::NotSent);
        }
        let identity = |object: &Object| (object.uid().to_owned(), object.resource_version());
        let changed = || ApiError::Conflict(format!("{} has changed since it was seen", object.key()));
        match self.get_metadata(object).await {
            Ok(live) if identity(&live) == identity(object) => {}
            Ok(_) => {
                // So that whoever comes back sees the newer one. Else the watch brings it.
                let _ = self.get_live(&object.api, &object.key()).await;
                return Err(changed());
            }
            Err(ApiError::NotFound(_)) => return Err(changed()),
            Err(error) => return Err(error),
        }
        // The answer may have taken its time.
        if may_act() { Ok(()) } else { Err(ApiError::NotSent) }
    }

    /// By the API server itself. A composition may be of a megabyte.
    async fn get_metadata(&self, of: &Object) -> Result<Object, ApiError> {
        let path = of.api.object_path(&of.key())?;
        let mut request = request(Method::GET, &path, None, Vec::new())?;
        let only = HeaderValue::from_static(METADATA_ONLY);
        request.headers_mut().insert(header::ACCEPT, only);
        let answer = self.client.call_text("get", &of.api.plural, request).await?;
        decode(&of.api, &answer)
    }
}
