//! Handles, and provider states, that any replica and the next build can read.
//!
//! What is put in is what is needed to ask the upstream (an operation's id, a name, a region): no secret, no time, nothing of this process.
//!
//! ```
//! use crossbridge_sdk::handle;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Restore {
//!     job: String,
//! }
//!
//! let restore = Restore { job: "42".into() };
//! let text = handle::encode(1, &restore)?;
//! assert_eq!(text, r#"1:{"job":"42"}"#);
//! assert_eq!(handle::decode::<Restore>("handle", &text, 1)?, restore);
//! # Ok::<(), crossbridge_sdk::Failure>(())
//! ```

use crossbridge_types::check::STATE_LIMIT;
use serde::{Serialize, de::DeserializeOwned};

use crate::Failure;

/// Writes a handle: the version of its form, then its fields as JSON. The same value gives the same text.
///
/// # Errors
/// `INTERNAL` where it has more than 4 KiB, or where JSON cannot express it.
pub fn encode<T: Serialize>(version: u32, fields: &T) -> Result<String, Failure> {
    let name = std::any::type_name::<T>();
    let json = serde_json::to_string(fields)
        .map_err(|error| Failure::internal(format!("cannot write a handle of {name}: {error}")))?;
    let text = format!("{version}:{json}");
    if text.len() > STATE_LIMIT {
        return Err(Failure::internal(format!(
            "cannot write a handle of {name}: it has {} bytes, and {STATE_LIMIT} are allowed",
            text.len()
        )));
    }
    Ok(text)
}

/// Reads a handle of this version that came back in a field of the request: `handle`, or `target.provider_state`. A plugin that knows
/// several versions tries the newest first.
///
/// # Errors
/// `INVALID_ARGUMENT` that names the field, for every text that [`encode`] did not write, down to its spelling.
pub fn decode<T: Serialize + DeserializeOwned>(
    field: &str,
    handle: &str,
    version: u32,
) -> Result<T, Failure> {
    let json = handle.strip_prefix(&format!("{version}:"));
    let fields = json.and_then(|json| serde_json::from_str::<T>(json).ok());
    fields
        .filter(|fields| encode(version, fields).is_ok_and(|text| text == handle))
        .ok_or_else(|| Failure::invalid_argument(field, "is malformed or foreign: none of this plugin's"))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{decode, encode};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Restore {
        job: String,
        region: Option<String>,
    }

    fn restore(job: &str) -> Restore {
        Restore {
            job: job.to_owned(),
            region: None,
        }
    }

    #[test]
    fn a_handle_is_read_back() {
        let written = encode(3, &restore("grün:1")).expect("a handle");
        assert_eq!(written, r#"3:{"job":"grün:1","region":null}"#);
        assert_eq!(
            decode::<Restore>("handle", &written, 3).expect("its fields"),
            restore("grün:1")
        );
    }

    #[test]
    fn every_other_text_is_rejected_by_its_field() {
        let foreign = [
            "",
            "3:",
            "42",
            r#"2:{"job":"1","region":null}"#,
            r#"3:{"job":"1"}"#,
            r#"3:{"job":1,"region":null}"#,
            r#"3: {"job":"1","region":null}"#,
            r#"3:{"job":"1","region":null,"more":1}"#,
            r#"03:{"job":"1","region":null}"#,
        ];
        for text in foreign {
            let failure = decode::<Restore>("target.provider_state", text, 3).expect_err(text);
            assert_eq!(
                failure.to_string(),
                "InvalidArgument: target.provider_state: is malformed or foreign: none of this plugin's",
                "{text}"
            );
        }
    }

    #[test]
    fn a_handle_that_no_bridge_stores_is_not_written() {
        let failure = encode(1, &restore(&"x".repeat(4096))).expect_err("it is too long");
        assert!(
            failure
                .to_string()
                .ends_with("Restore: it has 4122 bytes, and 4096 are allowed"),
            "{failure}"
        );
    }
}
