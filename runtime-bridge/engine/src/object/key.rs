use std::{fmt, sync::Arc};

use bridge_core::watch_plan::GroupKind;

/// Names one object, whatever its version. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<KeyParts>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct KeyParts {
    kind: GroupKind,
    namespace: Option<Box<str>>,
    name: Box<str>,
}

impl Key {
    /// `namespace` is `None` for cluster-scoped objects.
    pub fn new(kind: GroupKind, namespace: Option<&str>, name: &str) -> Self {
        Self(Arc::new(KeyParts {
            kind,
            namespace: namespace.map(Into::into),
            name: name.into(),
        }))
    }

    /// Of a Secret.
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self::new(GroupKind::new("", "Secret"), Some(namespace), name)
    }

    /// Group and kind.
    pub fn kind(&self) -> &GroupKind {
        &self.0.kind
    }

    /// `None`: cluster-scoped.
    pub fn namespace(&self) -> Option<&str> {
        self.0.namespace.as_deref()
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind(), self.name()),
            None => write!(f, "{} {}", self.kind(), self.name()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
