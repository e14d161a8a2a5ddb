//! A Unix socket that only its owner can reach, or the group of a folder that says so, and that leaves no file behind.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixStream};
use uuid::Uuid;

use super::ServeError;

/// A bound socket, and its file.
#[derive(Debug)]
pub(super) struct UnixSocket {
    pub(super) listener: UnixListener,
    pub(super) file: SocketFile,
}

/// Removes the file when dropped, if it is still this process's.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl UnixSocket {
    /// Binds a socket of mode 0600; in a folder with the setgid bit, 0660. A file left behind by a process that has ended is replaced.
    ///
    /// # Errors
    /// [`ServeError::Socket`]: another process listens there, or the file is no socket, or it cannot be created.
    pub(super) async fn bind(path: PathBuf) -> Result<Self, ServeError> {
        let refuse = |why: String| ServeError::Socket {
            path: path.clone(),
            why,
        };
        reject_if_in_use(&path).await.map_err(refuse)?;
        // Bound under another name first, so that no process ever finds it with a wider mode, and a stale file goes in the same step.
        let temporary = beside(&path);
        let listener = UnixListener::bind(&temporary).map_err(|error| refuse(error.to_string()))?;
        let placed = place(&temporary, &path);
        let (device, inode) = placed.map_err(|error| {
            // It is ours alone, whatever became of it.
            let _ = fs::remove_file(&temporary);
            refuse(error.to_string())
        })?;
        Ok(Self {
            listener,
            file: SocketFile { path, device, inode },
        })
    }
}

/// A name in the same folder that no other process uses: random, as processes of several containers have the same id, and short, as sockets have
/// little room for their paths.
fn beside(path: &Path) -> PathBuf {
    let (random, ..) = Uuid::new_v4().as_fields();
    path.with_file_name(format!(".{random:08x}"))
}

/// A folder whose files are its group's by the setgid bit: the bridge then runs as another user of that group.
fn is_shared(folder: &Path) -> io::Result<bool> {
    Ok(fs::metadata(folder)?.mode() & 0o2000 != 0)
}

fn place(temporary: &Path, path: &Path) -> io::Result<(u64, u64)> {
    let shared = temporary.parent().map_or(Ok(false), is_shared)?;
    let mode = if shared { 0o660 } else { 0o600 };
    fs::set_permissions(temporary, Permissions::from_mode(mode))?;
    let metadata = fs::symlink_metadata(temporary)?;
    fs::rename(temporary, path)?;
    Ok((metadata.dev(), metadata.ino()))
}

async fn reject_if_in_use(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err("there is a file that is no socket; remove it, or name another path".to_owned());
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Ok(_) => Err("another process serves there; stop it, or name another path".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(format!(
            "cannot find out whether another process serves there: {error}"
        )),
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (self.device, self.inode));
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "failed to remove the socket file: the next start replaces it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, UnixSocket, beside};

    #[tokio::test]
    async fn two_processes_of_one_id_do_not_take_each_other_s_socket() {
        // Containers that share a folder, and each of whose plugins is process 1.
        let path = Path::new("/run/plugin.sock");
        assert_ne!(beside(path), beside(path));
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("a.sock");
        let socket = UnixSocket::bind(own.clone()).await.expect("it is bound");
        let names = || std::fs::read_dir(folder.path()).expect("a folder").count();
        assert!(own.exists() && names() == 1, "nothing else stays");
        drop(socket);
        assert_eq!(names(), 0);
    }
}
