//! Codes as the contract and gRPC spell them.

use std::fmt::Debug;

/// `InvalidSpec` as `INVALID_SPEC`.
pub(crate) fn spell(code: impl Debug) -> String {
    let mut spelled = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_ascii_uppercase() && !spelled.is_empty() {
            spelled.push('_');
        }
        spelled.push(letter.to_ascii_uppercase());
    }
    spelled
}

/// Any of several: `IMMUTABLE_FIELD or INVALID_SPEC`.
pub(crate) fn any_of(codes: &[impl Debug]) -> String {
    codes.iter().map(spell).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use crossbridge_types::FailureCode;
    use tonic::Code;

    use super::{any_of, spell};

    #[test]
    fn codes_are_spelled_as_in_the_contract() {
        assert_eq!(spell(FailureCode::CredentialsExpired), "CREDENTIALS_EXPIRED");
        assert_eq!(spell(Code::InvalidArgument), "INVALID_ARGUMENT");
        assert_eq!(
            any_of(&[FailureCode::ImmutableField, FailureCode::InvalidSpec]),
            "IMMUTABLE_FIELD or INVALID_SPEC"
        );
    }
}
