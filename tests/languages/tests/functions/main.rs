//! Real composition functions in Python, as real processes, called by the bridge's client.

mod document;
mod example;
mod host;
mod pythonic;
