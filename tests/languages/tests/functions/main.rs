//! Real composition functions in other languages, as real processes, called by the bridge's client, and by a bridge that serves.

mod document;
mod example;
mod host;
mod pythonic;
mod serve;
mod typescript;
