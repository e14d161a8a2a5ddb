//! The manifests of the examples, as a user applies them: by kubectl, in any order.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Spawn};
use bridge_languages::Language;

use crate::{LIMIT, Testbed, processes::group};

impl Testbed {
    /// The files of a language's example, that which others depend on last, with a folder of this test for the one that they name.
    fn manifests(&self, language: Language) -> Vec<PathBuf> {
        let named = match language {
            Language::Python => "/tmp/garden",
            Language::Go => "/tmp/press",
            Language::TypeScript => "/tmp/bakery",
        };
        let to = self.scratch.path().join(format!("manifests-{}", language.name()));
        fs::create_dir(&to).expect("it is created");
        let folder = self.folder(group(language)).display().to_string();
        let files = fs::read_dir(language.source().join("manifests")).expect("the manifests");
        let mut files: Vec<PathBuf> = files
            .map(|entry| entry.expect("an entry").path())
            .map(|file| {
                let text = fs::read_to_string(&file).expect("a manifest");
                let copy = to.join(file.file_name().expect("a name"));
                fs::write(&copy, text.replace(named, &folder)).expect("it is written");
                copy
            })
            .collect();
        files.sort();
        files.reverse();
        files
    }

    /// Whether kubectl succeeds, and what it says if it does not.
    async fn kubectl(&self, arguments: &[&str], file: &Path) -> Result<(), String> {
        let (say, said) = std::sync::mpsc::channel();
        let kubectl = Spawn::new(self.cluster.plane.kubectl())
            .args(arguments)
            .arg("-f")
            .arg(file)
            .env("KUBECONFIG", self.cluster.plane.kubeconfig())
            .stderr(Output::lines(move |line| drop(say.send(format!("{line}\n")))));
        let ended = kubectl.spawn().expect("it starts").wait_for(LIMIT).await;
        if ended.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        Err(format!(
            "kubectl {arguments:?} {}: {}",
            file.display(),
            said.iter().collect::<String>()
        ))
    }

    /// Applies it as soon as its kinds are served.
    async fn apply(&self, file: &Path) {
        let begun = Instant::now();
        while let Err(why) = self.kubectl(&["apply", "--validate=strict"], file).await {
            let is_not_served_yet = ["no matches for kind", "could not find the requested resource"];
            assert!(
                is_not_served_yet.iter().any(|part| why.contains(part)) && begun.elapsed() < LIMIT,
                "{why}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test]
async fn every_example_becomes_ready_and_is_deleted() {
    let testbed = Testbed::start().await;
    let manifests = Language::ALL.map(|language| testbed.manifests(language));
    for file in manifests.iter().flatten() {
        testbed.apply(file).await;
    }
    let limit = format!("--timeout={}s", LIMIT.as_secs());
    for file in manifests.iter().flatten() {
        let wait = ["wait", "--for=condition=Ready", &limit];
        testbed.kubectl(&wait, file).await.expect("it becomes Ready");
    }
    for file in manifests.iter().flatten() {
        testbed
            .kubectl(&["delete", &limit], file)
            .await
            .expect("it is deleted");
    }
    testbed.stop().await;
}
