//! A Dockerfile without a container engine: its instructions are checked, and carried out below a folder that stands for the image's root. What
//! this cannot show is what the base images hold.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::{ScratchDir, Spawn};

/// What the base images are known to have.
const OF_BASE_IMAGES: [&str; 1] = ["/etc/ssl/certs/ca-certificates.crt"];

#[derive(Debug, PartialEq, Eq)]
struct Stage {
    image: String,
    name: Option<String>,
    instructions: Vec<Instruction>,
}

#[derive(Debug, PartialEq, Eq)]
enum Instruction {
    Workdir(String),
    Copy {
        /// The stage; `None`: the build's context.
        from: Option<String>,
        source: String,
        to: String,
    },
    Run(String),
    User(String),
    Entrypoint(Vec<String>),
}

pub(crate) struct Dockerfile(Vec<Stage>);

impl Dockerfile {
    pub(crate) fn read(context: &Path) -> Self {
        Self::parse(&fs::read_to_string(context.join("Dockerfile")).expect("a Dockerfile"))
    }

    fn parse(text: &str) -> Self {
        let mut stages: Vec<Stage> = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let (word, rest) = line.split_once(' ').expect("an instruction and what it is about");
            let words: Vec<&str> = rest.split_whitespace().collect();
            if word == "FROM" {
                let name = match words[1..] {
                    [] => None,
                    ["AS", name] => Some(name.to_owned()),
                    _ => panic!("{line}"),
                };
                stages.push(Stage {
                    image: words[0].to_owned(),
                    name,
                    instructions: Vec::new(),
                });
                continue;
            }
            let instruction = match (word, words.as_slice()) {
                ("WORKDIR", [path]) => Instruction::Workdir((*path).to_owned()),
                ("USER", [user]) => Instruction::User((*user).to_owned()),
                ("RUN", _) => Instruction::Run(rest.to_owned()),
                ("ENTRYPOINT", _) => {
                    Instruction::Entrypoint(serde_json::from_str(rest).expect("a list: no shell is between"))
                }
                ("COPY", [source, to]) => Instruction::Copy {
                    from: None,
                    source: (*source).to_owned(),
                    to: (*to).to_owned(),
                },
                ("COPY", [from, source, to]) => Instruction::Copy {
                    from: Some(from.strip_prefix("--from=").expect("a stage").to_owned()),
                    source: (*source).to_owned(),
                    to: (*to).to_owned(),
                },
                _ => panic!("what this means is not known here: {line}"),
            };
            stages
                .last_mut()
                .expect("FROM comes first")
                .instructions
                .push(instruction);
        }
        Self(stages)
    }

    /// Base images of a version, and a user that is not root.
    pub(crate) fn check(&self) {
        for stage in &self.0 {
            let (name, tag) = stage.image.split_once(':').expect("a tag");
            let name = name.rsplit('/').next().unwrap_or_default();
            let is_versioned = [name, tag]
                .iter()
                .any(|part| part.contains(|at: char| at.is_ascii_digit()));
            assert!(
                is_versioned && tag != "latest",
                "{} is of any version",
                stage.image
            );
        }
        let last = self.0.last().expect("a stage");
        let user = Instruction::User("65532:65532".to_owned());
        assert!(
            last.instructions.contains(&user),
            "the plugin would run as root: {last:?}"
        );
    }

    /// Builds it below `root`, where paths are as they are in the image: the command that the image runs. `prepare` may put what an earlier build
    /// left into the context.
    pub(crate) async fn build(&self, context: &Path, root: &Path, prepare: impl Fn(&Path)) -> String {
        let at = |path: &str| root.join(path.trim_start_matches('/'));
        let [build, image] = self.0.as_slice() else {
            panic!("it is built in one stage and runs in another: {:?}", self.0);
        };
        fs::create_dir_all(at("usr/local/bin")).expect("it is created");
        let mut folder = root.to_owned();
        for instruction in &build.instructions {
            match instruction {
                Instruction::Workdir(path) => {
                    folder = at(path);
                    fs::create_dir_all(&folder).expect("it is created");
                }
                Instruction::Copy {
                    from: None,
                    source,
                    to,
                } if source == "." && to == "." => {
                    copy_context(context, &folder).await;
                    prepare(&folder);
                }
                Instruction::Run(command) => run(command, root, &folder).await,
                other => panic!("a stage that builds does not {other:?}"),
            }
        }
        let kept = ScratchDir::new_in(root.parent().unwrap_or(root), "kept-").expect("a folder");
        let mut copies: Vec<(PathBuf, PathBuf)> = Vec::new();
        let mut entrypoint = None;
        for instruction in &image.instructions {
            match instruction {
                Instruction::Copy { from, source, to } => {
                    assert_eq!(*from, build.name, "{source} is of no stage before");
                    if OF_BASE_IMAGES.contains(&source.as_str()) {
                        continue;
                    }
                    let saved = kept.path().join(copies.len().to_string());
                    fs::rename(at(source), &saved)
                        .unwrap_or_else(|error| panic!("{source} is not there to be copied: {error}"));
                    copies.push((saved, at(to)));
                }
                Instruction::Entrypoint(words) => entrypoint = Some(words),
                Instruction::User(_) => {}
                other => panic!("an image does not {other:?}"),
            }
        }
        // Nothing else is in the image.
        fs::remove_dir_all(root).expect("it is removed");
        for (saved, to) in copies {
            fs::create_dir_all(to.parent().unwrap_or(root)).expect("it is created");
            fs::rename(saved, to).expect("it is moved");
        }
        let words = entrypoint.expect("an entry point").iter();
        let words = words.map(|word| {
            if word.starts_with('/') {
                at(word).display().to_string()
            } else {
                word.clone()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// All of the context but what `.dockerignore` names.
async fn copy_context(context: &Path, to: &Path) {
    let ignored = fs::read_to_string(context.join(".dockerignore")).expect("a .dockerignore");
    for entry in fs::read_dir(context).expect("a folder").flatten() {
        let name = entry.file_name();
        if ignored.lines().any(|line| name == line) {
            continue;
        }
        let copy = Spawn::new("cp").arg("-a").arg(entry.path()).arg(to);
        assert!(copy.spawn().expect("it starts").wait().await.success());
    }
}

/// Runs a command line whose absolute paths are the image's. Rust is built without optimisation, as it is elsewhere in these tests: only the
/// folder's name differs.
async fn run(command: &str, root: &Path, folder: &Path) {
    let words = command
        .split(' ')
        .filter(|word| *word != "--release")
        .map(|word| {
            let word = word.replace("target/release/", "target/debug/");
            if word.starts_with('/') {
                format!("{}{word}", root.display())
            } else {
                word
            }
        });
    let command = words.collect::<Vec<_>>().join(" ");
    let shell = Spawn::new("bash")
        .args(["-euc", &format!("python() {{ python3 \"$@\"; }}; {command}")])
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env_remove("RUSTC_BOOTSTRAP")
        .current_dir(folder);
    assert!(
        shell.spawn().expect("a shell").wait().await.success(),
        "{command}"
    );
}

#[test]
fn a_dockerfile_is_parsed() {
    let Dockerfile(stages) = Dockerfile::parse(
        "FROM a:1 AS build\nWORKDIR /src\nCOPY . .\nRUN make && cp x /y\n\n# why\nFROM b:2\nCOPY --from=build /y /z\nUSER 1:1\nENTRYPOINT [\"/z\", \"-v\"]\n",
    );
    let text = str::to_owned;
    assert_eq!(
        stages,
        [
            Stage {
                image: text("a:1"),
                name: Some(text("build")),
                instructions: vec![
                    Instruction::Workdir(text("/src")),
                    Instruction::Copy {
                        from: None,
                        source: text("."),
                        to: text("."),
                    },
                    Instruction::Run(text("make && cp x /y")),
                ],
            },
            Stage {
                image: text("b:2"),
                name: None,
                instructions: vec![
                    Instruction::Copy {
                        from: Some(text("build")),
                        source: text("/y"),
                        to: text("/z"),
                    },
                    Instruction::User(text("1:1")),
                    Instruction::Entrypoint(vec![text("/z"), text("-v")]),
                ],
            },
        ]
    );
}

#[test]
#[should_panic(expected = "node:latest is of any version")]
fn an_image_of_any_version_is_found() {
    Dockerfile::parse("FROM node:latest\nUSER 65532:65532\n").check();
}

#[test]
#[should_panic(expected = "the plugin would run as root")]
fn a_plugin_that_runs_as_root_is_found() {
    Dockerfile::parse("FROM node:22-slim\nENTRYPOINT [\"node\"]\n").check();
}
