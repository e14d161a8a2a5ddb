//! The files of the bridge's side of mutual TLS.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// Files of the bridge's side of mutual TLS, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities that may have signed the server's certificate.
    pub ca: PathBuf,
    /// The bridge's certificate chain.
    pub certificate: PathBuf,
    /// The private key of that certificate.
    pub key: PathBuf,
}

/// A file that cannot be read.
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// What changes when the files are written anew. A file that is missing has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamps([Option<Stamp>; 3]);

/// One file and its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl TlsFiles {
    /// `ca.crt`, `tls.crt` and `tls.key`, as in a Secret of type `kubernetes.io/tls` that is mounted there.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            ca: folder.join("ca.crt"),
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
        }
    }

    /// With what the files hold now.
    pub(crate) fn config(&self) -> Result<ClientTlsConfig, Unreadable> {
        Ok(ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(read(&self.ca)?))
            .identity(Identity::from_pem(read(&self.certificate)?, read(&self.key)?)))
    }

    pub(crate) fn stamps(&self) -> Stamps {
        Stamps([&self.ca, &self.certificate, &self.key].map(|path| {
            let of = fs::metadata(path).ok()?;
            Some(Stamp {
                device: of.dev(),
                inode: of.ino(),
                size: of.size(),
                changed: (of.ctime(), of.ctime_nsec()),
            })
        }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    fs::read(path).map_err(|source| Unreadable {
        path: path.to_owned(),
        source,
    })
}
