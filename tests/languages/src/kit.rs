//! The conformance kit, run on a plugin.

use std::{fs, path::Path, sync::mpsc::channel};

use bridge_control_plane::process::{Output, ScratchDir, Spawn};
use serde_json::Value;

use crate::binary;

/// SHA-256 of `sesame`, a key that the example plugins accept.
const SESAME: &str = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";

/// Whatever lies in the folder `$2` gives way to something of another sort: a file to a folder, a folder to a file. What is absent can be
/// read as absent; this cannot be read at all, by root neither.
const FAULT: &str = r#"
cd "$2" || exit 1
case $1 in
upstream-down) mkdir .away && for it in *; do
    mv "$it" .away/ && if test -d ".away/$it"; then touch "$it"; else mkdir "$it"; fi || exit 1
done ;;
upstream-up) for it in *; do rm -r "$it" && mv ".away/$it" . || exit 1; done; rmdir .away ;;
*) exit 2 ;;
esac
"#;

/// A plugin before the kit, with folders as its upstream, and all hooks.
pub struct KitRun {
    folder: ScratchDir,
    kit: Spawn,
}

impl KitRun {
    /// Of the plugin that this command line starts. `locked`: its folders open to a key only.
    ///
    /// # Panics
    /// If a folder cannot be created.
    pub fn new(plugin: &str, locked: bool) -> Self {
        let folder = ScratchDir::new("crossbridge-languages-").expect("a folder");
        let mut kit = Spawn::new(binary("provider-conformance")).args(["--plugin-command", plugin]);
        for (flag, name) in [("--setting", "one"), ("--other-setting", "two")] {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("it is created");
            if locked {
                fs::write(path.join("keys"), SESAME).expect("it is written");
            }
            kit = kit.args([flag.to_owned(), format!("folder={}", path.display())]);
        }
        let at = folder.path().display();
        kit = kit.args(["--dead-setting".to_owned(), format!("folder={at}/none")]);
        let fault = folder.path().join("fault.sh");
        fs::write(&fault, FAULT).expect("it is written");
        kit = kit.args([
            "--fault-cmd".to_owned(),
            format!("sh {} $1 {at}/one", fault.display()),
        ]);
        if locked {
            kit = kit.args([
                "--credential",
                "key=sesame",
                "--other-credential",
                "key=sesame",
                "--bad-credential",
                "key=wrong",
            ]);
        }
        Self { folder, kit }
    }

    /// A folder of its own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// With more of the kit's flags.
    #[must_use]
    pub fn args<A: AsRef<std::ffi::OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.kit = self.kit.args(arguments);
        self
    }

    /// With a variable that the plugin gets too.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.kit = self.kit.env(name, value);
        self
    }

    /// What the plugin conforms to.
    ///
    /// # Panics
    /// With the kit's verdict, if it does not conform.
    pub async fn verdict(self) -> Verdicts {
        let report = self.folder.path().join("report.json");
        let (say, said) = channel();
        let kit = self
            .kit
            .arg("--json")
            .arg(&report)
            .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))));
        let status = kit.spawn().expect("the kit starts").wait().await;
        let said: Vec<String> = said.iter().collect();
        assert!(status.success(), "{}", said.join("\n"));
        let text = fs::read_to_string(report).expect("the kit wrote a report");
        Verdicts::of(&serde_json::from_str(&text).expect("JSON"))
    }
}

/// What was judged and what was not, as `SUBJECT ID`, each sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdicts {
    /// Assertions that hold.
    pub passed: Vec<String>,
    /// Does not apply to this plugin or kind, or was left out.
    pub skipped: Vec<String>,
}

impl Verdicts {
    fn of(report: &Value) -> Self {
        let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let with = |verdicts: &[&str]| {
            let mut list: Vec<String> = findings
                .iter()
                .filter(|finding| verdicts.iter().any(|verdict| finding["verdict"] == *verdict))
                .map(|finding| {
                    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
                    format!("{} {}", text("subject"), text("id"))
                })
                .collect();
            list.sort_unstable();
            list
        };
        Self {
            passed: with(&["passed"]),
            skipped: with(&["not_applicable", "skipped"]),
        }
    }
}
