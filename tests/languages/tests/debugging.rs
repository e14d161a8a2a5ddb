//! The sessions of docs/debugging.md, run as they stand there.

use std::{fmt::Write as _, net::TcpListener, path::Path, sync::mpsc::channel, time::Duration};

use bridge_control_plane::process::{Output, ScratchDir, Spawn};
use bridge_languages::{Language, binary, grpcurl};

const DOCUMENT: &str = include_str!("../../../docs/debugging.md");
const LIMIT: Duration = Duration::from_mins(3);

/// Stands before what each command says.
const MARK: &str = "@@@ ";

/// A part of a session.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Lines of a shell that must succeed.
    Script(String),
    /// One command, and what it says.
    Command { line: String, says: Vec<String> },
}

/// All blocks of a document that are marked as `bash` or `console`, in order.
fn steps(document: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = document.lines();
    while let Some(fence) = lines.next() {
        let block = lines.by_ref().take_while(|line| *line != "```");
        match fence {
            "```bash" => steps.push(Step::Script(block.collect::<Vec<_>>().join("\n"))),
            "```console" => {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(line), _) => steps.push(Step::Command {
                            line: line.to_owned(),
                            says: Vec::new(),
                        }),
                        (None, Some(Step::Command { says, .. })) => says.push(line.to_owned()),
                        (None, _) => panic!("{line:?} stands before any command"),
                    }
                }
            }
            fence if fence.starts_with("```") => drop(block.count()),
            _ => drop(block),
        }
    }
    steps
}

/// A shell's script that does all steps, and marks what each command says.
fn script(steps: &[Step]) -> String {
    let mut script = "set -euo pipefail\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let written = match step {
            Step::Script(text) => writeln!(script, "{text}"),
            // What fails says so, and that is compared.
            Step::Command { line, .. } => writeln!(
                script,
                "echo '{MARK}{number}'\n{{ {line}\n}} 2>&1 || true\necho '{MARK}'"
            ),
        };
        written.expect("a string takes it");
    }
    script
}

/// `…` in a line stands for any text, alone on a line for any lines.
fn matches(expected: &[String], said: &[String]) -> bool {
    match (expected.split_first(), said.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=said.len()).any(|skip| matches(rest, &said[skip..]))
        }
        (Some((expected, others)), Some((said, rest))) => is_like(expected, said) && matches(others, rest),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn is_like(expected: &str, said: &str) -> bool {
    match expected.split_once('…') {
        None => expected == said,
        Some((start, end)) => {
            said.len() >= start.len() + end.len() && said.starts_with(start) && said.ends_with(end)
        }
    }
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port().to_string()
}

#[test]
fn sessions_are_read() {
    let document = "Text\n```bash\na\nb\n```\n```console\n$ c\nsaid\n…\n$ d\n```\n```yaml\n$ not this\n```\n";
    let command = |line: &str, says: &[&str]| Step::Command {
        line: line.to_owned(),
        says: says.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        steps(document),
        [
            Step::Script("a\nb".to_owned()),
            command("c", &["said", "…"]),
            command("d", &[])
        ]
    );
}

#[test]
fn what_differs_each_time_may_differ() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let holds = |expected: &str, said: &str| matches(&lines(expected), &lines(said));
    assert!(holds("a\n…\nd", "a\nb\nc\nd"));
    assert!(holds("a …!", "a b!"));
    assert!(!holds("a\n…\nd", "a\nb"));
    assert!(!holds("a", "a\nb"));
}

#[tokio::test]
async fn every_session_goes_as_it_is_written() {
    let plugin = Language::Go
        .example()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let tools = grpcurl().await.unwrap_or_else(|error| panic!("{error}"));
    let folder = ScratchDir::new("cb-debugging-").expect("a folder");
    let port = free_port();
    let place = |text: &str| {
        text.replace("/tmp/press", &folder.path().display().to_string())
            .replace("examples/go-plugin/plugin", &plugin)
            .replace("127.0.0.1:9000", &format!("127.0.0.1:{port}"))
            .replace("/dev/tcp/127.0.0.1/9000", &format!("/dev/tcp/127.0.0.1/{port}"))
    };
    let steps = steps(DOCUMENT);
    let (say, said) = channel();
    let bridge = binary("runtime-bridge");
    let path = [tools.as_path(), bridge.parent().unwrap_or(Path::new("/"))]
        .map(|folder| folder.display().to_string());
    let path = format!("{}:{}", path.join(":"), std::env::var("PATH").unwrap_or_default());
    // What it starts ends with it: a shell of its own group.
    let shell = Spawn::new("bash")
        .args(["-c", &place(&script(&steps))])
        .env("PATH", path)
        .current_dir(folder.path())
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
        .spawn()
        .expect("there is a shell");
    let status = shell.wait_for(LIMIT).await;
    // With it ends what it started, and so what they say.
    drop(shell);
    let said: Vec<String> = said.iter().collect();
    let said = said.join("\n");
    assert!(
        status.is_ok_and(|status| status.success()),
        "the session broke off:\n{said}"
    );

    for (number, step) in steps.iter().enumerate() {
        let Step::Command { line, says } = step else {
            continue;
        };
        let begin = format!("{MARK}{number}\n");
        let answer = said
            .split_once(&begin)
            .and_then(|(_, rest)| rest.split_once(MARK));
        let (answer, _) = answer.unwrap_or_else(|| panic!("`{line}` was not run:\n{said}"));
        let answer: Vec<String> = answer.trim_end().lines().map(str::to_owned).collect();
        let expected: Vec<String> = says.iter().map(|line| place(line)).collect();
        assert!(
            matches(&expected, &answer),
            "`{line}` says:\n{}\nand not:\n{}",
            answer.join("\n"),
            expected.join("\n")
        );
    }
}
