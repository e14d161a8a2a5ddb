//! `runtime-bridge internal render`: requests that cannot be answered.

use function_proto::{
    Struct,
    render::{
        CompositeInput, FunctionInput, OperationInput, RenderRequest, RenderResponse, render_request::Input,
    },
};
use prost::Message;
use serde_json::{Value, json};

use crate::{
    compositions::{Function, composition, order},
    program::{run, run_with_input},
};

fn object(value: &Value) -> Option<Struct> {
    Struct::from_json(value).ok()
}

fn input(functions: Vec<FunctionInput>) -> CompositeInput {
    let mut xr = order("a", 2);
    xr["metadata"]["namespace"] = json!("default");
    CompositeInput {
        composite_resource: object(&xr),
        composition: object(&composition()),
        functions,
        ..CompositeInput::default()
    }
}

fn request(input: Input) -> Vec<u8> {
    let request = RenderRequest {
        meta: None,
        input: Some(input),
    };
    request.encode_to_vec()
}

/// Standard error of a request that is not answered.
async fn fails(request: &[u8], flags: &[&str]) -> String {
    let arguments = [&["internal", "render"], flags].concat();
    let (code, stdout, stderr) = run_with_input(&arguments, request).await;
    assert_eq!((code, stdout.len()), (Some(1), 0), "{stderr}");
    stderr
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_an_error_without_output() {
    let why = fails(b"apiVersion: v1", &[]).await;
    assert!(why.contains("no RenderRequest"), "{why}");
    let why = fails(b"", &[]).await;
    assert!(why.contains("set composite to what is to be rendered"), "{why}");
    let why = fails(&request(Input::Composite(CompositeInput::default())), &[]).await;
    assert!(why.contains("lacks composite_resource and composition"), "{why}");
    let why = fails(&request(Input::Operation(OperationInput::default())), &[]).await;
    assert!(why.contains("Crossbridge runs no operations"), "{why}");
    let why = fails(&vec![0; 64 * 1024 * 1024 + 1], &[]).await;
    assert!(why.contains("larger than 64 MiB"), "{why}");
}

#[tokio::test]
async fn a_function_that_cannot_be_called_is_an_error_without_output() {
    let why = fails(&request(Input::Composite(input(Vec::new()))), &[]).await;
    let expected = "cannot compose resources: cannot run Composition pipeline step \"compose\": unknown function \"f\" - is it listed in the render input?";
    assert!(why.contains(expected), "{why}");
    let at = |address: &str| {
        let function = FunctionInput {
            name: "f".to_owned(),
            address: address.to_owned(),
        };
        request(Input::Composite(input(vec![function])))
    };
    // Nothing listens at the discard port.
    let why = fails(&at("127.0.0.1:9"), &["--timeout", "500ms"]).await;
    assert!(
        why.starts_with("error: cannot render composite resource: "),
        "{why}"
    );
    let why = fails(&at("f.example.org:9443"), &[]).await;
    assert!(why.contains("Function \"f\":"), "{why}");
}

#[tokio::test]
async fn a_function_may_listen_on_a_socket() {
    let function = Function::start();
    let address = function.flag().replace("f=unix:", "unix://");
    let functions = vec![FunctionInput {
        name: "f".to_owned(),
        address,
    }];
    let request = request(Input::Composite(input(functions)));
    let (code, stdout, stderr) = run_with_input(&["internal", "render"], &request).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        RenderResponse::decode(stdout.as_slice())
            .unwrap()
            .output
            .is_some()
    );
}

#[tokio::test]
async fn the_command_is_hidden_and_explained() {
    let help = run(&["--help"]).await;
    assert!(!help.stdout.contains("internal"), "{}", help.stdout);
    let help = run(&["internal", "render", "--help"]).await;
    assert!(
        help.stdout.contains("RenderRequest") && help.stdout.contains("Exit codes"),
        "{}",
        help.stdout
    );
}
