use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parsed(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|| panic!("{text} is a quantity"))
}

#[test]
fn equal_numbers_are_equal_however_they_are_written() {
    let rows: &[&[&str]] = &[
        &["0", "-0", "0.000", "0Gi", "0e5", "+0m"],
        &["1", "+1", "1.", "01", "1000m", "1e0", "1.0", "1000000u"],
        &[
            "0.5",
            ".5",
            "500m",
            "5e-1",
            "5E-1",
            "0.500000000000000000000000000000000000000000000000",
        ],
        &["1e3", "1E3", "1k", "1000", "1e+3", "0.001M"],
        &["-1.5Gi", "-1536Mi", "-1610612736"],
        &["1E", "1e18", "1000P"],
        &["1Ei", "1152921504606846976"],
        // What is finer than a billionth is rounded up.
        &["1n", "0.1n", "0.0000000001", "1e-2000000000"],
        &["2n", "1.1n"],
        &["10n", "9.9n"],
    ];
    for row in rows {
        for text in *row {
            assert_eq!(parsed(text), parsed(row[0]), "{text} and {}", row[0]);
        }
    }
    for (one, other) in rows.iter().zip(&rows[1..]) {
        assert_ne!(parsed(one[0]), parsed(other[0]));
    }
    assert_ne!(parsed("1"), parsed("-1"));
    assert_eq!(Quantity::of(&json!(1.5)), Some(parsed("1500m")));
    assert_eq!(Quantity::of(&json!(1e21)), Some(parsed("1000E")));
}

#[test]
fn what_is_no_quantity_or_too_long_is_none() {
    let digits = "9".repeat(60);
    let beyond = format!("{digits}Gi");
    for text in [
        "",
        ".",
        "-",
        "+",
        "Gi",
        "1gi",
        "1 Gi",
        "1K",
        "1e",
        "1e+",
        "1e1.5",
        "1.2.3",
        "--1",
        "1-1",
        "0x1",
        "1e99999999999",
        "1\u{664}",
        &digits,
        &beyond,
    ] {
        assert_eq!(Quantity::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_stops_it(text in "\\PC*", number in "[+-]?[0-9]{0,50}[.]?[0-9]{0,50}(n|u|m|k|M|E|Ki|Ei|e[+-]?[0-9]{0,12})?") {
        let _ = (Quantity::parse(&text), Quantity::parse(&number));
    }

    #[test]
    fn a_suffix_is_a_factor(number in -1_000_000_000_i64..1_000_000_000, power in 0_u32..7) {
        let (decimal, binary) = (["", "k", "M", "G", "T", "P", "E"], ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]);
        let step = power as usize;
        let number = i128::from(number);
        let whole = |factor: i128| parsed(&(number * factor.pow(power)).to_string());
        prop_assert_eq!(parsed(&format!("{number}{}", decimal[step])), whole(1000));
        prop_assert_eq!(parsed(&format!("{number}{}", binary[step])), whole(1024));
        prop_assert_eq!(parsed(&format!("{number}e{}", 3 * power)), whole(1000));
    }

    #[test]
    fn a_fraction_is_as_many_billionths(whole in 0_i64..1_000_000, billionths in 0_i64..1_000_000_000) {
        let written = parsed(&format!("{whole}.{billionths:09}"));
        prop_assert_eq!(written, parsed(&format!("{}n", whole * 1_000_000_000 + billionths)));
    }

    #[test]
    fn different_numbers_differ(one: i64, other: i64) {
        prop_assert_eq!(parsed(&format!("{one}m")) == parsed(&format!("{other}000u")), one == other);
    }
}
