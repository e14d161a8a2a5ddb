//! The files of `--watch`: when one changes, plugins and functions are started again.

use std::{
    io,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::sync::{
    mpsc::{UnboundedReceiver, unbounded_channel},
    watch,
};

/// A build writes many files: it is over when none was written for so long.
const QUIET: Duration = Duration::from_millis(300);
/// Folders that builds and package managers write to, beside those whose names begin with a dot.
const GENERATED: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// The last file that changed; it has changed when the receiver says so.
pub type Changes = watch::Receiver<PathBuf>;

/// For a program that no file is watched for.
pub fn no_changes() -> Changes {
    watch::channel(PathBuf::new()).1
}

/// Watches files for as long as it is kept.
pub struct WatchedFiles {
    _watcher: Option<RecommendedWatcher>,
    changes: Changes,
}

/// A path cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {cause}", path.display())]
pub struct WatchError {
    path: PathBuf,
    cause: notify::Error,
}

/// What of the file system is meant: a file, or all below a folder but what is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Watched {
    path: PathBuf,
    is_folder: bool,
}

impl WatchedFiles {
    /// Begins to watch. A path that does not exist is an error. Runs on Tokio.
    pub fn start(paths: &[PathBuf]) -> Result<Self, WatchError> {
        if paths.is_empty() {
            return Ok(Self {
                _watcher: None,
                changes: no_changes(),
            });
        }
        let (changed, changes) = watch::channel(PathBuf::new());
        let watched = paths
            .iter()
            .map(|path| Watched::find(path).map_err(|cause| error(path, notify::Error::io(cause))))
            .collect::<Result<Vec<_>, _>>()?;
        let (send, events) = unbounded_channel();
        let of_handler = watched.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let paths = event
                .ok()
                .filter(is_change)
                .map(|event| event.paths)
                .unwrap_or_default();
            let meant = |path: &PathBuf| of_handler.iter().any(|watched| watched.means(path));
            if let Some(path) = paths.into_iter().find(meant) {
                // The receiver ends with the program.
                drop(send.send(path));
            }
        })
        .map_err(|cause| error(&paths[0], cause))?;
        for watched in &watched {
            let (folder, mode) = watched.root();
            watcher
                .watch(folder, mode)
                .map_err(|cause| error(&watched.path, cause))?;
        }
        tokio::spawn(settle(events, changed));
        Ok(Self {
            _watcher: Some(watcher),
            changes,
        })
    }

    /// For a program that is to be started again upon each change.
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }
}

impl Watched {
    fn find(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        Ok(Self {
            is_folder: path.is_dir(),
            path,
        })
    }

    /// A file is often replaced by another of its name, which only its folder shows.
    fn root(&self) -> (&Path, RecursiveMode) {
        match self.path.parent() {
            Some(folder) if !self.is_folder => (folder, RecursiveMode::NonRecursive),
            _ => (&self.path, RecursiveMode::Recursive),
        }
    }

    fn means(&self, changed: &Path) -> bool {
        let is_generated = |component: Component<'_>| {
            let name = component.as_os_str().to_string_lossy();
            name.starts_with('.') || GENERATED.contains(&name.as_ref())
        };
        match changed.strip_prefix(&self.path) {
            Ok(below) if self.is_folder => !below.components().any(is_generated),
            Ok(below) => below.as_os_str().is_empty(),
            Err(_) => false,
        }
    }
}

/// A program that is started reads its files, and a hard link changes the metadata of what it links to: neither is a change.
fn is_change(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Any | ModifyKind::Data(_) | ModifyKind::Name(_))
            | EventKind::Access(AccessKind::Close(AccessMode::Write))
    )
}

/// One change for all that are written together.
async fn settle(mut events: UnboundedReceiver<PathBuf>, changed: watch::Sender<PathBuf>) {
    while let Some(first) = events.recv().await {
        while let Ok(Some(_)) = tokio::time::timeout(QUIET, events.recv()).await {}
        changed.send_replace(first);
    }
}

fn error(path: &Path, cause: notify::Error) -> WatchError {
    WatchError {
        path: path.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bridge_control_plane::process::ScratchDir;

    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    fn watched(path: &str, is_folder: bool) -> Watched {
        Watched {
            path: path.into(),
            is_folder,
        }
    }

    #[test]
    fn generated_files_and_neighbours_are_no_change() {
        let folder = watched("/p", true);
        for path in ["/p/src/main.py", "/p/plugin.py"] {
            assert!(folder.means(Path::new(path)), "{path}");
        }
        for path in [
            "/p/.git/index",
            "/p/src/__pycache__/main.pyc",
            "/p/node_modules/a/b.js",
            "/p/target/debug/plugin",
            "/other/main.py",
        ] {
            assert!(!folder.means(Path::new(path)), "{path}");
        }
        let file = watched("/p/target/debug/plugin", false);
        assert!(file.means(Path::new("/p/target/debug/plugin")));
        assert!(!file.means(Path::new("/p/target/debug/plugin.d")));
        assert_eq!(file.root().0, Path::new("/p/target/debug"));
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error() {
        let missing = WatchedFiles::start(&["/nowhere/plugin".into()]);
        let why = missing.err().map(|error| error.to_string()).unwrap();
        assert!(why.starts_with("cannot watch /nowhere/plugin: "), "{why}");
    }

    #[tokio::test]
    async fn files_written_together_are_one_change_and_reading_is_none() {
        let folder = ScratchDir::new("crossbridge-watch-test-").unwrap();
        let (source, other) = (folder.path().join("main.py"), folder.path().join("other.py"));
        fs::write(&source, "1").unwrap();
        let files = WatchedFiles::start(&[folder.path().to_owned()]).unwrap();
        let mut changes = files.changes();
        fs::read(&source).unwrap();
        fs::write(&other, "2").unwrap();
        fs::write(&source, "2").unwrap();
        tokio::time::timeout(LIMIT, changes.changed())
            .await
            .expect("a change is reported")
            .unwrap();
        // The first that changed; that it was read before is none.
        assert_eq!(changes.borrow_and_update().file_name(), other.file_name());
        // As cargo does.
        let built = folder.path().join("built");
        fs::write(&built, "3").unwrap();
        tokio::time::timeout(LIMIT, changes.changed())
            .await
            .expect("the next change is reported")
            .unwrap();
        assert_eq!(changes.borrow_and_update().file_name(), built.file_name());
    }
}
