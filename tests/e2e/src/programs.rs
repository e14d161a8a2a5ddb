//! Where the binaries under test lie.

use std::path::PathBuf;

/// A binary of this workspace, built beside this test: `cargo xtask test` builds them first.
///
/// # Panics
/// If it is absent.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // target/PROFILE/deps/TEST, or target/PROFILE/BENCH
    let mut places = test.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    places.find(|path| path.exists()).unwrap_or_else(|| {
        panic!(
            "{name} is not built beside {}; run `cargo build --workspace --bins` first",
            test.display()
        )
    })
}
