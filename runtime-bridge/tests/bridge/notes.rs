//! A plugin that keeps notes in memory, with one of every rule that a CRD can show.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crossbridge_sdk::{CredentialKey, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::{
    net::UnixStream,
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};

#[derive(Deserialize, JsonSchema)]
struct Settings {
    /// The author of every note, a setting of the config.
    #[allow(dead_code)]
    author: String,
}

/// Parameters of both kinds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "schemars")]
pub struct Parameters {
    /// What it is about.
    title: String,
    /// Its colour, once chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<String>,
    /// A sensitive value that protects the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "schemars")]
pub struct Status {
    locked: bool,
}

/// A note with this title is not created before [`Wall::released`] returns.
pub const SLOW: &str = "slow";

/// The upstream: the notes, and the switches of the test.
#[derive(Default)]
pub struct Wall {
    notes: Mutex<BTreeMap<String, (Parameters, bool)>>,
    /// Create calls that have come.
    pub creates: AtomicUsize,
    /// Notified when a Create has come.
    pub called: Notify,
    /// A slow one may go on.
    pub released: Notify,
}

struct Note(Arc<Wall>);
struct Board(Arc<Wall>);
struct Sticker(Arc<Wall>);
struct Memo(Arc<Wall>);
struct Decoy(Arc<Wall>);

fn kind(name: &str) -> Kind {
    kind_of("notes.example.org", name)
}

fn kind_of(group: &str, name: &str) -> Kind {
    let names = ExternalName::by_user("groceries").pattern("[a-z0-9-]+");
    let example = Example::new("groceries", &json!({ "title": "Buy milk" })).external_name("groceries");
    Kind::new(group, "v1alpha1", name, names)
        .recover_by_name()
        .visible_when_accepted()
        .sensitive("/password")
        .set_once("/colour")
        .connection_key("url", "Where it hangs.")
        .example(example)
}

macro_rules! resource {
    ($name:ident, $kind:expr) => {
        #[async_trait]
        impl Resource for $name {
            type Parameters = Parameters;
            type Status = Status;

            fn kind() -> Kind {
                $kind
            }

            async fn observe(
                &self,
                call: &Call,
                _: &Desired<Option<Parameters>>,
            ) -> Result<Observed<Self>, Failure> {
                let name = &call.target.external_name;
                let Some((parameters, locked)) = self.0.notes.lock().unwrap().get(name).cloned() else {
                    return Ok(Observed::absent());
                };
                Ok(Observation::new(name, parameters)
                    .status(Status { locked })
                    .ready()
                    .into())
            }

            async fn create(
                &self,
                call: &Call,
                create: &Create<Parameters>,
            ) -> Result<Outcome<Self>, Failure> {
                self.0.creates.fetch_add(1, Ordering::SeqCst);
                self.0.called.notify_one();
                if create.desired.parameters.title == SLOW {
                    self.0.released.notified().await;
                }
                self.put(call, &create.desired)
            }

            async fn update(
                &self,
                call: &Call,
                update: &Update<Parameters>,
            ) -> Result<Outcome<Self>, Failure> {
                self.put(call, &update.desired)
            }

            async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
                self.0
                    .notes
                    .lock()
                    .unwrap()
                    .remove(&call.target.external_name);
                Ok(Outcome::completed())
            }
        }

        impl $name {
            fn put(&self, call: &Call, desired: &Desired<Parameters>) -> Result<Outcome<Self>, Failure> {
                let locked = desired.sensitive("/password").is_some();
                let note = (desired.parameters.clone(), locked);
                self.0
                    .notes
                    .lock()
                    .unwrap()
                    .insert(call.target.external_name.clone(), note);
                Ok(Outcome::completed().connection("url", "note://wall"))
            }
        }
    };
}

resource!(Note, kind("Note"));
resource!(Board, kind("Board").cluster_scoped());
resource!(Sticker, kind("Sticker"));
resource!(Memo, kind_of("memos.example.org", "Memo"));
resource!(Decoy, kind_of("evil.example.org", "Decoy"));

/// Served from this process until it is dropped.
pub struct Notes {
    folder: TempDir,
    pub wall: Arc<Wall>,
    served: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Notes {
    pub fn start() -> Self {
        let mut notes = Self {
            folder: tempfile::tempdir().unwrap(),
            wall: Arc::default(),
            served: None,
        };
        notes.serve(notes.plugin("1.0.0"));
        notes
    }

    /// A plugin that publishes a kind of the notes' plugin, and one of its own.
    pub fn evil() -> Self {
        let mut evil = Self {
            folder: tempfile::tempdir().unwrap(),
            wall: Arc::default(),
            served: None,
        };
        let plugin = Plugin::new("evil.example.org", "1.0.0")
            .resource(Note(Arc::clone(&evil.wall)))
            .resource(Decoy(Arc::clone(&evil.wall)));
        evil.serve(plugin);
        evil
    }

    /// Another plugin, of memos.
    pub fn memos() -> Self {
        let mut memos = Self {
            folder: tempfile::tempdir().unwrap(),
            wall: Arc::default(),
            served: None,
        };
        memos.serve_memos();
        memos
    }

    pub fn serve_memos(&mut self) {
        let plugin = Plugin::new("memos.example.org", "1.0.0").resource(Memo(Arc::clone(&self.wall)));
        self.serve(plugin);
    }

    pub async fn stop(&mut self) {
        if let Some((stop, ended)) = self.served.take() {
            stop.send(()).unwrap();
            ended.await.unwrap();
        }
    }

    pub fn start_again(&mut self) {
        self.serve(self.plugin("1.0.0"));
    }

    /// Ends it, and starts a version that serves one kind more.
    pub async fn upgrade(&mut self) {
        self.stop().await;
        self.serve(self.plugin("1.1.0").resource(Sticker(Arc::clone(&self.wall))));
    }

    fn plugin(&self, version: &str) -> Plugin {
        Plugin::new("notes.example.org", version)
            .settings::<Settings>()
            .credential(CredentialKey::new("token", "Opens the box.").required())
            .check_config(|_| async { Ok("desk".to_owned()) })
            .resource(Note(Arc::clone(&self.wall)))
            .resource(Board(Arc::clone(&self.wall)))
    }

    fn serve(&mut self, plugin: Plugin) {
        let (stop, stopped) = oneshot::channel();
        let endpoint = self.endpoint();
        let ended = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            plugin.serve_at(&endpoint, stopped).await.unwrap();
        });
        self.served = Some((stop, ended));
    }

    pub fn endpoint(&self) -> String {
        format!("unix://{}", socket(self.folder.path()).display())
    }

    /// Likewise, once it listens: `call` asks once, and waits for nobody.
    pub async fn listening(&self) -> String {
        let socket = socket(self.folder.path());
        let listens = async {
            while UnixStream::connect(&socket).await.is_err() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(30), listens)
            .await
            .expect("the plugin listens");
        self.endpoint()
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        if let Some((stop, _)) = self.served.take() {
            let _ = stop.send(());
        }
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("notes.sock")
}
