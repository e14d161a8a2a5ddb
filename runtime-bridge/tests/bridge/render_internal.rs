//! `runtime-bridge internal render`: requests that cannot be answered.

use function_proto::{
    Struct,
    render::{
        CompositeInput, FunctionInput, OperationInput, RenderRequest, RenderResponse, render_request::Input,
    },
};
use prost::Message;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::{
    compositions::{Function, composition, order},
    program::{run, run_with_input, spawn},
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
async fn a_field_that_is_no_object_is_an_error_without_output() {
    type Place = fn(&mut CompositeInput) -> &mut Option<Struct>;
    type List = fn(&mut CompositeInput) -> &mut Vec<Struct>;
    let singles: [(&str, Place); 3] = [
        ("composite_resource", |input| &mut input.composite_resource),
        ("composition", |input| &mut input.composition),
        ("composite_resource_definition", |input| {
            &mut input.composite_resource_definition
        }),
    ];
    let lists: [(&str, List); 3] = [
        ("observed_resources[0]", |input| &mut input.observed_resources),
        ("required_resources[0]", |input| &mut input.required_resources),
        ("credentials[0]", |input| &mut input.credentials),
    ];
    let fields = [
        "metadata",
        "metadata.labels",
        "metadata.annotations",
        "spec",
        "status",
    ];
    let values = [
        (json!("x"), "a string"),
        (json!(["x"]), "a list"),
        (json!(1), "a number"),
    ];
    for (field, (value, found)) in fields
        .iter()
        .flat_map(|field| values.iter().map(move |one| (field, one)))
    {
        let broken = |object: &Option<Struct>| {
            let map = object.as_ref().map(|object| object.to_map().unwrap());
            let mut whole = Value::Object(map.unwrap_or_default());
            match field.split_once('.') {
                Some((outer, inner)) => whole[outer][inner] = value.clone(),
                None => whole[field] = value.clone(),
            }
            Struct::from_json(&whole).unwrap()
        };
        let check = async |name: &str, input: CompositeInput| {
            let why = fails(&request(Input::Composite(input)), &[]).await;
            let expected = format!("{name}: {field} must be an object, and is {found}");
            assert!(why.contains(&expected), "{why}");
        };
        for (name, place) in singles {
            let mut input = input(Vec::new());
            let place = place(&mut input);
            *place = Some(broken(place));
            check(name, input).await;
        }
        for (name, list) in lists {
            let mut input = input(Vec::new());
            list(&mut input).push(broken(&None));
            check(name, input).await;
        }
    }
}

#[tokio::test]
async fn a_closed_standard_output_is_an_error() {
    let function = Function::start();
    let functions = vec![FunctionInput {
        name: "f".to_owned(),
        address: function.endpoint(),
    }];
    let mut program = spawn(&["internal", "render"]);
    drop(program.stdout.take());
    let mut stdin = program.stdin.take().unwrap();
    stdin
        .write_all(&request(Input::Composite(input(functions))))
        .await
        .unwrap();
    drop(stdin);
    let output = program.wait_with_output().await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot write the response"), "{stderr}");
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
        why.contains("cannot run Function \"f\": cannot reach it"),
        "{why}"
    );
    let why = fails(&at("f.example.org:9443"), &[]).await;
    assert!(why.contains("Function \"f\":"), "{why}");
}

/// `internal render` with a function at a port whose connections are all treated alike.
async fn with_server(connected: impl AsyncFn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let function = FunctionInput {
        name: "f".to_owned(),
        address: listener.local_addr().unwrap().to_string(),
    };
    let request = request(Input::Composite(input(vec![function])));
    let failing = fails(&request, &["--timeout", "2s"]);
    tokio::pin!(failing);
    loop {
        let (connection, _) = tokio::select! {
            accepted = listener.accept() => accepted.unwrap(),
            why = &mut failing => return why,
        };
        tokio::select! {
            () = connected(connection) => {}
            why = &mut failing => return why,
        }
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_named() {
    let why = with_server(async |_open| std::future::pending::<()>().await).await;
    let expected = "not rendered within 2 s: step \"compose\" was calling function \"f\"";
    assert!(why.contains(expected) && why.contains("--timeout"), "{why}");
}

#[tokio::test]
async fn a_function_whose_connection_breaks_is_not_called_again() {
    let why = with_server(async |mut connection| {
        // An empty frame of settings, as a server begins.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        connection.write_all(&settings).await.unwrap();
        let _ = connection.read(&mut [0; 256]).await.unwrap();
    })
    .await;
    assert!(why.contains("cannot reach it: the connection broke"), "{why}");
    assert!(!why.contains("waiting for function"), "{why}");
}

#[tokio::test]
async fn a_function_may_listen_on_a_socket() {
    let function = Function::start();
    let address = function.endpoint();
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
async fn a_function_that_does_not_listen_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("f.sock");
    let functions = vec![FunctionInput {
        name: "f".to_owned(),
        address: format!("unix://{}", socket.display()),
    }];
    let mut program = spawn(&["internal", "render"]);
    let mut stdin = program.stdin.take().unwrap();
    stdin
        .write_all(&request(Input::Composite(input(functions))))
        .await
        .unwrap();
    drop(stdin);
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(
        line.contains("waiting for function \"f\": cannot reach it"),
        "{line}"
    );
    let function = Function::start_at(folder);
    let output = program.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    drop(function);
}

#[tokio::test]
async fn the_command_is_hidden_and_explained() {
    let help = run(&["--help"]).await;
    assert!(!help.stdout.contains("internal"), "{}", help.stdout);
    let help = run(&["internal", "render", "--help"]).await;
    assert!(
        ["RenderRequest", "Exit codes", "Standard input is read before"]
            .iter()
            .all(|part| help.stdout.contains(part)),
        "{}",
        help.stdout
    );
}
