//! The bridge, extended to halt at chosen failpoints, so that it can be killed there.
//!
//! `CROSSBRIDGE_FAILPOINTS` names a folder. `halt.json` in it names which object halts where: `{"ns/name": "create/before intent#1"}`. Each
//! point that is reached is a line of `reached.log`: `ns/name create/before intent#1`. A bridge that halts there goes on once there is a
//! file
//! `go-create`, and reports it by the same line in `went-on.log`.
//!
//! Of compositions each write is a point, once there is a file `begin`: `story-0017 end/after delete configmaps#2`. The story is what its
//! objects' names or namespaces begin with. Where one halts, all further writes of its story halt, too.

use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    process::ExitCode,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use bridge_engine::{
    managed::failpoint::{Point, Side, set_failpoint_handler},
    write::failpoint::{Point as WritePoint, set_write_handler},
};
use crash_matrix::endings::story_in;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

static POINTS: LazyLock<Option<Failpoints>> = LazyLock::new(Failpoints::from_environment);

fn main() -> ExitCode {
    LazyLock::force(&POINTS);
    set_failpoint_handler(|point| Box::pin(halt(point)));
    set_write_handler(|write| Box::pin(halt_write(write)));
    runtime_bridge::main()
}

struct Failpoints {
    folder: PathBuf,
    halt: HashMap<String, String>,
    reached: Mutex<(HashMap<String, u32>, File)>,
    resumed: Mutex<File>,
    /// Stories that have halted.
    halted: Mutex<HashSet<String>>,
}

fn word(side: Side) -> &'static str {
    match side {
        Side::Before => "before",
        Side::After => "after",
    }
}

async fn halt_write(write: WritePoint) {
    let Some(points) = POINTS
        .as_ref()
        .filter(|points| points.folder.join("begin").exists())
    else {
        return;
    };
    let story = story_in(&write.path).or_else(|| story_in(&String::from_utf8_lossy(&write.body)));
    let Some(story) = story else { return };
    if write.side == Side::Before && points.has_halted(&story) {
        points.wait("end").await;
        return;
    }
    let side = word(write.side);
    let here = points.note(&story, &format!("end/{side} {} {}", write.verb, write.resource));
    if points.halt.get(&story) == Some(&here) {
        points.note_halted(&story);
        points.wait("end").await;
        points.note_resumed(&story, &here);
    }
}

async fn halt(point: Point) {
    let Some(points) = POINTS.as_ref() else { return };
    let side = word(point.side);
    let phase = match (point.deleting, point.generation) {
        (true, _) => "delete",
        (false, 1) => "create",
        (false, _) => "update",
    };
    let here = points.note(&point.object, &format!("{phase}/{side} {}", point.what));
    if points.halt.get(&point.object) == Some(&here) {
        points.wait(phase).await;
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
            halted: Mutex::default(),
            folder,
        })
    }

    fn note_halted(&self, story: &str) {
        let mut halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
        halted.insert(story.to_owned());
    }

    fn has_halted(&self, story: &str) -> bool {
        let halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
        halted.contains(story)
    }

    async fn wait(&self, phase: &str) {
        while !self.folder.join(format!("go-{phase}")).exists() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
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
