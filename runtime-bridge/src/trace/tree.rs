//! A tree of lines.

use std::fmt;

/// A line, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    line: String,
    children: Vec<Self>,
}

impl Tree {
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            children: Vec::new(),
        }
    }

    pub(super) fn with(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// What stands before the line of a child, and before those below it.
    pub(super) fn branch(is_last: bool) -> (&'static str, &'static str) {
        if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        writeln!(f, "{}", self.line)?;
        for (index, child) in self.children.iter().enumerate() {
            let (branch, below) = Self::branch(index + 1 == self.children.len());
            write!(f, "{indent}{branch}")?;
            child.write(f, &format!("{indent}{below}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}
