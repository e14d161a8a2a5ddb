//! Two kinds that do what a test asks for: `Thing`, named by the user, and `Job`, named upstream and asynchronous.
#![allow(missing_docs)]

pub mod job;

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crossbridge_sdk::{ConfigCall, CredentialKey, List, Listed, ListedItem, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const GROUP: &str = "things.example.org";

/// Most calls that were ever waiting at once.
pub static MOST_AT_ONCE: AtomicUsize = AtomicUsize::new(0);
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Where things are kept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    pub folder: PathBuf,
}

/// How the next call behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mood {
    #[default]
    Obliging,
    /// The call panics before anything is done.
    Panicking,
    /// The call never answers, and has done nothing.
    Hanging,
    /// Blocks a thread for longer than any test takes.
    Blocking,
    /// Records a name, then never answers.
    NamedThenHanging,
    /// Records a name, then meets an error.
    NamedThenFailing,
    /// Records a name, then panics.
    NamedThenPanicking,
    /// Records a name, then is throttled.
    NamedThenThrottled,
    /// Records a name, and reports that what had it is absent.
    NamedThenGone,
    /// Records a name, then does not process the call.
    NamedThenStatus,
    /// Records a name, then does not process the call, and reports a key beside that.
    NamedThenStatusBesideKey,
    /// Completes under a name, with an id that is too long and a key.
    NamedWithLongId,
    /// Completes under a name, with a key that is too large.
    NamedWithLargeKey,
    /// Waits until the folder holds a file `go`.
    Waiting,
    /// Answers a failure whose reason is out of form.
    BadReason,
    /// Answers a connection key that it never declared.
    BadDetails,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    #[serde(default)]
    pub mood: Mood,
    pub size: Option<i64>,
    pub password: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub bytes: usize,
}

pub struct Thing;

pub fn plugin() -> Plugin {
    Plugin::new("things.example.org", "1.2.3")
        .settings::<Settings>()
        .credential(CredentialKey::new("key", "Opens the folder.").required())
        .check_config(|call: ConfigCall| async move {
            let settings: Settings = call.config.settings()?;
            if fs::exists(&settings.folder)? {
                Ok(settings.folder.display().to_string())
            } else {
                Err(Failure::invalid_config("the folder is not there"))
            }
        })
        .max_concurrent_calls(2)
        .max_message_bytes(64 << 10)
        .resource(Thing)
        .resource(job::Job)
}

fn folder(call: &Call) -> Result<PathBuf, Failure> {
    Ok(call.config.settings::<Settings>()?.folder)
}

