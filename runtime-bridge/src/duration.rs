//! Durations on the command line: `30s`, `1m`, `1h 30m`.

use std::time::Duration;

use jiff::SignedDuration;

/// What is longer might not fit into a time.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

/// A duration that is not negative.
pub fn parse(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration = text
        .parse()
        .map_err(|_| "not a duration: write it as 30s, 500ms, 1m or 1h30m".to_owned())?;
    let duration = Duration::try_from(parsed).map_err(|_| "a duration cannot be negative".to_owned())?;
    if duration > LONGEST {
        return Err("must be at most 100 years".to_owned());
    }
    Ok(duration)
}

/// A duration that is more than nothing.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("must be more than 0s".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse, parse_positive};

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("1m", 60_000),
            ("30s", 30_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "10", "-1s", "soon", "10000000h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_positive("0s").is_err());
    }
}
