//! The binaries of the control plane: found, or built from the pins of our Go module.

mod build;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cache::{self, CacheError};

/// A folder with `etcd`, `kube-apiserver` and `kubectl`, which is what `KUBEBUILDER_ASSETS` means by convention, and
/// mostly `kube-controller-manager`.
#[derive(Clone, Debug)]
pub struct Assets {
    directory: PathBuf,
}

/// Why there are no binaries.
#[derive(Debug, thiserror::Error)]
pub enum AssetsError {
    /// `KUBEBUILDER_ASSETS` does not point at a control plane.
    #[error(
        "KUBEBUILDER_ASSETS is {}, where there is no {missing}: point it at a folder with etcd, kube-apiserver and kubectl, \
         or unset it and they are built",
        directory.display()
    )]
    Incomplete {
        /// The value of the variable.
        directory: PathBuf,
        /// The first binary that is absent.
        missing: &'static str,
    },
    /// The control plane that `KUBEBUILDER_ASSETS` names is one without controllers.
    #[error(
        "{} has no kube-controller-manager, which is needed here: add it, or unset KUBEBUILDER_ASSETS and it is built",
        directory.display()
    )]
    NoControllerManager {
        /// Where the other binaries are.
        directory: PathBuf,
    },
    /// The cache for what was built cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The build could not be started.
    #[error(
        "building the control plane needs Go {} or newer ({cause}); install it, or set KUBEBUILDER_ASSETS to a folder with \
         etcd, kube-apiserver, kube-controller-manager and kubectl",
        build::go_version()
    )]
    NoGo {
        /// What starting it said.
        cause: String,
    },
    /// `go build` ended with an error.
    #[error("building the control plane failed ({status}). The last lines of `go build`:\n{last_lines}")]
    Build {
        /// How the build ended.
        status: String,
        /// What it said at the end.
        last_lines: String,
    },
}

impl Assets {
    /// The binaries that `KUBEBUILDER_ASSETS` names; else those built earlier from the same pins; else they are built, which
    /// takes some eight minutes of processor time and reports on standard error how far it is.
    pub async fn find_or_build() -> Result<Self, AssetsError> {
        if let Some(directory) = named(std::env::var_os("KUBEBUILDER_ASSETS"))? {
            return Ok(Self { directory });
        }
        let directory = cache::entry(&build::cache_name(), build::into_folder).await?;
        Ok(Self { directory })
    }

    /// Where the binaries are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Path of the program `etcd`.
    pub fn etcd(&self) -> PathBuf {
        self.directory.join("etcd")
    }

    /// Path of the program `kube-apiserver`.
    pub fn kube_apiserver(&self) -> PathBuf {
        self.directory.join("kube-apiserver")
    }

    /// Path of the program `kubectl`.
    pub fn kubectl(&self) -> PathBuf {
        self.directory.join("kubectl")
    }

    /// `kube-controller-manager`, which folders created for `KUBEBUILDER_ASSETS` often lack.
    pub fn kube_controller_manager(&self) -> Result<PathBuf, AssetsError> {
        let path = self.directory.join("kube-controller-manager");
        if path.is_file() {
            Ok(path)
        } else {
            Err(AssetsError::NoControllerManager {
                directory: self.directory.clone(),
            })
        }
    }
}

fn named(variable: Option<OsString>) -> Result<Option<PathBuf>, AssetsError> {
    let Some(directory) = variable.filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    match ["etcd", "kube-apiserver", "kubectl"]
        .into_iter()
        .find(|name| !directory.join(name).is_file())
    {
        Some(missing) => Err(AssetsError::Incomplete { directory, missing }),
        None => Ok(Some(directory)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_named_folder_must_have_the_binaries() {
        assert!(named(None).unwrap().is_none());
        assert!(named(Some(OsString::new())).unwrap().is_none());

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("etcd"), "").unwrap();
        let error = named(Some(folder.path().into())).unwrap_err();
        assert!(
            matches!(
                error,
                AssetsError::Incomplete {
                    missing: "kube-apiserver",
                    ..
                }
            ),
            "{error}"
        );

        fs::write(folder.path().join("kube-apiserver"), "").unwrap();
        fs::write(folder.path().join("kubectl"), "").unwrap();
        assert_eq!(
            named(Some(folder.path().into())).unwrap().as_deref(),
            Some(folder.path())
        );
        let error = Assets {
            directory: folder.path().to_owned(),
        }
        .kube_controller_manager()
        .unwrap_err();
        assert!(
            matches!(error, AssetsError::NoControllerManager { .. }),
            "{error}"
        );
    }
}
