//! `runtime-bridge healthcheck`: asks the admin endpoint of a running bridge.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, StatusCode, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

/// The bridge to ask, and how long to wait.
#[derive(Debug, Clone, Args)]
pub struct HealthcheckArgs {
    /// Admin endpoint of the bridge.
    #[arg(long, env = "CROSSBRIDGE_ADMIN_ADDRESS", value_name = "ADDRESS", default_value = crate::admin::DEFAULT_ADDRESS)]
    pub admin_address: SocketAddr,
    /// Time it has to answer.
    #[arg(
        long,
        env = "CROSSBRIDGE_HEALTHCHECK_TIMEOUT",
        value_name = "DURATION",
        default_value = "3s",
        value_parser = crate::duration::parse_positive
    )]
    pub timeout: Duration,
}

/// Why a bridge does not count as ready.
#[derive(Debug, thiserror::Error)]
pub enum HealthcheckError {
    /// No answer came within the timeout.
    #[error("no bridge answers at {address}: {why}")]
    Unreachable {
        /// The admin address that was asked.
        address: SocketAddr,
        /// Why no answer came.
        why: String,
    },
    /// It answered that it is not ready.
    #[error("the bridge at {address} is not ready: {why}")]
    NotReady {
        /// The admin address that was asked.
        address: SocketAddr,
        /// The body of its answer: the checks that fail.
        why: String,
    },
}

/// Asks `/readyz` once.
pub async fn run(args: HealthcheckArgs) -> Result<(), HealthcheckError> {
    let address = args.admin_address;
    let unreachable = |why: String| HealthcheckError::Unreachable { address, why };
    let asked = timeout(args.timeout, ask(address, "/readyz")).await;
    let (status, text) = asked
        .map_err(|_| unreachable(format!("no answer within {:?}", args.timeout)))?
        .map_err(|error| unreachable(error.to_string()))?;
    if status == StatusCode::OK {
        return Ok(());
    }
    Err(HealthcheckError::NotReady {
        address,
        why: text.trim().replace('\n', "; "),
    })
}

/// What an admin endpoint answers.
pub async fn ask(
    address: SocketAddr,
    path: &str,
) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(path)
        .header("host", address.to_string())
        .body(Empty::<Bytes>::new())?;
    let exchange = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::pin!(exchange);
    tokio::pin!(connection);
    tokio::select! {
        answered = &mut exchange => answered,
        ended = &mut connection => {
            ended?;
            exchange.await
        }
    }
}
