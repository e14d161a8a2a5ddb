//! What README promises of the first hour, with the plugin of a page: `dev`, `kubectl`, `trace`, drift, what is left.

use std::fs;

use bridge_control_plane::process::{ScratchDir, Signal};
use bridge_e2e::binary;

use crate::dev::{Dev, manifests};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_hour_is_as_the_readme_has_it() {
    let scratch = ScratchDir::new("crossbridge-first-hour-").expect("a folder");
    let (folder, kept) = (scratch.path().join("files"), scratch.path().join("kept"));
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("notes.txt");
    let manifests = manifests(scratch.path(), &folder);
    let mut dev = Dev::start(scratch.path(), &kept);
    dev.until_running();
    assert!(dev.until("export KUBECONFIG=").contains("admin.kubeconfig"));
    assert!(dev.until("alias kubectl=").contains("kubectl"));
    // The file before its config: no order may matter.
    for manifest in ["2-notes.yaml", "1-config.yaml"] {
        dev.apply(&manifests.join(manifest)).await;
    }
    // The config is checked before anything refers to it.
    dev.until("ProviderConfig default/default: Ready=True (Usable)");
    dev.until("File default/notes.txt: Ready=True (Available)");

    assert!(dev.kubectl(&["get", "managed", "-A"]).await.contains("notes.txt"));
    let explained = dev.explain("file.spec.forProvider").await;
    assert!(explained.contains("content"), "{explained}");
    assert!(explained.contains("Required."), "{explained}");
    let explained = dev.explain("file").await;
    assert!(
        explained.contains("DESCRIPTION:\n    A text file in the folder"),
        "{explained}"
    );
    let trace = dev
        .run(
            binary("runtime-bridge").to_str().expect("a path"),
            &["trace", "file/notes.txt"],
        )
        .await;
    for part in [
        "├─ last calls\n",
        "waits for: nothing",
        "ProviderConfig default/default",
        "last Create: completed",
    ] {
        assert!(trace.contains(part), "{part} in\n{trace}");
    }

    for round in 0..2 {
        fs::write(&file, "Buy nothing.").expect("it is changed");
        dev.reconcile(&format!("drift-{round}")).await;
        dev.until("event Normal CorrectedDrift: Corrected drift in /content");
    }
    for round in 0..2 {
        fs::remove_file(&file).expect("it is removed");
        dev.reconcile(&format!("absence-{round}")).await;
        dev.until("event Warning RecreatingExternalResource: \"notes.txt\" does not exist any more");
        dev.until("File default/notes.txt: Ready=True (Available)");
    }
    let metrics = dev.metrics().await;
    for by in ["update", "create"] {
        let counted = metrics.lines().find(|line| {
            line.starts_with("crossbridge_drift_corrected_total{") && line.contains(&format!("by=\"{by}\""))
        });
        assert!(
            counted.is_some_and(|line| line.ends_with(" 2")),
            "{by}: {counted:?}"
        );
    }
    // A folder that goes away is a config that is not usable: at once, and with what to do.
    let patch = r#"{"spec":{"settings":{"folder":"/nowhere/at/all"}}}"#;
    dev.kubectl(&["patch", "providerconfig", "default", "--type=merge", "-p", patch])
        .await;
    let line = dev.until("ProviderConfig default/default: Ready=False (InvalidConfig)");
    assert!(
        line.contains("folder /nowhere/at/all does not exist; correct its settings"),
        "{line}"
    );
    dev.until("File default/notes.txt: Synced=False (InvalidConfig): connect failed");
    let patch = format!(r#"{{"spec":{{"settings":{{"folder":"{}"}}}}}}"#, folder.display());
    dev.kubectl(&["patch", "providerconfig", "default", "--type=merge", "-p", &patch])
        .await;
    dev.until("ProviderConfig default/default: Ready=True (Usable)");
    dev.until("File default/notes.txt: Synced=True (ReconcileSuccess)");

    dev.process.signal(Signal::TERM);
    assert!(dev.until("left: 1 external resource(s)").contains("--keep"));
    dev.until("File default/notes.txt: notes.txt");
    dev.stop().await;

    let mut dev = Dev::start(scratch.path(), &kept);
    dev.until("File default/notes.txt: created");
    dev.until("File default/notes.txt: Ready=True (Available)");
    dev.kubectl(&["delete", "file", "notes.txt", "--wait=true", "--timeout=60s"])
        .await;
    assert!(!file.exists());
    dev.process.signal(Signal::TERM);
    dev.until("left: no external resource");
    dev.stop().await;
}
