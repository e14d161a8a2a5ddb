//! Control planes that one test after the other uses: what a test leaves is removed from etcd. To start one costs seconds of processor time.
//!
//! That nothing is left is judged by what is stored and by the kinds that are served. What an API server has in its memory alone does not show: for a
//! moment it may serve a former schema in its OpenAPI documents, and go by a role, webhook, policy or quota that was deleted. So tests that make any of
//! these take a control plane of their own, [`TestPlane::start`]; one on which any is left is not lent again.

mod content;
mod etcd;
#[cfg(test)]
mod tests;

use std::{
    ops::{Deref, DerefMut},
    time::{Duration, Instant},
};

use bridge_control_plane::{ControlPlane, Options, StartError};
use parking_lot::Mutex;

pub use self::content::Unusable;
use self::{
    content::{ApiServer, Content, left},
    etcd::Etcd,
};

/// Each wait ends after this. Removing what was left takes a fraction of a second.
const LIMIT: Duration = Duration::from_secs(20);

/// Those of one process.
pub struct ControlPlanes {
    /// CRDs that all have, as YAML.
    definitions: &'static [&'static str],
    idle: Mutex<Vec<Prepared>>,
}

/// The control plane of one test.
pub struct TestPlane(Option<Plane>);

enum Plane {
    Own(Box<ControlPlane>),
    Lent(Box<Prepared>, &'static ControlPlanes),
}

struct Prepared {
    plane: ControlPlane,
    api_server: ApiServer,
    etcd: Etcd,
    before: Content,
}

/// Why there is no control plane.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A new one does not come to what is to be there in the beginning.
    #[error("a new control plane cannot be prepared: {0}")]
    Unusable(#[from] Unusable),
}

impl ControlPlanes {
    /// None is started yet. Each will have these CRDs, which are YAML.
    pub const fn new(definitions: &'static [&'static str]) -> Self {
        Self {
            definitions,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// One that nobody uses and that is as new, or another.
    pub async fn take(&'static self) -> Result<TestPlane, Error> {
        loop {
            let idle = self.idle.lock().pop();
            let Some(idle) = idle else {
                let new = Prepared::new(self.definitions).await?;
                return Ok(TestPlane::lent(new, self));
            };
            match idle.restore().await {
                Ok(()) => return Ok(TestPlane::lent(idle, self)),
                Err(why) => eprintln!("a control plane cannot be used again: {why}"),
            }
        }
    }
}

impl Prepared {
    async fn new(definitions: &[&str]) -> Result<Self, Error> {
        let plane = ControlPlane::start(Options::default()).await?;
        let api_server = ApiServer::of(&plane)?;
        for definition in definitions {
            api_server.define(definition).await?;
        }
        let etcd = Etcd::of(&plane);
        api_server.until_served(definitions).await?;
        let before = Content::at_rest(&api_server, &etcd).await?;
        Ok(Self {
            plane,
            api_server,
            etcd,
            before,
        })
    }

    /// Removes what was left, until all is as before.
    async fn restore(&self) -> Result<(), Unusable> {
        let begun = Instant::now();
        loop {
            let now = Content::at_rest(&self.api_server, &self.etcd).await?;
            if now == self.before {
                return Ok(());
            }
            if begun.elapsed() > LIMIT {
                return Err(Unusable::Late(LIMIT));
            }
            self.etcd.delete(&left(&self.before.keys, &now.keys)?).await?;
        }
    }
}

impl TestPlane {
    /// One of its own, which ends when this is dropped: for tests that need other options, or make what rules over requests.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let plane = ControlPlane::start(options).await?;
        Ok(Self(Some(Plane::Own(Box::new(plane)))))
    }

    fn lent(prepared: Prepared, by: &'static ControlPlanes) -> Self {
        Self(Some(Plane::Lent(Box::new(prepared), by)))
    }
}

impl Deref for TestPlane {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        match self.0.as_ref().expect("until it is dropped") {
            Plane::Own(plane) => plane,
            Plane::Lent(prepared, _) => &prepared.plane,
        }
    }
}

impl DerefMut for TestPlane {
    fn deref_mut(&mut self) -> &mut ControlPlane {
        match self.0.as_mut().expect("until it is dropped") {
            Plane::Own(plane) => plane,
            Plane::Lent(prepared, _) => &mut prepared.plane,
        }
    }
}

impl Drop for TestPlane {
    /// Another test gets one that was lent. A test that failed may have left anything.
    fn drop(&mut self) {
        if let Some(Plane::Lent(prepared, planes)) = self.0.take()
            && !std::thread::panicking()
        {
            planes.idle.lock().push(*prepared);
        }
    }
}
