//! Files that are replaced whole.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::CertificateError;

/// Whole or not at all, for whoever reads it meanwhile. `secret`: for its owner's eyes alone.
pub fn write(path: &Path, text: &str, secret: bool) -> Result<(), CertificateError> {
    let unfinished = path.with_extension("unfinished");
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // Its mode would be that of who left it.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mode = if secret { 0o600 } else { 0o644 };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    written().map_err(|cause| CertificateError::Write {
        path: path.to_owned(),
        cause,
    })
}
