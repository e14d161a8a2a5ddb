//! Sessions of a document, run as they stand there.

use std::{fmt::Write as _, sync::mpsc::channel, time::Duration};

use bridge_control_plane::process::{Output, Spawn};

const LIMIT: Duration = Duration::from_mins(3);

/// Precedes the output of each command.
const MARK: &str = "@@@ ";

/// A part of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Lines of a shell that must succeed.
    Script(String),
    /// One command, and its output.
    Command { line: String, output: Vec<String> },
}

/// Commands of a document, and their output. `…` in a line stands for any text, alone on a line for any lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session(Vec<Step>);

impl Session {
    /// All blocks that are marked as `bash` or `console`, with this word behind it or none, in order.
    ///
    /// # Panics
    /// If a block does not begin with a command.
    pub fn of(document: &str, word: &str) -> Self {
        let [bash, console] = ["```bash", "```console"].map(|fence| format!("{fence} {word}"));
        let mut steps = Vec::new();
        let mut lines = document.lines();
        while let Some(fence) = lines.next() {
            let block = lines.by_ref().take_while(|line| *line != "```");
            if fence == bash.trim_end() {
                steps.push(Step::Script(block.collect::<Vec<_>>().join("\n")));
            } else if fence == console.trim_end() {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(line), _) => steps.push(Step::Command {
                            line: line.to_owned(),
                            output: Vec::new(),
                        }),
                        (None, Some(Step::Command { output, .. })) => output.push(line.to_owned()),
                        (None, _) => panic!("{line:?} stands before any command"),
                    }
                }
            } else if fence.starts_with("```") {
                block.for_each(drop);
            }
        }
        Self(steps)
    }

    /// Runs it in this `bash`, which has no arguments yet. `place` puts what is here in the place of what the document names.
    ///
    /// # Panics
    /// If it breaks off, or something else is reported.
    pub async fn run(&self, bash: Spawn, place: impl Fn(&str) -> String) {
        let (say, said) = channel();
        // What it starts ends with it: a shell of its own group.
        let shell = bash
            .args(["-c", &place(&self.script())])
            .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
            .spawn()
            .expect("there is a shell");
        let status = shell.wait_for(LIMIT).await;
        // With it ends what it started, and so their output.
        drop(shell);
        let said: Vec<String> = said.iter().collect();
        let said = said.join("\n");
        assert!(
            status.is_ok_and(|status| status.success()),
            "the session broke off:\n{said}"
        );
        for (number, step) in self.0.iter().enumerate() {
            let Step::Command { line, output } = step else {
                continue;
            };
            let begin = format!("{MARK}{number}\n");
            let answer = said
                .split_once(&begin)
                .and_then(|(_, rest)| rest.split_once(MARK));
            let (answer, _) = answer.unwrap_or_else(|| panic!("`{line}` was not run:\n{said}"));
            let answer: Vec<String> = answer.trim_end().lines().map(str::to_owned).collect();
            let expected: Vec<String> = output.iter().map(|line| place(line)).collect();
            assert!(
                matches(&expected, &answer),
                "`{line}` prints:\n{}\nand not:\n{}",
                answer.join("\n"),
                expected.join("\n")
            );
        }
    }

    /// A shell's script that does all steps, and marks the output of each command.
    fn script(&self) -> String {
        let mut script = "set -euo pipefail\n".to_owned();
        for (number, step) in self.0.iter().enumerate() {
            let written = match step {
                Step::Script(text) => writeln!(script, "{text}"),
                // A failure is part of the output, and is compared.
                Step::Command { line, .. } => writeln!(
                    script,
                    "echo '{MARK}{number}'\n{{ {line}\n}} 2>&1 || true\necho '{MARK}'"
                ),
            };
            written.expect("a string takes it");
        }
        script
    }
}

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
    let Some((start, rest)) = expected.split_once('…') else {
        return expected == said;
    };
    said.strip_prefix(start).is_some_and(|said| {
        said.char_indices()
            .map(|(at, _)| at)
            .chain([said.len()])
            .any(|at| is_like(rest, &said[at..]))
    })
}

#[cfg(test)]
mod tests {
    use super::{Session, Step, matches};

    #[test]
    fn sessions_are_parsed() {
        let document = "Text\n```bash\na\nb\n```\n```console\n$ c\nsaid\n…\n$ d\n```\n```yaml\n$ not this\n```\n\
            ```console live\n$ e\n```\n";
        let command = |line: &str, output: &[&str]| Step::Command {
            line: line.to_owned(),
            output: output.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(
            Session::of(document, ""),
            Session(vec![
                Step::Script("a\nb".to_owned()),
                command("c", &["said", "…"]),
                command("d", &[])
            ])
        );
        assert_eq!(Session::of(document, "live"), Session(vec![command("e", &[])]));
    }

    #[test]
    fn ellipses_match_any_text() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let holds = |expected: &str, said: &str| matches(&lines(expected), &lines(said));
        assert!(holds("a\n…\nd", "a\nb\nc\nd"));
        assert!(holds("a …!", "a b!"));
        assert!(holds("a … c … e", "a b c d e"));
        assert!(!holds("a … c … e", "a b d e"));
        assert!(!holds("a\n…\nd", "a\nb"));
        assert!(!holds("a", "a\nb"));
    }
}
