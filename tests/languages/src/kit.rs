//! The conformance kit, run on a plugin.

use std::sync::mpsc::channel;

use bridge_control_plane::process::{Output, ScratchDir, Spawn};

use crate::binary;

/// SHA-256 of `sesame`.
const SESAME: &str = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";

/// The plugin that this command line starts passes the kit, at all levels. `locked`: its folders open to a key only.
///
/// # Panics
/// With the kit's verdict, if it does not.
pub async fn conforms(plugin: &str, locked: bool) {
    let folder = ScratchDir::new("crossbridge-languages-").expect("a folder");
    let mut arguments = vec!["--plugin-command".to_owned(), plugin.to_owned()];
    for (flag, name) in [("--setting", "one"), ("--other-setting", "two")] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("it is made");
        if locked {
            std::fs::write(path.join("keys"), SESAME).expect("it is written");
        }
        arguments.extend([flag.to_owned(), format!("folder={}", path.display())]);
    }
    arguments.extend([
        "--dead-setting".to_owned(),
        format!("folder={}/none", folder.path().display()),
    ]);
    if locked {
        let keys = [
            "--credential",
            "key=sesame",
            "--other-credential",
            "key=sesame",
            "--bad-credential",
            "key=wrong",
        ];
        arguments.extend(keys.map(str::to_owned));
    }
    let (say, said) = channel();
    let kit = Spawn::new(binary("provider-conformance"))
        .args(arguments)
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))));
    let status = kit.spawn().expect("the kit starts").wait().await;
    let said: Vec<String> = said.iter().collect();
    assert!(status.success(), "{}", said.join("\n"));
}
