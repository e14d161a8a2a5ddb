//! The README stands alone on a registry's page: what it shows is what is tested.

#[test]
fn the_readme_shows_the_example_that_is_tested() {
    let example = include_str!("../../../../examples/files-plugin/src/main.rs");
    let shown = example.replace("#[cfg(test)]\nmod tests;\n", "");
    assert_ne!(example, shown);
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&format!("```rust,no_run\n{shown}```\n")),
        "copy examples/files-plugin/src/main.rs into sdk/rust/README.md, without its last two lines"
    );
}

#[test]
fn the_readme_shows_a_test_that_is_run() {
    let tests = include_str!("../../../../examples/files-plugin/src/tests.rs");
    let readme = include_str!("../../README.md");
    let (_, fragment) = readme.split_once("```rust,ignore\n").expect("a test");
    let (fragment, _) = fragment.split_once("```\n").expect("its end");
    assert!(
        fragment.contains("#[tokio::test]") && tests.contains(fragment),
        "copy a test of examples/files-plugin/src/tests.rs, with what it needs, into sdk/rust/README.md:\n{fragment}"
    );
}
