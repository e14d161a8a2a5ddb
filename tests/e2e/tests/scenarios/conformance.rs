//! The kit judges the AWS plugin where it matters most: creations that are killed, cut or repeated, and an AWS that is down or throttles.

use std::{fs, sync::mpsc::channel, time::Duration};

use aws_emulator::{AwsEmulator, Fault, Harm, Options, Service};
use bridge_control_plane::process::{Output, ScratchDir, Spawn};
use bridge_e2e::binary;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Most of it is waiting: no one believes in absence before the kind's consistency window has passed.
const LIMIT: Duration = Duration::from_mins(8);

/// Assertions that do not apply to any of these kinds.
const NOT_APPLICABLE: [&str; 7] = [
    "create/deleted-not-recreated",
    "create/token-reuse-rejected",
    "delete/during-create-accepted",
    "delete/stale-etag-conflict",
    "durable/token-after-kill",
    "update/during-operation-accepted",
    "update/stale-etag-conflict",
];
const SYNCHRONOUS: [&str; 3] = [
    "durable/handle-after-kill",
    "durable/handle-on-next-build",
    "durable/handle-on-replica",
];

/// One queue rather than two.
const FIXTURES: &str = "
examples:
  Queue:
  - name: standard
    createParameters: {name: crossbridge-judged, visibilityTimeoutSeconds: 45, tags: {team: messaging}}
    updateParameters: {name: crossbridge-judged, visibilityTimeoutSeconds: 60, tags: {team: messaging}}
";

/// The fault hook of the kit: each of its actions is a line that is answered once it is in force.
struct Hook {
    listener: TcpListener,
    service: Service,
}

impl Hook {
    async fn new(service: Service) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        Self { listener, service }
    }

    /// The shell command for the kit's `--fault-cmd`.
    fn command(&self) -> String {
        let port = self.listener.local_addr().expect("an address").port();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo \"$1\" >&3 && read -r done <&3");
        format!("bash -c '{script}' hook $1")
    }

    /// Carries out the hook's actions until it is dropped.
    async fn serve_requests(&self, aws: &AwsEmulator) {
        loop {
            let (stream, _) = self.listener.accept().await.expect("a connection");
            self.answer(stream, aws).await.expect("the hook waits");
        }
    }

    async fn answer(&self, mut stream: TcpStream, aws: &AwsEmulator) -> std::io::Result<()> {
        let mut action = String::new();
        BufReader::new(&mut stream).read_line(&mut action).await?;
        let always = |harm| Fault::new(harm).on_service(self.service).times(u32::MAX);
        match action.trim() {
            "upstream-down" => aws.inject(always(Harm::Refuse)),
            "throttle" => aws.inject(always(Harm::Throttle)),
            _ => aws.clear_faults(),
        }
        stream.write_all(b"done\n").await
    }
}

/// The kind conforms in these areas; what is not judged in them is `not_judged` to the last.
async fn conforms(kind: &str, service: Service, areas: &str, not_judged: &[&str]) {
    let options = Options {
        queue_name_rests: Duration::ZERO,
        ..Options::default()
    };
    let aws = AwsEmulator::start(options)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let hook = Hook::new(service).await;
    let scratch = ScratchDir::new("crossbridge-judged-").expect("a folder");
    let (fixtures, report) = (
        scratch.path().join("fixtures.yaml"),
        scratch.path().join("report.json"),
    );
    fs::write(&fixtures, FIXTURES).expect("it is written");
    let plugin = binary("provider-aws-example").display().to_string();
    let keys = aws.credentials();
    let (say, said) = channel();
    let kit = Spawn::new(binary("provider-conformance"))
        .args(["--plugin-command", &plugin, "--next-plugin-command", &plugin])
        .args(["--kind", kind, "--only", areas, "--fault-cmd", &hook.command()])
        .arg("--fixtures")
        .arg(&fixtures)
        .arg("--json")
        .arg(&report)
        .args(
            [
                ("setting", "endpoint", aws.endpoint()),
                ("setting", "region", "eu-west-1".to_owned()),
                ("setting", "pollInterval", "200ms".to_owned()),
                ("credential", "accessKeyId", keys.access_key_id),
                ("credential", "secretAccessKey", keys.secret_access_key),
            ]
            .map(|(flag, key, value)| format!("--{flag}={key}={value}")),
        )
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
        .spawn()
        .expect("the kit starts");
    let ended = tokio::select! {
        ended = kit.wait_for(LIMIT) => ended,
        () = hook.serve_requests(&aws) => unreachable!("it never ends"),
    };
    drop(kit);
    let said: Vec<String> = said.iter().collect();
    assert!(
        ended.is_ok_and(|status| status.success()),
        "{kind} does not conform:\n{}",
        said.join("\n")
    );
    let report: Value = serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let mut skipped: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["verdict"] != "passed")
        .filter_map(|finding| finding["id"].as_str())
        .collect();
    skipped.sort_unstable();
    let mut expected = not_judged.to_vec();
    expected.sort_unstable();
    assert_eq!(skipped, expected, "{kind}");
}

/// Side by side, as each mostly waits.
#[tokio::test(flavor = "multi_thread")]
async fn the_aws_plugin_conforms_under_kills_and_faults() {
    let of_all = [&NOT_APPLICABLE[..], &SYNCHRONOUS].concat();
    // The name of a queue is derived from the desired state, and the fixture has no invalid one.
    let of_queue = [
        "create/invalid-name-rejected",
        "create/invalid-example-rejected",
        "create/invalid-field-named",
        "create/name-presence-checked",
    ];
    let of_queue = [&of_all[..], &of_queue].concat();
    let all = "create,update,delete,durable,upstream";
    tokio::join!(
        conforms("Bucket", Service::S3, all, &of_all),
        conforms("Queue", Service::Sqs, all, &of_queue),
        // Its repeated creations would take minutes.
        conforms(
            "Table",
            Service::DynamoDB,
            "durable,upstream",
            &["durable/token-after-kill"]
        ),
    );
}
