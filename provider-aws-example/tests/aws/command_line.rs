//! What people meet who start the plugin by hand.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_provider-aws-example"));
    program.args(arguments).env_remove("PROVIDER_PLUGIN_ENDPOINT");
    program.output().expect("it starts")
}

#[test]
fn its_help_says_how_it_is_started_and_where_its_settings_are() {
    for flag in ["--help", "-h"] {
        let ran = run(&[flag]);
        let printed = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let needed = [
            "runtime-bridge dev --plugin-command provider-aws-example",
            "PROVIDER_PLUGIN_ENDPOINT",
            "RUST_LOG",
            "docs/aws.md",
        ];
        for part in needed {
            assert!(printed.contains(part), "{part} in {printed}");
        }
    }
}

#[test]
fn an_argument_that_it_does_not_take_is_named() {
    let ran = run(&["--region"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("error: unexpected argument \"--region\"\n"),
        "{said}"
    );
    assert!(said.contains("\nIt takes no arguments."), "{said}");
}
