//! Failpoints of the bridge, as files: which objects halt where, which have halted, and that all may continue.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{TestError, case::Phase};

/// One start of the bridge, with its failpoints.
pub struct Failpoints {
    folder: PathBuf,
}

/// An object and a point: `("ns/name", "create/before intent#1")`.
pub type Reached = (String, String);

impl Failpoints {
    /// In a new folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(folder: PathBuf, halt: &BTreeMap<String, String>) -> Result<Self, TestError> {
        fs::create_dir_all(&folder).map_err(TestError::from)?;
        let plan = serde_json::to_vec(halt).map_err(TestError::from)?;
        fs::write(folder.join("halt.json"), plan).map_err(TestError::from)?;
        Ok(Self { folder })
    }

    /// The folder that `CROSSBRIDGE_FAILPOINTS` names for the halting bridge.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every point that was reached, in order.
    pub fn reached(&self) -> Vec<Reached> {
        self.lines_of("reached.log")
    }

    /// Every halt that is over, in order.
    pub fn resumed(&self) -> Vec<Reached> {
        self.lines_of("went-on.log")
    }

    fn lines_of(&self, file: &str) -> Vec<Reached> {
        let log = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        // The last line may be half written.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let results = whole.lines().filter_map(|result| result.split_once(' '));
        results
            .map(|(object, point)| (object.to_owned(), point.to_owned()))
            .collect()
    }

    /// All that halt in this phase go on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn go(&self, phase: Phase) -> Result<(), TestError> {
        self.mark(&format!("go-{}", phase.name()))
    }

    /// From here on writes of compositions are points.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin_endings(&self) -> Result<(), TestError> {
        self.mark("begin")
    }

    /// All writes of compositions that halt go on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn go_on_with_endings(&self) -> Result<(), TestError> {
        self.mark("go-end")
    }

    fn mark(&self, file: &str) -> Result<(), TestError> {
        fs::write(self.folder.join(file), "").map_err(TestError::from)
    }
}
