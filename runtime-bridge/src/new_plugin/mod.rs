//! `runtime-bridge new-plugin`: a plugin that runs at once, to be changed into one's own.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod language;
mod template;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;

use self::language::Language;

/// What to create, and where.
#[derive(Debug, Clone, Args)]
pub struct NewPluginArgs {
    /// Its name, of a-z, 0-9 and -: it serves the API group NAME.example.org.
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
    /// The language that it is written in.
    #[arg(long, env = "CROSSBRIDGE_LANG", value_enum)]
    pub lang: Language,
    /// The folder to write it to, which must be empty or not exist; NAME-plugin, if not given.
    #[arg(long, env = "CROSSBRIDGE_DIR", value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// For Rust: the folder of the crate crossbridge-sdk. Without it: its released version.
    #[arg(long, env = "CROSSBRIDGE_SDK_PATH", value_name = "FOLDER")]
    pub sdk_path: Option<PathBuf>,
}

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum NewPluginError {
    /// There is something already.
    #[error("{} is not empty: name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
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
        Err("a name is of a-z, 0-9 and -, begins with a letter, and has 40 of them at most".to_owned())
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
    for (path, text) in template::files(args.lang, &args.name, args.sdk_path.as_deref()) {
        write(&folder.join(path), &text)?;
    }
    println!("{} is written. Then:\n", folder.display());
    println!("  cd {}", folder.display());
    for line in args.lang.next_steps(&args.name) {
        println!("  {line}");
    }
    println!(
        "\nThe repository of Crossbridge builds provider-conformance: cargo build --package provider-conformance"
    );
    Ok(())
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
    use super::name;

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
