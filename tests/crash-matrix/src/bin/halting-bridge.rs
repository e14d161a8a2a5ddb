//! The bridge, extended to halt at chosen failpoints, so that it can be killed there.
//!
//! `CROSSBRIDGE_FAILPOINTS` names a folder. `halt.json` in it names which object halts where: `{"ns/name": "create/before intent#1"}`. Each
//! point that is reached is a line of `reached.log`: `ns/name create/before intent#1`. A bridge that halts there goes on once there is a
//! file
//! `go-create`, and reports it by the same line in `went-on.log`.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    process::ExitCode,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use bridge_engine::managed::failpoint::{Point, Side, set_failpoint_handler};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

static POINTS: LazyLock<Option<Failpoints>> = LazyLock::new(Failpoints::from_environment);

fn main() -> ExitCode {
    LazyLock::force(&POINTS);
    set_failpoint_handler(|point| Box::pin(halt(point)));
    runtime_bridge::main()
}

struct Failpoints {
    folder: PathBuf,
    halt: HashMap<String, String>,
    reached: Mutex<(HashMap<String, u32>, File)>,
    resumed: Mutex<File>,
}

async fn halt(point: Point) {
    let Some(points) = POINTS.as_ref() else { return };
    let side = match point.side {
        Side::Before => "before",
        Side::After => "after",
    };
    let phase = match (point.deleting, point.generation) {
        (true, _) => "delete",
        (false, 1) => "create",
        (false, _) => "update",
    };
    let here = points.note(&point.object, &format!("{phase}/{side} {}", point.what));
    if points.halt.get(&point.object) == Some(&here) {
        while !points.folder.join(format!("go-{phase}")).exists() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        points.note_resumed(&point.object, &here);
    }
}

impl Failpoints {
    /// A plan or a log that cannot be had ends the test: what halts nowhere would pass for what was killed.
    fn from_environment() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("CROSSBRIDGE_FAILPOINTS")?);
        let halt = std::fs::read(folder.join("halt.json")).expect("halt.json can be read");
        let log = |name: &str| {
            let log = OpenOptions::new()
                .append(true)
                .create(true)
                .open(folder.join(name));
            log.expect("the logs can be written")
        };
        Some(Self {
            halt: serde_json::from_slice(&halt).expect("halt.json is a map of names to points"),
            reached: Mutex::new((HashMap::new(), log("reached.log"))),
            resumed: Mutex::new(log("went-on.log")),
            folder,
        })
    }

    /// The point with its number: the how manyth of its name for this object in this process.
    fn note(&self, name: &str, point: &str) -> String {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, file) = &mut *reached;
        let count = counts.entry(format!("{name} {point}")).or_default();
        *count += 1;
        let point = format!("{point}#{count}");
        file.write_all(format!("{name} {point}\n").as_bytes())
            .expect("reached.log can be written");
        point
    }

    fn note_resumed(&self, name: &str, point: &str) {
        let mut file = self.resumed.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{name} {point}\n").as_bytes())
            .expect("went-on.log can be written");
    }
}
