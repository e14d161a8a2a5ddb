//! One configured plugin each, connected in the background: none waits for another.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::back_off::policies;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{CallMetrics, Connected, Groups, PluginAddress, PluginArgs, PluginsError, connect};

/// Once one plugin is connected, the others are waited for so long before the engine starts: what is there begins together.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// A plugin that is not there after so many tries is worth a warning: after about 20 s.
const PATIENCE: u32 = 14;

/// How a configured plugin stands.
#[derive(Clone)]
pub enum Standing {
    /// It has not answered yet.
    Asked,
    /// It cannot be served: why. It is asked again.
    Failed(PluginsError),
    /// It was connected to, and is watched over from then on.
    Connected(Box<Connected>),
}

/// One plugin that is configured, whether or not it answers.
#[derive(Clone)]
pub struct PluginLink {
    /// Where it listens, for people.
    pub endpoint: String,
    standing: watch::Receiver<Standing>,
    groups: Arc<Groups>,
}

/// The endpoints of plugins that `--plugin` names, or that were connected to, by name: a second one of that name is not served.
type Names = Arc<Mutex<BTreeMap<String, String>>>;

impl PluginLink {
    /// To one that is connected as soon as this ends: for simulation.
    pub fn connecting(
        endpoint: &str,
        connected: impl Future<Output = Connected> + Send + 'static,
        stop: CancellationToken,
    ) -> Self {
        let (standings, standing) = watch::channel(Standing::Asked);
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let connected = connected.await;
            standings.send_replace(Standing::Connected(Box::new(connected)));
        }));
        Self {
            endpoint: endpoint.to_owned(),
            standing,
            groups: Arc::default(),
        }
    }

    /// Which plugin may serve kinds of which API group.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// How it stands now.
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Once it is connected. Cancel safe.
    pub async fn until_connected(mut self) {
        let is = |standing: &Standing| matches!(standing, Standing::Connected(_));
        if self.standing.wait_for(is).await.is_err() {
            // The process stops.
            std::future::pending::<()>().await;
        }
    }

    /// Once it has answered, or the first question was in vain.
    async fn until_judged(mut self) {
        let is = |standing: &Standing| !matches!(standing, Standing::Asked);
        let _ = self.standing.wait_for(is).await;
    }
}

impl PluginArgs {
    /// Begins to connect to each, until `stop`.
    pub fn links(&self, calls: &Arc<CallMetrics>, stop: &CancellationToken) -> Vec<PluginLink> {
        let pinned = self.addresses.iter().filter_map(|address| {
            let name = address.name.clone()?;
            Some((name, address.endpoint.to_string()))
        });
        let names = Names::new(Mutex::new(pinned.collect()));
        let groups = Arc::new(self.groups());
        let addresses = self.addresses.iter();
        addresses
            .map(|address| {
                let (standings, standing) = watch::channel(Standing::Asked);
                let (of, address) = (self.clone(), address.clone());
                let endpoint = address.endpoint.to_string();
                let (calls, names, stop) = (Arc::clone(calls), Arc::clone(&names), stop.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => {}
                        () = of.link(&address, &calls, &names, &standings, &stop) => {}
                    }
                });
                PluginLink {
                    endpoint,
                    standing,
                    groups: Arc::clone(&groups),
                }
            })
            .collect()
    }

    /// Asks until the plugin is connected, then watches over it.
    async fn link(
        &self,
        address: &PluginAddress,
        calls: &Arc<CallMetrics>,
        names: &Names,
        standings: &watch::Sender<Standing>,
        stop: &CancellationToken,
    ) {
        let mut failures = 0;
        loop {
            let connected = match self.options(address, calls) {
                Ok(options) => connect(address, options).await,
                Err(error) => Err(error),
            };
            let connected = connected.and_then(|(connected, supervision)| {
                claim(names, &connected)?;
                Ok((connected, supervision))
            });
            let error = match connected {
                Ok((connected, supervision)) => {
                    standings.send_replace(Standing::Connected(Box::new(connected)));
                    return supervision.run(stop.clone()).await;
                }
                Err(error) => error,
            };
            let text = error.to_string();
            let is_known =
                matches!(&*standings.borrow(), Standing::Failed(known) if known.to_string() == text);
            failures += 1;
            // At start it may be there in a moment.
            let is_early = error.is_temporary() && failures < PATIENCE;
            if is_early && failures == 1 {
                tracing::info!(endpoint = %address.endpoint, %error, "waiting for the plugin");
            } else if !is_early && (!is_known || failures == PATIENCE) {
                tracing::warn!(endpoint = %address.endpoint, %error, "failed to connect to the plugin: tried again");
            }
            // What is wrong with it, only its operator mends.
            let wait = if error.is_temporary() {
                policies::STARTUP.wait(failures, 0.0)
            } else {
                policies::PLUGIN.wait(u32::MAX, 0.0)
            };
            standings.send_replace(Standing::Failed(error));
            sleep(wait).await;
        }
    }
}

fn claim(names: &Names, connected: &Connected) -> Result<(), PluginsError> {
    let name = connected.served().info.name.clone();
    let second = connected.endpoint.to_string();
    let mut names = names.lock();
    match names.get(&name) {
        Some(first) if *first != second => Err(PluginsError::SamePlugin {
            name,
            first: first.clone(),
            second,
        }),
        _ => {
            names.insert(name, second);
            Ok(())
        }
    }
}

/// Waits until all are connected, or one is and the others had their time. An error if none is until then, or none ever can be as they
/// are. Without `until` something else is served, which waits for no plugin for long, whatever is wrong with it.
pub async fn any_connected(links: &[PluginLink], until: Option<Instant>) -> Result<(), PluginsError> {
    if links.is_empty() {
        return Ok(());
    }
    let end = until.unwrap_or_else(|| Instant::now() + STRAGGLERS);
    let all_judged = futures::future::join_all(links.iter().cloned().map(PluginLink::until_judged));
    tokio::select! {
        biased;
        _ = all_judged => {}
        () = first_connected(links) => {}
        () = sleep_until(end) => {}
    }
    if let Some(error) = hopeless(links).filter(|_| until.is_some()) {
        return Err(error);
    }
    let all = futures::future::join_all(links.iter().cloned().map(PluginLink::until_connected));
    let one_and_a_while = async {
        first_connected(links).await;
        sleep(STRAGGLERS).await;
    };
    tokio::select! {
        biased;
        _ = all => Ok(()),
        () = one_and_a_while => Ok(()),
        () = sleep_until(end) => until.map_or(Ok(()), |_| failed(links)),
    }
}

async fn first_connected(links: &[PluginLink]) {
    let waits = links.iter().cloned().map(|link| Box::pin(link.until_connected()));
    futures::future::select_all(waits).await;
}

/// None is connected, and for none it is worth waiting.
fn hopeless(links: &[PluginLink]) -> Option<PluginsError> {
    let errors: Option<Vec<PluginsError>> = links
        .iter()
        .map(|link| match link.standing() {
            Standing::Failed(error) if !error.is_temporary() => Some(error),
            Standing::Asked | Standing::Failed(_) | Standing::Connected(_) => None,
        })
        .collect();
    errors?.into_iter().next()
}

fn failed(links: &[PluginLink]) -> Result<(), PluginsError> {
    let mut last = Ok(());
    for link in links {
        match link.standing() {
            Standing::Connected(_) => return Ok(()),
            Standing::Failed(error) => last = last.and(Err(error)),
            Standing::Asked => {}
        }
    }
    last
}
