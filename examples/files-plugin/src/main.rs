//! A whole plugin: files in a folder as Kubernetes objects.
use crossbridge_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf, time::Duration};
use tokio::{fs, io::AsyncWriteExt};

#[derive(Deserialize, JsonSchema)]
struct Settings {
    folder: PathBuf,
}
/// A text file in the folder of the `ProviderConfig`.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Parameters {
    /// What stands in the file.
    content: String,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Status {
    bytes: usize,
}
struct File;

#[async_trait]
impl Resource for File {
    type Parameters = Parameters;
    type Status = Status;
    fn kind() -> Kind {
        let names = ExternalName::by_user("notes.txt").pattern("[a-z0-9][a-z0-9.-]*");
        let notes = Example::new("notes", &json!({"content": "Buy milk."})).external_name("notes.txt");
        let notes = notes.update(&json!({"content": "Buy tea."}));
        let kind = Kind::new("files.example.org", "v1alpha1", "File", names);
        let kind = kind.recover_by_name().visible_when_accepted();
        kind.call_timeout(Duration::from_secs(5)).example(notes)
    }
    async fn observe(&self, call: &Call, _: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        let content = match fs::read_to_string(path(call)?).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Observed::absent()),
            content => content?,
        };
        let status = Status { bytes: content.len() };
        let file = Observation::new(&call.target.external_name, Parameters { content });
        Ok(file.status(status).ready().into())
    }
    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        save(
            fs::File::create_new(path(call)?).await,
            &create.desired.parameters,
        )
        .await
    }
    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        let file = fs::File::options().write(true).open(path(call)?).await;
        save(file, &update.desired.parameters).await
    }
    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        match fs::remove_file(path(call)?).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Outcome::already_done()),
            removed => Ok(removed.map(|()| Outcome::completed())?),
        }
    }
}

fn folder(config: &Config) -> Result<PathBuf, Failure> {
    let Settings { folder } = config.settings()?;
    let missing = |_| Failure::invalid_config(format!("folder {} does not exist", folder.display()));
    folder.canonicalize().map_err(missing)
}
fn path(call: &Call) -> Result<PathBuf, Failure> {
    Ok(folder(&call.config)?.join(&call.target.external_name))
}
async fn save(file: io::Result<fs::File>, desired: &Parameters) -> Result<Outcome<File>, Failure> {
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::already_exists("", "the file exists already"),
        io::ErrorKind::NotFound => Failure::not_found("the file does not exist"),
        _ => error.into(),
    })?;
    file.set_len(0).await?;
    file.write_all(desired.content.as_bytes()).await?;
    Ok(file.flush().await.map(|()| Outcome::completed())?)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let plugin = Plugin::new("files.example.org", env!("CARGO_PKG_VERSION")).settings::<Settings>();
    let plugin = plugin.check_config(|call| async move { folder(&call.config).map(|_| String::new()) });
    plugin.resource(File).serve().await
}
#[cfg(test)]
mod tests;