/// Fails as the mood asks for; returns if it is an obliging one.
async fn suffer(mood: Mood, call: &Call) -> Result<(), Failure> {
    match mood {
        Mood::Obliging | Mood::BadDetails | Mood::NamedWithLongId | Mood::NamedWithLargeKey => {}
        Mood::NamedThenStatusBesideKey => call.record_name("given"),
        Mood::Panicking => panic!("in a bad mood"),
        Mood::Hanging => std::future::pending::<()>().await,
        Mood::Blocking => {
            fs::write(folder(call)?.join("blocks"), "")?;
            let hang = || std::thread::sleep(std::time::Duration::from_hours(1));
            let _ = tokio::task::spawn_blocking(hang).await;
        }
        Mood::NamedThenHanging => {
            call.record_name("given");
            std::future::pending::<()>().await;
        }
        Mood::NamedThenFailing => {
            call.record_name("given");
            fs::read("/there/is/no/such/file")?;
        }
        Mood::NamedThenPanicking => {
            call.record_name("given");
            panic!("in a bad mood");
        }
        Mood::NamedThenThrottled => {
            call.record_name("given");
            return Err(Failure::throttled(Duration::from_secs(1), "slow down"));
        }
        Mood::NamedThenGone => {
            call.record_name("given");
            return Err(Failure::not_found("it is deleted again"));
        }
        Mood::NamedThenStatus => {
            call.record_name("given");
            return Err(Failure::invalid_argument("handle", "is none of this plugin's"));
        }
        Mood::BadReason => return Err(Failure::conflict("no").reason("out of form")),
        Mood::Waiting => {
            let folder = folder(call)?;
            let at_once = WAITING.fetch_add(1, Ordering::SeqCst) + 1;
            MOST_AT_ONCE.fetch_max(at_once, Ordering::SeqCst);
            fs::write(folder.join(format!("begun-{}", call.target.owner_uid)), "")?;
            while !fs::exists(folder.join("go"))? {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            WAITING.fetch_sub(1, Ordering::SeqCst);
        }
    }
    Ok(())
}

#[async_trait]
impl Resource for Thing {
    type Parameters = Parameters;
    type Status = Status;

    fn kind() -> Kind {
        let names = ExternalName::by_user("a-thing").pattern("[a-z-]+").max_length(20);
        Kind::new(GROUP, "v1", "Thing", names)
            .short_name("th")
            .category("things")
            .description("A thing.")
            .printer_column("SIZE", "integer", ".spec.forProvider.size")
            .recover_by_name()
            .sensitive("/password")
            .immutable("/mood")
            .connection_key("password", "As it is now.")
            .call_timeout(Duration::from_secs(5))
            .listable()
            .example(
                Example::new("plain", &json!({"size": 1}))
                    .external_name("a-thing")
                    .update(&json!({"size": 2}))
                    .sensitive("/password", "invented"),
            )
    }

    async fn observe(&self, call: &Call, desired: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        suffer(
            desired
                .parameters
                .as_ref()
                .map_or_else(Mood::default, |parameters| parameters.mood),
            call,
        )
        .await?;
        let Ok(text) = fs::read_to_string(folder(call)?.join(&call.target.external_name)) else {
            return Ok(Observed::absent());
        };
        let parameters: Parameters = serde_json::from_str(&text)?;
        let password = parameters.password.clone().unwrap_or_default();
        Ok(Observation::new(&call.target.external_name, parameters)
            .status(Status { bytes: text.len() })
            .connection("password", password)
            .ready()
            .into())
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        let mood = create.desired.parameters.mood;
        suffer(mood, call).await?;
        if mood == Mood::BadDetails {
            return Ok(Outcome::completed()
                .external_name(&call.target.external_name)
                .connection("undeclared", "x"));
        }
        let password = create.desired.sensitive("/password").map(str::to_owned);
        let stored = Parameters {
            password: password.clone(),
            ..create.desired.parameters.clone()
        };
        let file = folder(call)?.join(&call.target.external_name);
        if fs::exists(&file)? {
            return Err(Failure::already_exists(
                &call.target.external_name,
                "it is there already",
            ));
        }
        fs::write(file, serde_json::to_vec(&stored)?)?;
        Ok(
            Outcome::observed(Observation::new(&call.target.external_name, stored).ready())
                .connection("password", password.unwrap_or_default())
                .warning("Fragile", "Handle with care."),
        )
    }

    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        let file = folder(call)?.join(&call.target.external_name);
        if !fs::exists(&file)? {
            return Err(Failure::not_found("it is deleted"));
        }
        fs::write(file, serde_json::to_vec(&update.desired.parameters)?)?;
        Ok(Outcome::completed())
    }

    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        let removed = fs::remove_file(folder(call)?.join(&call.target.external_name));
        Ok(if removed.is_ok() {
            Outcome::completed()
        } else {
            Outcome::already_done()
        })
    }

    async fn list(&self, call: &ConfigCall, list: &List) -> Result<Listed<Self>, Failure> {
        let settings: Settings = call.config.settings()?;

        let mut items = Vec::new();
        for entry in fs::read_dir(settings.folder)? {
            let entry = entry?;
            let mut item = ListedItem::new(entry.file_name().to_string_lossy());
            if list.include_parameters {
                item = item.parameters(serde_json::from_slice(&fs::read(entry.path())?)?);
            }
            items.push(item);
        }
        Ok(Listed::new(items))
    }
}
