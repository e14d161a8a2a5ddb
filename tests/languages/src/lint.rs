//! Formatters, linters and type checkers of each language, as the locks of the SDKs pin them.

use std::path::Path;

use crate::{
    BuildError, Language,
    build::{program, run},
    source,
};

/// Prints what gofmt would change, and fails if there is any.
pub(crate) const UNFORMATTED: &str = r#"files=$(gofmt -l .); echo "$files"; test -z "$files""#;

/// Judges a folder of source on an SDK that is built, by the rules of the SDK itself.
pub(crate) async fn lint(language: Language, at: &Path) -> Result<(), BuildError> {
    let sdk = source::target().join("languages/sdk").join(language.name());
    let file = |path: &str| sdk.join(path).display().to_string();
    let steps: Vec<Vec<String>> = match language {
        Language::Python => {
            let python = file(".venv/bin/python");
            let steps: [&[&str]; 3] = [
                &["mypy"],
                &["ruff", "check", "."],
                &["ruff", "format", "--check", "."],
            ];
            steps
                .map(|step| [words(&[&python, "-m"]), words(step)].concat())
                .into()
        }
        Language::Go => {
            let tools = format!("-modfile={}", file("tools/go.mod"));
            vec![
                words(&["sh", "-c", UNFORMATTED]),
                words(&["go", "vet", "./..."]),
                words(&["go", "tool", &tools, "staticcheck", "./..."]),
            ]
        }
        Language::TypeScript => {
            let [eslint, prettier] =
                ["eslint", "prettier"].map(|tool| file(&format!("node_modules/.bin/{tool}")));
            let [rules, style, ignored] =
                ["eslint.config.js", ".prettierrc.json", ".prettierignore"].map(file);
            vec![
                words(&[&eslint, "--config", &rules, "--max-warnings", "0", "."]),
                words(&[
                    &prettier,
                    "--config",
                    &style,
                    "--ignore-path",
                    &ignored,
                    "--check",
                    ".",
                ]),
            ]
        }
    };
    for step in steps {
        if let [tool, arguments @ ..] = step.as_slice() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run(program(at, tool, &arguments)).await?;
        }
    }
    Ok(())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
