//! grpcurl, for sessions by hand.

use std::path::PathBuf;

use bridge_control_plane::{
    cache::{self, CacheError},
    process::{ScratchDir, Spawn},
};

use crate::{BuildError, build::install};

const VERSION: &str = "v1.9.4";

impl From<CacheError> for BuildError {
    fn from(error: CacheError) -> Self {
        Self::Step {
            tool: "the cache".to_owned(),
            status: "an error".to_owned(),
            said: error.to_string(),
        }
    }
}

/// The folder of the `grpcurl` program. Its build takes a minute or two, the first time.
///
/// # Errors
/// What the tool said that failed.
pub async fn grpcurl() -> Result<PathBuf, BuildError> {
    cache::entry(&format!("grpcurl-{VERSION}"), async |folder| {
        eprintln!("building grpcurl {VERSION}: once, a minute or two");
        let scratch = ScratchDir::new("crossbridge-grpcurl-").map_err(BuildError::file(folder))?;
        let module = format!("github.com/fullstorydev/grpcurl/cmd/grpcurl@{VERSION}");
        install(|| {
            Spawn::new("go")
                .args(["install", "-trimpath", &module])
                .env("GOBIN", folder)
                .current_dir(scratch.path())
        })
        .await
    })
    .await
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_names_this_grpcurl_version() {
        let document = include_str!("../../../docs/debugging.md");
        assert!(document.contains(&format!("/grpcurl@{}\n", super::VERSION)));
    }
}
