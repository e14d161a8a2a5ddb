//! The binary, as far as it needs no plugin.

use std::process::{Command, Output};

fn kit(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_provider-conformance"))
        .args(arguments)
        .output()
        .expect("the kit starts")
}

#[test]
fn a_wrong_command_line_exits_with_2_and_advice() {
    for (arguments, word) in [
        (&[][..], "--endpoint"),
        (&[], "--plugin-command"),
        (&["--endpoint=plugin.sock"], "unix:///path"),
        (&["--endpoint=https://plugin.example.org:1"], "--tls-ca"),
        (&["--endpoint=http://10.0.0.1:1"], "loopback"),
        (
            &["--endpoint=unix:/x", "--fixtures=/there/is/none"],
            "/there/is/none",
        ),
        (&["--endpoint=unix:/x", "--repeat=0"], "--repeat"),
        (&["--endpoint=unix:/x", "--only=creat"], "creat"),
        (
            &["--endpoint=unix:/x", "--skip=create/completes,create/once-was"],
            "create/once-was",
        ),
    ] {
        let output = kit(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn a_plugin_that_cannot_start_exits_with_3() {
    let output = kit(&["--plugin-command=sh -c 'echo no such bed >&2; exit 7'"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no such bed"), "{said}");
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    let output = kit(&["--plugin-command=/nope"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("there is no program \"/nope\""), "{said}");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let script = format!("{} --list | head -1", env!("CARGO_BIN_EXE_provider-conformance"));
    let output = Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
}

#[test]
fn the_list_needs_no_plugin() {
    let output = kit(&["--list"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    assert!(said.contains("observe/unknown-name-is-absent"), "{said}");
    assert!(said.contains("resource_service.proto:"), "{said}");
}
