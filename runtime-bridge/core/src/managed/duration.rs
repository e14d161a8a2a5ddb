//! Durations and times as people write them: Go's spelling, as Crossplane's annotations use it, and nothing so long that a sum overflows.

use std::time::Duration;

use jiff::Timestamp;

/// Go counts in nanoseconds, of which 64 bits hold 292 years.
const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

/// Whether a time that was read is one that the bridge can reckon with: no more than some thousand years from now.
pub(super) fn within_reach(time: Timestamp) -> bool {
    const REACH: i64 = 200_000_000_000;
    (-REACH..REACH).contains(&time.as_second())
}

/// Reads `1h30m`, `45s`, `1.5h`, `100ms`. `None`: not a duration, negative, or longer than Go can say.
pub fn parse_go(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number = &rest[..digits];
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        total = total.checked_add(nanos(number, unit)?)?;
        rest = &rest[letters..];
    }
    let total = Duration::from_nanos(u64::try_from(total).ok()?);
    Some(total).filter(|total| *total <= LONGEST)
}

/// As exact as Go: a float of seconds would lose milliseconds of years.
fn nanos(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // What follows is less than a nanosecond of an hour.
    let fraction = &fraction[..fraction.len().min(15)];
    let read = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse::<u128>().ok()
        }
    };
    let part = read(fraction)? * unit / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    read(whole)?.checked_mul(unit)?.checked_add(part)
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
            ("134240932100ms", Some(134_240_932.1)),
            (".5s", Some(0.5)),
            ("1.s", Some(1.0)),
            ("0.0000000000000001h", Some(0.0)),
            (".s", None),
            ("1.2.3s", None),
            ("0", Some(0.0)),
            ("", None),
            ("5", None),
            ("-1m", None),
            ("1d", None),
            ("1m junk", None),
            ("2562047h", Some(9_223_369_200.0)),
            ("2562048h", None),
            ("100000000h", None),
            ("2000000h2000000h", None),
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
