//! Every rule of the contract that a message can break by itself: one good message, and one change that breaks the rule.

mod answers;
mod plugin;
mod requests;

use std::fmt::Debug;

use crossbridge_types::Violation;

/// Converts `good` after `spoil`, and returns the field that was rejected together with the sentence.
fn refusal<W: Clone, T: TryFrom<W, Error = Violation> + Debug>(
    good: &W,
    spoil: impl FnOnce(&mut W),
) -> (String, String) {
    let mut wire = good.clone();
    spoil(&mut wire);
    let violation = T::try_from(wire).expect_err("the spoilt message is rejected");
    (violation.field.clone(), violation.to_string())
}

/// Each line: the field that must be rejected, and how the good message is spoilt.
macro_rules! refused {
    ($domain:ty, $good:expr; $($field:literal: $spoil:expr;)*) => {{
        let good = $good;
        let _ = <$domain>::try_from(good.clone()).expect("the good message passes");
        $(
            let (field, sentence) = super::refusal::<_, $domain>(&good, $spoil);
            assert_eq!(field, $field, "{sentence}");
        )*
    }};
}
use refused;
