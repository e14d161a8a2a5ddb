//! Every plugin passes the kit, at all levels.

use std::sync::mpsc::channel;

use bridge_control_plane::process::{Output, ScratchDir, Spawn};
use bridge_languages::{Language, binary};

/// SHA-256 of `sesame`.
const SESAME: &str = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";

async fn conforms(language: Language) {
    let plugin = language.example().await.unwrap_or_else(|error| panic!("{error}"));
    let folder = ScratchDir::new("crossbridge-languages-").expect("a folder");
    let mut arguments = vec!["--plugin-command".to_owned(), plugin];
    for (flag, name) in [("--setting", "one"), ("--other-setting", "two")] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("it is made");
        if language == Language::Python {
            std::fs::write(path.join("keys"), SESAME).expect("it is written");
        }
        arguments.extend([flag.to_owned(), format!("folder={}", path.display())]);
    }
    arguments.extend([
        "--dead-setting".to_owned(),
        format!("folder={}/none", folder.path().display()),
    ]);
    if language == Language::Python {
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

#[tokio::test]
async fn the_plugin_in_python_conforms() {
    conforms(Language::Python).await;
}

#[tokio::test]
async fn the_plugin_in_go_conforms() {
    conforms(Language::Go).await;
}

#[tokio::test]
async fn the_plugin_in_typescript_conforms() {
    conforms(Language::TypeScript).await;
}
