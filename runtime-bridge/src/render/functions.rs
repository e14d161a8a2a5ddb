//! The functions that are called: those that listen somewhere already, and those that are started for it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use bridge_control_plane::process::{Output, Process, ScratchDir};
use bridge_core::{
    composite::PipelineSpec,
    function::{FunctionEndpoint, FunctionFailure, Functions, RunRequest, RunResponse, endpoints},
};
use bridge_function::{Client, EndpointTable, Options};
use bridge_plugin::TlsFiles;
use jiff::Timestamp;
use serde_json::Value;
use tokio::{net::UnixStream, time::sleep};

use super::{RenderArgs, RenderError};
use crate::dev::endpoint;

const RUNTIME: &str = "render.crossplane.io/runtime";
const TARGET: &str = "render.crossplane.io/runtime-development-target";
/// Where a function in development listens, unless it says so itself.
const DEFAULT_TARGET: &str = "localhost:9443";
const ENDPOINT: &str = "crossbridge.dev/endpoint";

/// How often it is looked whether a function listens.
const LOOK: Duration = Duration::from_millis(20);
/// One that does not listen yet is called again after this.
const RETRY: Duration = Duration::from_millis(100);
/// A call has so much more time than all together, whose end says more than that of a call.
const LEEWAY: Duration = Duration::from_secs(5);
/// How the client begins what it says of a connection that was made and then broke, which a test holds.
const BROKE: &str = "the connection broke";
/// How long a function's process may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// Functions that can be called.
pub(super) struct RunningFunctions {
    client: Client,
    deadline: Timestamp,
    timeout: Duration,
    /// All there are, as whoever started them has listed them: they may not listen yet. `None`: those that listen, or were waited for.
    listed: Option<BTreeMap<String, FunctionEndpoint>>,
    processes: Vec<Process>,
    _sockets: Option<ScratchDir>,
}

impl RunningFunctions {
    /// Starts those that have a command, and waits until they listen.
    pub(super) async fn start(
        args: &RenderArgs,
        pipeline: &PipelineSpec,
        functions: &BTreeMap<String, Value>,
    ) -> Result<Self, RenderError> {
        let sockets = ScratchDir::new("crossbridge-render-").map_err(RenderError::Folder)?;
        let mut known: BTreeMap<String, FunctionEndpoint> = BTreeMap::new();
        for named in &args.function {
            known.insert(named.name.clone(), named.endpoint.clone());
        }
        let mut started: Vec<(String, PathBuf, Process)> = Vec::new();
        for (number, function) in (1..).zip(&args.function_command) {
            let socket = sockets.path().join(format!("function-{number}.sock"));
            let name = &function.name;
            let quote = || {
                let name = name.clone();
                Output::lines(move |line| eprintln!("{name} | {line}"))
            };
            let process = function.spawn(&socket).stdout(quote()).stderr(quote()).spawn()?;
            known.insert(name.clone(), parsed(name, &endpoint(&socket))?);
            started.push((name.clone(), socket, process));
        }
        for step in &pipeline.steps {
            let name = &step.function;
            if !known.contains_key(name)
                && let Some(function) = functions.get(name)
            {
                known.insert(name.clone(), listens_at(name, function)?);
            }
        }
        let deadline = Timestamp::now() + args.timeout;
        let mut waited_for = String::new();
        let listening = async {
            for (name, socket, process) in &started {
                waited_for.clone_from(name);
                while UnixStream::connect(socket).await.is_err() {
                    if let Some(status) = process.status() {
                        return Err(RenderError::Command {
                            name: name.clone(),
                            what: format!("has ended ({status}) before it listened at {}", socket.display()),
                        });
                    }
                    sleep(LOOK).await;
                }
            }
            Ok(())
        };
        let listened = tokio::time::timeout(args.timeout, listening).await;
        listened.map_err(|_| RenderError::Timeout {
            after: args.timeout,
            during: format!(
                "the command of function {waited_for:?} does not listen; what it printed is above"
            ),
        })??;
        Ok(Self {
            client: client(&known, args.function_tls_dir.as_deref().map(TlsFiles::in_folder)),
            deadline,
            timeout: args.timeout,
            listed: None,
            processes: started.into_iter().map(|(_, _, process)| process).collect(),
            _sockets: Some(sockets),
        })
    }

    /// Those that run already, by name, each at `host:port` without TLS.
    pub(super) fn listed(
        addresses: &BTreeMap<String, String>,
        timeout: Duration,
    ) -> Result<Self, RenderError> {
        let mut known = BTreeMap::new();
        for (name, address) in addresses {
            known.insert(name.clone(), plain(name, address)?);
        }
        Ok(Self {
            client: client(&known, None),
            deadline: Timestamp::now() + timeout,
            timeout,
            listed: Some(known),
            processes: Vec::new(),
            _sockets: None,
        })
    }

