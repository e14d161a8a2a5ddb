//! Where the binaries under test lie.

use std::path::PathBuf;

/// A binary of this workspace, built beside this test: `cargo xtask test` builds them first.
///
/// # Panics
/// If it is not there.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // target/PROFILE/deps/TEST
    let built = test
        .parent()
        .and_then(|deps| deps.parent())
        .map(|profile| profile.join(name));
    built.filter(|path| path.exists()).unwrap_or_else(|| {
        panic!(
            "{name} is not built beside {}; run `cargo build --workspace --bins` first",
            test.display()
        )
    })
}
