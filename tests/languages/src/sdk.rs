//! The SDKs: built in a copy, tested there, and packed as authors get them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::ScratchDir;

use crate::{
    BuildError, Language,
    build::{forget, install, install_if_changed, locked, program, run, synchronized},
    lint::UNFORMATTED,
    source,
};

/// Builds the SDK of a language once, with its tests, vectors, types and linters, and packs it: a wheel, a tarball, or a module, unpacked.
///
/// # Errors
/// The output of the tool that failed.
pub(crate) async fn package(language: Language) -> Result<PathBuf, BuildError> {
    let root = source::target().join("languages");
    let at = root.join("sdk").join(language.name());
    fs::create_dir_all(&at).map_err(BuildError::file(&at))?;
    let _guard = locked(at.with_extension("lock")).await?;

    let digest = digest(language)?;
    let stamp = at.with_extension("built");
    if fs::read_to_string(&stamp).is_ok_and(|former| former == digest) {
        return packed(language, &at);
    }
    forget(&stamp)?;
    source::mirror(&folder(language), &at, language.kept())?;
    for shared in ["proto/crossbridge", "tests/vectors"] {
        synchronized(shared, &root).await?;
    }
    install_if_changed(language, &at).await?;
    pack(language, &at).await?;
    verify(language, &at).await?;
    fs::write(&stamp, digest).map_err(BuildError::file(&stamp))?;
    packed(language, &at)
}

/// Of everything that the SDK is built of.
pub(crate) fn digest(language: Language) -> Result<String, BuildError> {
    let repository = source::repository();
    source::digest(&[
        &folder(language),
        &repository.join("proto/crossbridge"),
        &repository.join("tests/vectors"),
    ])
}

fn folder(language: Language) -> PathBuf {
    source::repository().join("sdk").join(language.name())
}

async fn pack(language: Language, at: &Path) -> Result<(), BuildError> {
    match language {
        Language::Python => {
            // As a release is built: the source distribution, and from it alone, away from the repository, the wheel.
            let build = ["-m", "build", "--no-isolation", "--outdir", "dist", "."];
            run(program(at, ".venv/bin/python", &build)).await?;
            let wheel = packed(language, at)?.display().to_string();
            run(program(at, ".venv/bin/pip", &wheel_install(&wheel))).await
        }
        Language::Go => {
            for modules in [
                &["mod", "download"][..],
                &["mod", "download", "-modfile=tools/go.mod"],
            ] {
                install(|| program(at, "go", modules)).await?;
            }
            let published = published(at);
            let folder = published.display().to_string();
            let version = concat!("v", env!("CARGO_PKG_VERSION"));
            run(program(
                &at.join("tools"),
                "go",
                &["run", "./module", version, &folder],
            ))
            .await?;
            download(&published, version).await
        }
        Language::TypeScript => {
            run(program(at, "npm", &["run", "--silent", "build"])).await?;
            let pack = [
                "pack",
                "--silent",
                "--ignore-scripts",
                "--pack-destination",
                "dist",
            ];
            run(program(at, "npm", &pack)).await
        }
    }
}

/// What `go get` downloads, and the module that is in it. It stands beside the source, of which it would be a part.
fn published(at: &Path) -> PathBuf {
    at.with_extension("published")
}

/// Downloads the module as `go get` does, with nothing in the cache but what is published here.
async fn download(published: &Path, version: &str) -> Result<(), BuildError> {
    let scratch = ScratchDir::new("crossbridge-module-").map_err(BuildError::file("a scratch folder"))?;
    let module = format!("crossbridge.dev/sdk/go@{version}");
    let go = program(scratch.path(), "go", &["mod", "download", &module])
        .env("GOPROXY", format!("file://{}", published.join("proxy").display()))
        .env("GONOSUMDB", "crossbridge.dev")
        .env("GOMODCACHE", scratch.path().join("cache"))
        .env("GOFLAGS", "-modcacherw");
    run(go).await
}

/// Installs a wheel, and nothing that it needs.
pub(crate) fn wheel_install(wheel: &str) -> [&str; 6] {
    [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--force-reinstall",
        wheel,
    ]
}

/// Runs its tests and the vectors, and what judges its types and its style.
async fn verify(language: Language, at: &Path) -> Result<(), BuildError> {
    let steps: &[&[&str]] = match language {
        Language::Python => &[
            &[".venv/bin/python", "-m", "pytest", "-q"],
            &[".venv/bin/python", "-m", "mypy"],
            &[".venv/bin/python", "-m", "ruff", "check", "."],
            &[".venv/bin/python", "-m", "ruff", "format", "--check", "."],
        ],
        Language::Go => &[
            &["go", "vet", "./..."],
            &["go", "tool", "-modfile=tools/go.mod", "staticcheck", "./..."],
            &["sh", "-c", UNFORMATTED],
            // Go caches results, and does not see that the vectors, which lie outside of the module, have changed.
            &["go", "test", "-count=1", "./..."],
        ],
        Language::TypeScript => &[&["npm", "test", "--silent"], &["npm", "run", "--silent", "lint"]],
    };
    for step in steps {
        if let [tool, arguments @ ..] = step {
            run(program(at, tool, arguments)).await?;
        }
    }
    Ok(())
}

/// The wheel, the tarball, or the folder of the module as it is published.
fn packed(language: Language, at: &Path) -> Result<PathBuf, BuildError> {
    let extension = match language {
        Language::Python => "whl",
        Language::Go => return Ok(published(at).join("module")),
        Language::TypeScript => "tgz",
    };
    let dist = at.join("dist");
    let package = source::entries(&dist)?
        .into_iter()
        .find(|path| path.extension().is_some_and(|found| found == extension));
    package.ok_or_else(|| BuildError::Step {
        tool: "packing the SDK".to_owned(),
        status: "success".to_owned(),
        said: format!("no .{extension} is in {}", dist.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::folder;
    use crate::{Language, source};

    #[test]
    fn versions_are_in_step() {
        let version = env!("CARGO_PKG_VERSION");
        let read = |path| source::read(source::repository().join(path)).expect("a file");
        let own = |language: Language, file: &str| source::read(folder(language).join(file)).expect("a file");
        let expected = [
            (
                own(Language::Python, "pyproject.toml"),
                format!("\nversion = \"{version}\"\n"),
            ),
            (
                own(Language::TypeScript, "package.json"),
                format!("\n  \"version\": \"{version}\",\n"),
            ),
            (
                own(Language::TypeScript, "package-lock.json"),
                format!("\"name\": \"@crossbridge/sdk\",\n  \"version\": \"{version}\",\n"),
            ),
            // A tag sdk/go/vVERSION is its version; who depends on it names that.
            (
                read("examples/go-plugin/go.mod"),
                format!("\nrequire crossbridge.dev/sdk/go v{version}\n"),
            ),
        ];
        for (text, line) in expected {
            assert!(text.contains(&line), "{line:?} is not in:\n{text}");
        }
        let workspace = read("Cargo.toml");
        for name in ["crossbridge-proto", "crossbridge-sdk", "crossbridge-types"] {
            let line = workspace
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")));
            let line = line.unwrap_or_default();
            assert!(
                line.ends_with(&format!(", version = \"{version}\" }}")),
                "{name}: {line}"
            );
        }
    }
}
