//! Real composition functions in other languages, as real processes, called by the bridge's client.

mod document;
mod example;
mod host;
mod pythonic;
mod typescript;
