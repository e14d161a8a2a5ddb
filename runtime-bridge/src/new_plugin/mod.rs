//! `runtime-bridge new-plugin`: a plugin that runs at once, to be changed into one's own.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod language;
mod template;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;

use self::{language::Language, template::Names};
use crate::output::print;

/// What to create, and where.
#[derive(Debug, Clone, Args)]
pub struct NewPluginArgs {
    /// Its name, of a-z, 0-9 and -: it serves the API group NAME.example.org.
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
    /// The language that it is written in.
    #[arg(long, value_enum)]
    pub lang: Language,
    /// The folder to write it to, which must be empty or not exist; NAME-plugin, if not given.
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Its kind, in PascalCase.
    #[arg(long, value_name = "KIND", default_value = "File", value_parser = kind)]
    pub kind: String,
    /// Its kind takes longer to create than a call should wait: Create hands out an operation, which is polled.
    #[arg(long)]
    pub asynchronous: bool,
    /// The SDK instead of its released version: its folder in a checkout, sdk/LANG; for Python also a wheel, for TypeScript a tarball.
    #[arg(long, value_name = "PATH")]
    pub sdk_path: Option<PathBuf>,
}

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum NewPluginError {
    /// There is something already.
    #[error("{} is not empty: name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
    /// Standard output cannot be written; the files are.
    #[error("cannot print what to do next: {0}")]
    Output(io::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder that was to be written.
        path: PathBuf,
        /// Why it cannot be written.
        source: io::Error,
    },
}

fn name(text: &str) -> Result<String, String> {
    let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins_and_ends = text.starts_with(|first: char| first.is_ascii_lowercase()) && !text.ends_with('-');
    if begins_and_ends && text.len() <= 40 && text.bytes().all(label) {
        Ok(text.to_owned())
    } else {
        Err("must match [a-z][a-z0-9-]*, not end with -, and have at most 40 characters".to_owned())
    }
}

/// What has another meaning in the files that are written, in any language, so that a command line is good in all of them: names of types and
/// constants there, `ProviderConfig`, and those of the languages that stand in no file (`Box` in what macros write).
const TAKEN: [&str; 50] = [
    "AsyncWriteExt",
    "Box",
    "Call",
    "Config",
    "Create",
    "Delete",
    "Deserialize",
    "Duration",
    "Err",
    "Example",
    "ExternalName",
    "Failure",
    "FailureCode",
    "False",
    "FileExistsError",
    "FileNotFoundError",
    "Files",
    "Harness",
    "JsonSchema",
    "Kind",
    "Known",
    "None",
    "Observation",
    "Observed",
    "Ok",
    "Operation",
    "Outcome",
    "PREPARING",
    "Parameters",
    "Path",
    "PathBuf",
    "Plugin",
    "Poll",
    "Preparation",
    "ProviderConfig",
    "Resource",
    "Result",
    "SECONDS",
    "Self",
    "Serialize",
    "ServeError",
    "Settings",
    "Some",
    "Status",
    "String",
    "SystemTime",
    "TempDir",
    "TestResource",
    "True",
    "Update",
];

fn kind(text: &str) -> Result<String, String> {
    let is_pascal_case = text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.len() <= 40
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_pascal_case {
        return Err("must match [A-Z][A-Za-z0-9]*, and have at most 40 characters".to_owned());
    }
    if TAKEN.contains(&text) {
        return Err(format!(
            "{text} has another meaning in the code of a plugin: choose another kind, such as Cloud{text}"
        ));
    }
    Ok(text.to_owned())
}

/// Where the commands above come from.
const TOOLS: &str = "
runtime-bridge and provider-conformance are built in a checkout of Crossbridge, by `cargo install --locked --path runtime-bridge`
and `cargo install --locked --path tests/conformance`.
";

/// The steps cannot succeed without a checkout, and should not be found out by trying.
fn unreleased(language: Language, sdk: Option<&Path>) -> String {
    match sdk {
        Some(_) => String::new(),
        None => format!(
            "
The SDK is in no registry yet, so these steps fail: give --sdk-path sdk/{}, with the path of a checkout of Crossbridge.
",
            language.folder()
        ),
    }
}

/// Writes the files, and reports what to do next.
pub fn run(args: &NewPluginArgs) -> Result<(), NewPluginError> {
    let folder = args
        .dir
        .clone()
        .unwrap_or_else(|| format!("{}-plugin", args.name).into());
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(NewPluginError::NotEmpty(folder));
    }
    let sdk = args.sdk_path.as_deref().map(std::path::absolute).transpose();
    let sdk = sdk.map_err(|source| NewPluginError::Write {
        path: folder.clone(),
        source,
    })?;
    let names = Names {
        plugin: &args.name,
        kind: &args.kind,
        is_asynchronous: args.asynchronous,
    };
    for (path, text) in template::files(args.lang, &names, sdk.as_deref()) {
        write(&folder.join(path), &text)?;
    }
    let mut text = format!(
        "Created {}. Next steps:\n\n  cd {}\n",
        folder.display(),
        folder.display()
    );
    for line in args.lang.next_steps(&args.name, sdk.as_deref()) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(TOOLS);
    text.push_str(&unreleased(args.lang, sdk.as_deref()));
    print(&text).map_err(NewPluginError::Output)
}

fn write(path: &Path, text: &str) -> Result<(), NewPluginError> {
    let failed = |source| NewPluginError::Write {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Language, kind, name, unreleased};

    #[test]
    fn a_kind_is_in_pascal_case_and_not_taken() {
        assert_eq!(kind("Bucket2"), Ok("Bucket2".to_owned()));
        for text in ["bucket", "My Bucket", "", "Status", &"A".repeat(41)] {
            assert!(kind(text).is_err(), "{text}");
        }
        assert_eq!(
            kind("Config").expect_err("the SDK has one"),
            "Config has another meaning in the code of a plugin: choose another kind, such as CloudConfig"
        );
    }

    #[test]
    fn a_scaffold_on_no_sdk_says_that_it_cannot_be_built() {
        let text = unreleased(Language::Rust, None);
        assert!(text.contains("give --sdk-path sdk/rust,"), "{text}");
        assert_eq!(unreleased(Language::Rust, Some(Path::new("/sdk"))), "");
    }

    #[test]
    fn a_name_is_a_label() {
        for text in ["a", "acme", "acme-2"] {
            assert_eq!(name(text), Ok(text.to_owned()));
        }
        for text in ["", "Acme", "2acme", "acme-", "ac me", "acme.org", &"a".repeat(41)] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