    /// For how long all calls may take, the start of functions included.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What is left of that.
    pub(super) fn left(&self) -> Duration {
        let left = self.deadline.duration_since(Timestamp::now());
        Duration::try_from(left).unwrap_or_default()
    }

    async fn call_once(
        &self,
        client: &Client,
        function: &str,
        request: &RunRequest,
    ) -> Result<RunResponse, FunctionFailure> {
        client.run(function, request, self.deadline + LEEWAY).await
    }

    /// What a function answers to a step.
    ///
    /// # Errors
    /// It is not among those that are listed.
    pub(super) async fn call(
        &self,
        step: &str,
        function: &str,
        request: &RunRequest,
    ) -> Result<Result<RunResponse, FunctionFailure>, RenderError> {
        let Some(listed) = &self.listed else {
            return Ok(self.call_once(&self.client, function, request).await);
        };
        if !listed.contains_key(function) {
            return Err(RenderError::UnknownFunction {
                step: step.to_owned(),
                function: function.to_owned(),
            });
        }
        let answer = self.call_once(&self.client, function, request).await;
        let Some(why) = not_listening(&answer) else {
            return Ok(answer);
        };
        eprintln!("waiting for function {function:?}: cannot reach it: {why}");
        Ok(self.wait_and_call(listed, function, request, answer).await)
    }

    /// The last answer of those that come before the deadline, the first one that is not that it does not listen.
    async fn wait_and_call(
        &self,
        listed: &BTreeMap<String, FunctionEndpoint>,
        function: &str,
        request: &RunRequest,
        mut answer: Result<RunResponse, FunctionFailure>,
    ) -> Result<RunResponse, FunctionFailure> {
        while not_listening(&answer).is_some() && Timestamp::now() + RETRY < self.deadline {
            sleep(RETRY).await;
            // One that knows of no failure yet, and so does not hold the call back.
            answer = self.call_once(&client(listed, None), function, request).await;
        }
        answer
    }

    /// Ends the processes that it started.
    pub(super) async fn stop(self) {
        futures::future::join_all(self.processes.iter().map(|process| process.stop(GRACE))).await;
    }
}

/// Why no connection was made. One that broke may have brought the request, which is not sent again.
fn not_listening(answer: &Result<RunResponse, FunctionFailure>) -> Option<&str> {
    match answer {
        Err(FunctionFailure::Unreachable(why)) if !why.starts_with(BROKE) => Some(why),
        _ => None,
    }
}

fn client(known: &BTreeMap<String, FunctionEndpoint>, tls: Option<TlsFiles>) -> Client {
    let table = EndpointTable::default();
    table.set(endpoints(known, &[], &[]));
    Client::new(Options::new(table, tls))
}

fn listens_at(name: &str, function: &Value) -> Result<FunctionEndpoint, RenderError> {
    let annotation = |key: &str| function["metadata"]["annotations"][key].as_str();
    if let Some(endpoint) = annotation(ENDPOINT) {
        return parsed(name, endpoint);
    }
    if annotation(RUNTIME) != Some("Development") {
        return Err(RenderError::NotReachable {
            name: name.to_owned(),
        });
    }
    plain(name, annotation(TARGET).unwrap_or(DEFAULT_TARGET))
}

/// A target of gRPC that is reached without TLS.
fn plain(name: &str, target: &str) -> Result<FunctionEndpoint, RenderError> {
    let target = target.strip_prefix("dns:///").unwrap_or(target);
    if target.contains("://") || target.starts_with("unix:") {
        parsed(name, target)
    } else {
        // In development it serves in plain text.
        parsed(name, &format!("http://{target}"))
    }
}

fn parsed(name: &str, endpoint: &str) -> Result<FunctionEndpoint, RenderError> {
    endpoint.parse().map_err(|cause| RenderError::Endpoint {
        name: name.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_function_in_development_listens_where_its_annotation_says() {
        let at = |annotations: Value| {
            let function = json!({ "metadata": { "annotations": annotations } });
            listens_at("f", &function).map_or_else(|error| error.to_string(), |at| at.to_string())
        };
        let development = |target: &str| json!({ RUNTIME: "Development", TARGET: target });
        assert_eq!(at(json!({ RUNTIME: "Development" })), "http://localhost:9443");
        assert_eq!(at(development("127.0.0.1:9444")), "http://127.0.0.1:9444");
        assert_eq!(at(development("dns:///localhost:1")), "http://localhost:1");
        assert_eq!(at(development("unix:/run/f.sock")), "unix:///run/f.sock");
        assert_eq!(at(json!({ ENDPOINT: "unix:/e.sock" })), "unix:///e.sock");
        assert!(at(json!({})).contains("--function f=ENDPOINT"));
        assert!(at(development("f.example.org:1")).contains("in the clear"));
    }
}
