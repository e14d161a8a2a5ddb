//! Fault points of the bridge, as files: who is to halt where, who is there, and that all may go on.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{Trouble, case::Phase};

/// One start of the bridge, with its fault points.
pub struct Points {
    folder: PathBuf,
}

/// An object and a point: `("ns/name", "create/before intent#1")`.
pub type Reached = (String, String);

impl Points {
    /// In a new folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(folder: PathBuf, halt: &BTreeMap<String, String>) -> Result<Self, Trouble> {
        fs::create_dir_all(&folder).map_err(Trouble::from)?;
        let plan = serde_json::to_vec(halt).map_err(Trouble::from)?;
        fs::write(folder.join("halt.json"), plan).map_err(Trouble::from)?;
        Ok(Self { folder })
    }

    /// For `CROSSBRIDGE_FAULT_POINTS`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every point that was reached, in order.
    pub fn reached(&self) -> Vec<Reached> {
        self.lines_of("reached.log")
    }

    /// Every halt that is over, in order.
    pub fn went_on(&self) -> Vec<Reached> {
        self.lines_of("went-on.log")
    }

    fn lines_of(&self, file: &str) -> Vec<Reached> {
        let log = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        // The last line may be half written.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let lines = whole.lines().filter_map(|line| line.split_once(' '));
        lines
            .map(|(object, point)| (object.to_owned(), point.to_owned()))
            .collect()
    }

    /// All that halt in this phase go on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn go(&self, phase: Phase) -> Result<(), Trouble> {
        fs::write(self.folder.join(format!("go-{}", phase.word())), "").map_err(Trouble::from)
    }
}
