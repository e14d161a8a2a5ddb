//! Standard output of commands that print something and end.

use std::{
    io::{self, ErrorKind, Write},
    process,
};

/// Prints text. A reader that has closed its end, as `head` does, has seen enough: the program then ends as if all were printed.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(0),
        printed => printed,
    }
}
