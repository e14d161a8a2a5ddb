//! Go's spelling of durations, as Crossplane's annotations use it.

use std::time::Duration;

/// Reads `1h30m`, `45s`, `1.5h`, `100ms`. `None`: not a duration, or negative.
pub fn parse_go(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * unit).ok()?)?;
        rest = &rest[letters..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let table = [
            ("1h", Some(3600.0)),
            ("30m", Some(1800.0)),
            ("1h30m5s", Some(5405.0)),
            ("1.5h", Some(5400.0)),
            ("100ms", Some(0.1)),
            ("0", Some(0.0)),
            ("", None),
            ("5", None),
            ("-1m", None),
            ("1d", None),
            ("1m junk", None),
        ];
        for (text, expected) in table {
            assert_eq!(
                parse_go(text).map(|duration| duration.as_secs_f64()),
                expected,
                "{text}"
            );
        }
    }
}
