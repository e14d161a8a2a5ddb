//! Output of programs that is kept in files: compared, or written anew where `UPDATE_DOCUMENTS` is set.

use std::{env, fs, path::Path};

/// How a value that differs from run to run begins or is put, and what stands for it.
#[derive(Debug, Clone, Copy)]
enum Volatile {
    /// `2026-11-23T12:00:00Z`, with or without a fraction.
    Time,
    /// Five groups of hexadecimal digits.
    Uuid,
    /// `35s`, `4m10s`, `200ms`, `1.5s`.
    Duration,
    /// A port on loopback.
    Port,
}

impl Volatile {
    const ALL: [Self; 4] = [Self::Time, Self::Uuid, Self::Duration, Self::Port];

    /// How many bytes of the text are one, at its beginning.
    fn length(self, text: &str) -> Option<usize> {
        match self {
            Self::Time => {
                let form = b"0000-00-00T00:00:00";
                let matches = text.len() > form.len()
                    && text.bytes().zip(form).all(|(byte, form)| match form {
                        b'0' => byte.is_ascii_digit(),
                        form => byte == *form,
                    });
                let end = text
                    .char_indices()
                    .skip(form.len())
                    .find(|(_, letter)| !letter.is_ascii_digit() && *letter != '.')?;
                (matches && end.1 == 'Z').then_some(end.0 + 1)
            }
            Self::Uuid => {
                let groups = [8, 4, 4, 4, 12];
                let candidate = text.get(..36)?;
                let mut parts = candidate.split('-').map(|part| {
                    part.bytes()
                        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
                        .then_some(part.len())
                });
                groups
                    .iter()
                    .all(|length| parts.next().flatten() == Some(*length))
                    .then_some(36)
            }
            Self::Duration => {
                let mut end = 0;
                loop {
                    let rest = &text[end..];
                    let digits = rest.len()
                        - rest
                            .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
                            .len();
                    // As `trace` puts it: 12 ms.
                    if digits > 0 && end == 0 && rest[digits..].starts_with(" ms") {
                        end = digits + " ms".len();
                        break;
                    }
                    let unit = ["ms", "µs", "s", "m", "h"]
                        .into_iter()
                        .find(|unit| rest[digits..].starts_with(unit));
                    match unit {
                        Some(unit) if digits > 0 => end += digits + unit.len(),
                        _ => break,
                    }
                }
                let is_word = text[end..].starts_with(|letter: char| letter.is_alphanumeric());
                (end > 0 && !is_word).then_some(end)
            }
            Self::Port => {
                let rest = text.strip_prefix("127.0.0.1:")?;
                let digits = rest.len()
                    - rest
                        .trim_start_matches(|letter: char| letter.is_ascii_digit())
                        .len();
                (digits > 0).then_some("127.0.0.1:".len() + digits)
            }
        }
    }

    fn placeholder(self) -> &'static str {
        match self {
            Self::Time => "TIME",
            Self::Uuid => "UUID",
            Self::Duration => "…",
            Self::Port => "127.0.0.1:PORT",
        }
    }
}

/// Replaces times, uuids, durations and ports.
pub fn stable(text: &str) -> String {
    let mut stable = String::new();
    let mut rest = text;
    let mut follows_word = false;
    while let Some(letter) = rest.chars().next() {
        let found = Volatile::ALL
            .iter()
            .filter(|_| !follows_word)
            .find_map(|volatile| Some((volatile, volatile.length(rest)?)));
        let length = if let Some((volatile, length)) = found {
            stable.push_str(volatile.placeholder());
            length
        } else {
            stable.push(letter);
            letter.len_utf8()
        };
        follows_word = rest[..length].ends_with(|letter: char| letter.is_alphanumeric() || letter == '-');
        rest = &rest[length..];
    }
    // 1m 5s, which is 1m at another time.
    while stable.contains("… …") {
        stable = stable.replace("… …", "…");
    }
    stable
}

/// Compares the text with a file, by its path below the workspace.
///
/// # Panics
/// If they differ, or the file cannot be written.
pub fn compare(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if env::var_os("UPDATE_DOCUMENTS").is_some() {
        fs::write(&file, text).unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
        return;
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    if kept == text {
        return;
    }
    let line = kept
        .lines()
        .zip(text.lines())
        .position(|(kept, line)| kept != line)
        .unwrap_or_else(|| kept.lines().count().min(text.lines().count()));
    panic!(
        "{path} differs from line {} on; UPDATE_DOCUMENTS=1 writes it anew. It is now:\n{text}",
        line + 1
    );
}
