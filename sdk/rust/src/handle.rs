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

use std::fmt;

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

/// Reads a handle of this version that came back in a field of the request: `handle`, or `target.provider_state`.
///
/// # Errors
/// `INVALID_ARGUMENT` that names the field, for every text that [`encode`] did not write, down to its spelling.
pub fn decode<T: Serialize + DeserializeOwned>(
    field: &str,
    handle: &str,
    version: u32,
) -> Result<T, Failure> {
    decode_with_former(field, handle, version, &[])
}

/// The same, of a plugin that also knows what earlier builds wrote: see [`Former`].
///
/// # Errors
/// As of [`decode`].
pub fn decode_with_former<T: Serialize + DeserializeOwned>(
    field: &str,
    handle: &str,
    version: u32,
    former: &[Former<T>],
) -> Result<T, Failure> {
    fields(handle, version)
        .or_else(|| former.iter().find_map(|former| (former.read)(handle)))
        .ok_or_else(|| Failure::invalid_argument(field, "is malformed or foreign: none of this plugin's"))
}

/// An earlier version of a handle, and how it is read as one of today.
///
/// ```
/// use crossbridge_sdk::handle::{self, Former};
/// # use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct RestoreV1 {
///     job: String,
/// }
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Restore {
///     job: String,
///     region: String,
/// }
///
/// let former = Former::new(1, |RestoreV1 { job }| Restore { job, region: "north".into() });
/// let restore = handle::decode_with_former("handle", r#"1:{"job":"42"}"#, 2, &[former])?;
/// assert_eq!(restore, Restore { job: "42".into(), region: "north".into() });
/// # Ok::<(), crossbridge_sdk::Failure>(())
/// ```
pub struct Former<T> {
    read: Box<Read<T>>,
}

type Read<T> = dyn Fn(&str) -> Option<T>;

impl<T> Former<T> {
    /// The version, whose fields were `Old`.
    pub fn new<Old: Serialize + DeserializeOwned>(
        version: u32,
        upgrade: impl Fn(Old) -> T + 'static,
    ) -> Self {
        Self {
            read: Box::new(move |handle| fields(handle, version).map(&upgrade)),
        }
    }
}

impl<T> fmt::Debug for Former<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Former").finish_non_exhaustive()
    }
}

fn fields<T: Serialize + DeserializeOwned>(handle: &str, version: u32) -> Option<T> {
    let json = handle.strip_prefix(&format!("{version}:"))?;
    let fields = serde_json::from_str::<T>(json).ok()?;
    encode(version, &fields)
        .is_ok_and(|text| text == handle)
        .then_some(fields)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{Former, decode, decode_with_former, encode};

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
    fn a_handle_of_an_earlier_build_is_read_as_one_of_today() {
        #[derive(Serialize, Deserialize)]
        struct Old {
            job: u32,
        }
        let read = |text: &str| {
            let former = [Former::new(1, |Old { job }| restore(&job.to_string()))];
            decode_with_former::<Restore>("handle", text, 3, &former)
        };
        assert_eq!(read(r#"1:{"job":7}"#).expect("it is known"), restore("7"));
        assert_eq!(
            read(r#"3:{"job":"8","region":null}"#).expect("that of today"),
            restore("8")
        );
        for foreign in [r#"2:{"job":7}"#, r#"1:{"job":"7"}"#, r#"1: {"job":7}"#] {
            read(foreign).expect_err(foreign);
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
