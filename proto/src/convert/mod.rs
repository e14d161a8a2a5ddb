//! The contract's messages: from the domain types of `crossbridge-types` to the wire and back.
//!
//! `TryFrom` a wire message checks everything that the contract requires of it by itself: REQUIRED fields, sizes, forms,
//! conditions between fields. A [`Violation`](crossbridge_types::Violation) names the field and the rule. Whoever builds a domain value calls its
//! `check` before it goes on the wire.
//!
//! Enumerations take a number that this version does not know like an unset one, by the default that the contract documents.

mod call;
mod discovery;
mod document;
mod failure;
mod kind;
mod nested;
mod observation;
mod operation;
mod outcome;
mod plugin;
mod scalar;
mod target;
#[cfg(test)]
mod tests;
