//! Quantities as Kubernetes writes them: `500m`, `1.5Gi`, `1e3`.

use serde_json::Value;

/// Kubernetes knows nothing finer: what is, it rounds up, away from zero.
const FINEST: i64 = -9;

/// A number that is exactly `±digits × 10^exponent`, where `digits` is 0 or no multiple of 10, so that equal numbers are equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    negative: bool,
    digits: u128,
    exponent: i64,
}

impl Quantity {
    /// That of a text or a number. `None`: it is none, or has more digits than can be reckoned with.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// By the grammar of `k8s.io/apimachinery/pkg/api/resource`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, text) = signed(text);
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().next().is_none() || fraction.contains('.') {
            return None;
        }
        let (twos, tens) = scale(suffix)?;
        // Zeros at the end of a fraction, however many, change nothing.
        let fraction = fraction.trim_end_matches('0');
        let mut value: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            value = value.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
        }
        let value = value.checked_mul(1_u128.checked_shl(twos)?)?;
        let places = i64::try_from(fraction.len()).ok()?;
        Some(Self::normal(negative, value, tens.checked_sub(places)?))
    }

    fn normal(negative: bool, mut digits: u128, mut exponent: i64) -> Self {
        if digits == 0 {
            return Self {
                negative: false,
                digits: 0,
                exponent: 0,
            };
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        // Ends after as many steps as it has digits: nothing that is left is less than 1.
        while exponent < FINEST && digits > 1 {
            digits = digits.div_ceil(10);
            exponent += 1;
        }
        if exponent < FINEST {
            exponent = FINEST;
        }
        if digits.is_multiple_of(10) {
            return Self::normal(negative, digits, exponent);
        }
        Self {
            negative,
            digits,
            exponent,
        }
    }
}

fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The powers of two and of ten that a suffix stands for.
fn scale(suffix: &str) -> Option<(u32, i64)> {
    Some(match suffix {
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        _ => (0, decimal_exponent(suffix)?),
    })
}

fn decimal_exponent(suffix: &str) -> Option<i64> {
    let (negative, digits) = signed(suffix.strip_prefix(['e', 'E'])?);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let power = i64::from(digits.parse::<i32>().ok()?);
    Some(if negative { -power } else { power })
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
