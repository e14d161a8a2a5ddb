//! Endpoints that cannot be served.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{file, name_of, report};

#[test]
fn endpoints_that_cannot_be_served_end_the_process() {
    let vectors = file("endpoints.json");
    let mut problems = Vec::new();
    for vector in vectors["endpoints"].as_array().expect("endpoints") {
        let mut plugin = Command::new(env!("CARGO_BIN_EXE_sdk-test-plugin"));
        plugin
            .env_remove("PROVIDER_PLUGIN_ENDPOINT")
            .stdin(Stdio::piped());
        if let Some(endpoint) = vector["endpoint"].as_str() {
            plugin.env("PROVIDER_PLUGIN_ENDPOINT", endpoint);
        }
        for (name, value) in vector["environment"].as_object().into_iter().flatten() {
            plugin.env(name, value.as_str().expect("a text"));
        }
        let child = plugin
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test plugin starts");
        // Its standard input stays open until it has ended of itself.
        let mut child = child;
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("it can be waited for");
        drop(input);
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        let mentions = vector["mentions"].as_array().expect("mentions");
        let lacks = |mention: &&Value| !said.contains(&mention.as_str().expect("a text").to_lowercase());
        if output.status.success() {
            problems.push(format!("{}: it ended well", name_of(vector)));
        } else if let Some(mention) = mentions.iter().find(lacks) {
            problems.push(format!("{}: expected {mention} in {said}", name_of(vector)));
        }
    }
    report("endpoints.json", &problems);
}
