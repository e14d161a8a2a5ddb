//! Standard output of commands that print something and end.

use std::{
    io::{self, ErrorKind, Write},
    path::Path,
    process,
};

/// A path as a shell takes it, in a command that people paste.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or_else(|_| text.clone(), Into::into)
}

/// Prints text. A reader that has closed its end, as `head` does, has seen enough: the program then ends as if all were printed.
pub fn print(text: &str) -> io::Result<()> {
    match print_bytes(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(0),
        printed => printed,
    }
}

/// Prints what is no text. It is for a program, which must not take a part of it for all.
///
/// # Errors
/// Standard output is closed, too.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}
