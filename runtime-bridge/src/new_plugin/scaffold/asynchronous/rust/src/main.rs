//! __KIND__: text files in a folder, which take a while to be ready. Put your cloud in the place of the folder.
use crossbridge_sdk::{FailureCode, handle, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::{fs, io::AsyncWriteExt};

/// A file is ready so long after its creation: longer than a call should wait.
const PREPARING: Duration = Duration::from_millis(500);

#[derive(Deserialize, JsonSchema)]
struct Settings {
    /// Where the files are. It must exist.
    folder: PathBuf,
}
/// A text file in the folder of the `ProviderConfig`.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Parameters {
    content: String,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Status {
    bytes: usize,
}
/// What the upstream must be asked for: it outlives this process and this build.
#[derive(Serialize, Deserialize)]
struct Preparation {
    file: String,
}
struct __KIND__;

#[async_trait]
impl Resource for __KIND__ {
    type Parameters = Parameters;
    type Status = Status;
    fn kind() -> Kind {
        let names = ExternalName::by_user("notes.txt").pattern("[a-z0-9][a-z0-9.-]*");
        let notes = Example::new("notes", &json!({"content": "Buy milk."})).external_name("notes.txt");
        let notes = notes.update(&json!({"content": "Buy tea."}));
        let kind = Kind::new("__NAME__.example.org", "v1alpha1", "__KIND__", names);
        kind.recover_by_name().visible_when_accepted().example(notes)
    }
    async fn observe(&self, call: &Call, _: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        let (found, _) = match read(&path(call)?).await {
            Err(error) if error.code() == Some(FailureCode::NotFound) => return Ok(Observed::absent()),
            found => found?,
        };
        Ok(found.into())
    }
    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        let path = path(call)?;
        let file = fs::File::create_new(&path).await;
        save(file, &create.desired.parameters, PREPARING).await?;
        prepared(&path).await
    }
    /// The upstream knows how a creation goes, whichever process asks.
    async fn poll(&self, call: &Call, poll: &Poll<Parameters>) -> Result<Outcome<Self>, Failure> {
        let Preparation { file } = handle::decode("handle", &poll.handle, 1)?;
        let name = &call.target.external_name;
        if !name.is_empty() && *name != file {
            return Err(Failure::invalid_argument("handle", "is of another file"));
        }
        prepared(&folder(&call.config)?.join(file)).await
    }
    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        let file = fs::File::options().write(true).open(path(call)?).await;
        save(file, &update.desired.parameters, Duration::ZERO).await?;
        Ok(Outcome::completed())
    }
    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        match fs::remove_file(path(call)?).await.map_err(failure) {
            Err(error) if error.code() == Some(FailureCode::NotFound) => Ok(Outcome::already_done()),
            removed => removed.map(|()| Outcome::completed()),
        }
    }
}

fn folder(config: &Config) -> Result<PathBuf, Failure> {
    let settings: Settings = config.settings()?;
    let missing = |_| Failure::invalid_config("the folder does not exist");
    settings.folder.canonicalize().map_err(missing)
}
fn path(call: &Call) -> Result<PathBuf, Failure> {
    Ok(folder(&call.config)?.join(&call.target.external_name))
}
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into()
}
/// The one place for the upstream's errors.
fn failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::already_exists("", "the file exists already"),
        io::ErrorKind::NotFound => Failure::not_found("the file does not exist"),
        _ => error.into(),
    }
}
async fn save(file: io::Result<fs::File>, desired: &Parameters, left: Duration) -> Result<(), Failure> {
    let mut file = file.map_err(failure)?;
    file.set_len(0).await?;
    file.write_all(desired.content.as_bytes()).await?;
    file.flush().await?;
    Ok(file.into_std().await.set_modified(SystemTime::now() + left)?)
}
/// What is there, and how long it will be until it is ready.
async fn read(path: &Path) -> Result<(Observation<__KIND__>, Duration), Failure> {
    let content = fs::read_to_string(path).await.map_err(failure)?;
    let ready_at = fs::metadata(path).await.map_err(failure)?.modified()?;
    let left = ready_at.duration_since(SystemTime::now()).unwrap_or_default();
    let status = Status { bytes: content.len() };
    let found = Observation::new(name(path), Parameters { content }).status(status);
    Ok(match left {
        Duration::ZERO => (found.ready(), left),
        _ => (found.not_ready("it is being prepared").observe_after(left), left),
    })
}
async fn prepared(path: &Path) -> Result<Outcome<__KIND__>, Failure> {
    let (found, left) = read(path).await?;
    if left.is_zero() {
        return Ok(Outcome::observed(found));
    }
    let handle = handle::encode(1, &Preparation { file: name(path) })?;
    let preparing = Operation::create(handle).poll_after(left).phase("Preparing");
    Ok(Outcome::operation(preparing).external_name(name(path)))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let plugin = Plugin::new("__NAME__.example.org", env!("CARGO_PKG_VERSION")).settings::<Settings>();
    let plugin = plugin.check_config(|call| async move { folder(&call.config).map(|_| String::new()) });
    plugin.resource(__KIND__).serve().await
}
#[cfg(test)]
mod tests;
