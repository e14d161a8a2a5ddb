//! Connects to a Unix socket where a certain user's process listens, and to no other's: whoever may write to the folder could have put another
//! socket there.

use std::{io, path::PathBuf};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

/// A channel that connects when it is first used. Nothing is sent to a process of another user.
pub(crate) fn channel(endpoint: &Endpoint, path: PathBuf, user: u32) -> Channel {
    endpoint.connect_with_connector_lazy(tower::service_fn(move |_: Uri| connect(path.clone(), user)))
}

async fn connect(path: PathBuf, user: u32) -> io::Result<TokioIo<UnixStream>> {
    let stream = UnixStream::connect(path).await?;
    let found = stream.peer_cred()?.uid();
    if found != user {
        let why = format!("what listens there runs as user {found}, and must run as user {user}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(TokioIo::new(stream))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt};

    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_process_of_another_user_is_not_connected_to() {
        let path = std::env::temp_dir().join(format!("crossbridge-peer-{}", std::process::id()));
        let _listener = UnixListener::bind(&path).unwrap();
        let own = fs::metadata(&path).unwrap().uid();
        let connected = connect(path.clone(), own).await.map(drop);
        let refused = connect(path.clone(), own + 1).await.map(drop);
        fs::remove_file(path).unwrap();
        assert!(connected.is_ok(), "{connected:?}");
        assert_eq!(
            refused.unwrap_err().to_string(),
            format!(
                "what listens there runs as user {own}, and must run as user {}",
                own + 1
            )
        );
    }
}
