use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

/// In bytes; the rest of a longer line comes as another one, so that no child fills our memory.
const LONGEST_LINE: u64 = 1 << 20;

/// Where a child's standard output or standard error goes.
#[derive(Default)]
pub enum Output {
    /// To the same place as this process' own.
    #[default]
    Inherit,
    /// Discarded.
    Null,
    /// Appended to a file, which is created if need be.
    File(PathBuf),
    /// Line by line, without the line's end, to a function that runs in a thread of its own. Bytes that are not UTF-8 are
    /// replaced. The thread ends with the last process that holds the pipe.
    Lines(Box<dyn FnMut(&str) + Send>),
}

impl Output {
    /// Calls `each` with every line.
    pub fn lines(each: impl FnMut(&str) + Send + 'static) -> Self {
        Self::Lines(Box::new(each))
    }

    pub(super) fn stdio(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::File(path) => append(path)?.into(),
            Self::Lines(_) => Stdio::piped(),
        })
    }

    /// Starts the reader of [`Output::Lines`], once the child's end of the pipe is there.
    pub(super) fn read(self, pipe: Option<impl Read + Send + 'static>) {
        if let (Self::Lines(each), Some(pipe)) = (self, pipe) {
            thread::spawn(move || forward(pipe, each));
        }
    }
}

fn append(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn forward(pipe: impl Read, mut each: impl FnMut(&str)) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    // A pipe that cannot be read any more has ended.
    let mut part = |line: &mut Vec<u8>| reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line);
    while part(&mut line).is_ok_and(|read| read > 0) {
        each(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherit => f.write_str("Inherit"),
            Self::Null => f.write_str("Null"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Lines(_) => f.write_str("Lines"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_comes_in_parts() {
        let mut lengths = Vec::new();
        let text = [vec![b'x'; (2 << 20) + 1], b"\nshort\r\n".to_vec()].concat();
        forward(text.as_slice(), |line| lengths.push(line.len()));
        assert_eq!(lengths, [1 << 20, 1 << 20, 1, 5]);
    }
}
