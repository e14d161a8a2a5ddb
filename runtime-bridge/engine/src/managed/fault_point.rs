//! Named points, right before and right after each write and each call, at which a test build can be halted and killed. In any other build
//! there is nothing of it: see `tests/crash-matrix`.

/// Before or after what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// This object's pass is here. It goes on at once, unless a test has asked for this point.
#[cfg(not(feature = "fault-points"))]
pub(super) fn reach(_: Side, _: &'static str, _: &crate::object::Object) -> std::future::Ready<()> {
    std::future::ready(())
}

#[cfg(feature = "fault-points")]
pub(super) use self::halting::reach;

#[cfg(feature = "fault-points")]
mod halting {
    //! `CROSSBRIDGE_FAULT_POINTS` names a folder. `halt.json` in it says which object halts where: `{"ns/name": "create/before intent#1"}`.
    //! Each point that is reached is a line of `reached.log`: `ns/name create/before intent#1`. Whoever halts there goes on once there is
    //! a file `go-create`.

    use std::{
        collections::HashMap,
        fs::{File, OpenOptions},
        io::Write,
        path::PathBuf,
        sync::{LazyLock, Mutex, PoisonError},
        time::Duration,
    };

    use super::Side;
    use crate::object::Object;

    const ASK_AGAIN: Duration = Duration::from_millis(10);

    static POINTS: LazyLock<Option<Points>> = LazyLock::new(Points::from_environment);

    struct Points {
        folder: PathBuf,
        halt: HashMap<String, String>,
        reached: Mutex<(HashMap<String, u32>, File)>,
    }

    /// This object's pass is here. It halts if that was asked for.
    pub(in crate::managed) async fn reach(side: Side, what: &'static str, object: &Object) {
        let Some(points) = POINTS.as_ref() else { return };
        let side = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        let phase = match (object.is_deleting(), object.generation()) {
            (true, _) => "delete",
            (false, 1) => "create",
            (false, _) => "update",
        };
        let name = format!("{}/{}", object.namespace().unwrap_or_default(), object.name());
        let point = points.note(&name, &format!("{phase}/{side} {what}"));
        if points.halt.get(&name) == Some(&point) {
            while !points.folder.join(format!("go-{phase}")).exists() {
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
    }

    impl Points {
        fn from_environment() -> Option<Self> {
            let folder = PathBuf::from(std::env::var_os("CROSSBRIDGE_FAULT_POINTS")?);
            let halt = std::fs::read(folder.join("halt.json")).unwrap_or_default();
            let log = folder.join("reached.log");
            let reached = OpenOptions::new().append(true).create(true).open(log);
            match reached {
                Ok(file) => Some(Self {
                    folder,
                    halt: serde_json::from_slice(&halt).unwrap_or_default(),
                    reached: Mutex::new((HashMap::new(), file)),
                }),
                Err(error) => {
                    tracing::error!(%error, "cannot write which fault points are reached");
                    None
                }
            }
        }

        /// The point with its number: the how manyth of its name for this object in this process.
        fn note(&self, name: &str, point: &str) -> String {
            let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
            let (counts, file) = &mut *reached;
            let count = counts.entry(format!("{name} {point}")).or_default();
            *count += 1;
            let point = format!("{point}#{count}");
            if let Err(error) = file.write_all(format!("{name} {point}\n").as_bytes()) {
                tracing::error!(%error, "cannot write which fault points are reached");
            }
            point
        }
    }
}
