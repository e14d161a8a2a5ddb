//! A plan as people read it: a line for each thing that it says.

use std::fmt;

use super::{Deletion, Later, Plan, Rejected};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(side) = self.side.filter(|_| self.lists) {
            writeln!(f, "list {}s past the caches", side.noun())?;
        }
        if self.reports {
            writeln!(f, "report first")?;
        }
        for deletion in &self.deletions {
            writeln!(f, "{deletion}")?;
        }
        for Rejected { what, why } in &self.held {
            writeln!(f, "keep {what}: {why}")?;
        }
        if !self.later.is_empty() {
            let later: Vec<String> = self.later.iter().map(ToString::to_string).collect();
            writeln!(f, "later: {}", later.join(", "))?;
        }
        if !self.finalizers.is_empty() {
            writeln!(f, "stop serving")?;
        }
        for finalizer in &self.finalizers {
            writeln!(f, "remove finalizer {finalizer}")?;
        }
        if let Some((reason, message)) = &self.event {
            writeln!(f, "event {}: {message}", reason.as_str())?;
        }
        if let Some(message) = &self.message {
            writeln!(f, "message: {message}")?;
        }
        if let Some(again) = self.again {
            writeln!(f, "again at {again}")?;
        }
        if self.is_over() {
            writeln!(f, "over")?;
        }
        Ok(())
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => {
                let (name, uid, version) = (&object.name, &object.uid, object.resource_version);
                write!(f, "delete {name} with uid {uid} in version {version}")
            }
            Self::Crd(crd) => {
                write!(f, "delete CRD {} with uid {}", crd.name, crd.uid)?;
                match crd.resource_version {
                    Some(version) => write!(f, " in version {version}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(side) => write!(f, "{}s", side.noun()),
            Self::Crd(name) => write!(f, "CRD {name}"),
            Self::Finalizers => f.write_str("finalizers"),
        }
    }
}
