//! The emulator: moto, the proxy before it, and the handle by which tests control both.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::aws::{Aws, CallError, Credentials, SignedCall};
use crate::fault::Fault;
use crate::inventory::{Distribution, Inventory};
use crate::moto::{Moto, MotoError};
use crate::proxy::{self, Proxy, Upstream};
use crate::service::Service;
use crate::settle::Settle;
use crate::users;

/// What the emulated AWS checks, and how slow it is.
#[derive(Debug, Clone)]
pub struct Options {
    /// Check signatures and permissions. There is one user then, who may do everything: [`AwsEmulator::credentials`].
    pub auth: bool,
    /// Listen here; `None`: on any free port of the loopback.
    pub port: Option<u16>,
    /// How long a table is `CREATING`, `UPDATING`, `DELETING`; reads are those of `DescribeTable`.
    pub table_settles: Settle,
    /// How long a table's tag list is the former one; reads are those of `ListTagsOfResource`.
    pub table_tags_settle: Settle,
    /// How long a distribution is `InProgress`; reads are those of `GetDistribution`.
    pub distribution_settles: Settle,
    /// How long the name of a deleted queue cannot be used.
    pub queue_name_rests: Duration,
}

impl Default for Options {
    /// Nothing is checked, slow things take two reads, tags are there at once, and queue names rest as long as with AWS.
    fn default() -> Self {
        Self {
            auth: false,
            port: None,
            table_settles: Settle::Reads(2),
            table_tags_settle: Settle::AtOnce,
            distribution_settles: Settle::Reads(2),
            queue_name_rests: Duration::from_mins(1),
        }
    }
}

/// Why there is no emulator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Moto does not run.
    #[error("cannot start moto: {0}")]
    Moto(#[from] MotoError),
    /// The proxy cannot listen.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address that cannot be bound.
        address: SocketAddr,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The first user cannot be created.
    #[error("cannot create the first user: {0}")]
    User(#[from] CallError),
}

/// An AWS of one's own. Deleted when dropped, and when this process ends, however it ends.
#[derive(Debug)]
pub struct AwsEmulator {
    address: SocketAddr,
    options: Options,
    proxy: Arc<Proxy>,
    aws: Aws,
    credentials: Mutex<Credentials>,
    users_created: AtomicU64,
    // Of its own, so that an emulator shared by tests outlives the runtime of the test that started it.
    runtime: Option<Runtime>,
    _moto: Moto,
}

impl AwsEmulator {
    /// Starts one. The first time on a machine this installs moto, which takes half a minute and is reported on standard error.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let moto = Moto::start(options.auth.then_some(users::CALLS)).await?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port.unwrap_or(0)));
        let listen = |cause| StartError::Listen {
            address: wanted,
            cause,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("aws-emulator")
            .enable_all()
            .build()
            .map_err(listen)?;
        let upstream = Upstream::new(moto.address);
        let proxy = Arc::new(Proxy::new(upstream.clone(), &options));
        let serving = Arc::clone(&proxy);
        let address = runtime
            .spawn(async move {
                let listener = TcpListener::bind(wanted).await?;
                let address = listener.local_addr()?;
                tokio::spawn(proxy::serve(serving, listener));
                Ok(address)
            })
            .await
            .map_err(|error| listen(error.into()))?
            .map_err(listen)?;
        let emulator = Self {
            address,
            options,
            proxy,
            aws: Aws::new(upstream, address),
            credentials: Mutex::new(Credentials::unchecked()),
            users_created: AtomicU64::new(0),
            runtime: Some(runtime),
            _moto: moto,
        };
        emulator.create_first_user().await?;
        Ok(emulator)
    }

    /// `http://127.0.0.1:PORT`: the endpoint of every service. Addresses of S3 are path style.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Keys that may do everything. Without `auth` any others do as well.
    pub fn credentials(&self) -> Credentials {
        self.credentials
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keys of a new user who may do only `actions`: `["s3:*"]`. Checked only if `auth` is on.
    pub async fn create_user(&self, actions: &[&str]) -> Result<Credentials, CallError> {
        let number = self.users_created.fetch_add(1, Ordering::Relaxed);
        users::create(&self.aws, &self.credentials(), &format!("user-{number}"), actions).await
    }

    /// How often this action (`CreateTable`, as in the API reference) was called, whatever became of it.
    pub fn calls(&self, service: Service, action: &str) -> u64 {
        self.proxy.calls.of(service, action)
    }

    /// All calls of all services.
    pub fn all_calls(&self) -> u64 {
        self.proxy.calls.all().values().sum()
    }

    /// Adds a fault for calls to come.
    pub fn inject(&self, fault: Fault) {
        self.proxy.faults.add(fault);
    }

    /// Removes every fault that has not been used up.
    pub fn clear_faults(&self) {
        self.proxy.faults.clear();
    }

    /// Marks a bucket name as owned by another account.
    pub fn give_bucket_away(&self, name: &str) {
        self.proxy
            .with_behaviors(|behaviors| behaviors.give_bucket_away(name));
    }

    /// Back to an empty AWS without calls and faults. With `auth` there is a new user.
    pub async fn reset(&self) -> Result<(), CallError> {
        self.moto_api("/moto-api/reset", String::new()).await?;
        self.proxy.with_behaviors(crate::behaviors::Behaviors::reset);
        self.proxy.faults.clear();
        self.proxy.calls.reset();
        if self.options.auth {
            self.moto_api("/moto-api/reset-auth", users::CALLS.to_string())
                .await?;
        }
        self.create_first_user().await
    }

    /// Names of the buckets that exist.
    pub async fn buckets(&self) -> Result<Vec<String>, CallError> {
        self.inventory().buckets().await
    }

    /// URLs of the queues that exist in a region.
    pub async fn queues(&self, region: &str) -> Result<Vec<String>, CallError> {
        self.inventory().queues(region).await
    }

    /// Names of the tables that exist in a region; one that is being deleted is none.
    pub async fn tables(&self, region: &str) -> Result<Vec<String>, CallError> {
        self.inventory().tables(region).await
    }

    /// The distributions that exist.
    pub async fn distributions(&self) -> Result<Vec<Distribution>, CallError> {
        self.inventory().distributions().await
    }

    fn inventory(&self) -> Inventory {
        Inventory {
            aws: self.aws.clone(),
            who: self.credentials(),
        }
    }

    async fn create_first_user(&self) -> Result<(), CallError> {
        if !self.options.auth {
            return Ok(());
        }
        let keys = users::create(&self.aws, &Credentials::unchecked(), "first", &["*"]).await?;
        *self.credentials.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    async fn moto_api(&self, path: &str, body: String) -> Result<(), CallError> {
        let call = SignedCall {
            method: Method::POST,
            body,
            ..SignedCall::get("moto", path)
        };
        self.aws.call(&Credentials::unchecked(), call).await.map(drop)
    }
}

impl Drop for AwsEmulator {
    fn drop(&mut self) {
        // A runtime must not be waited for where it may be dropped inside another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
