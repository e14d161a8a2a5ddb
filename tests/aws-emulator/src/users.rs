//! IAM users, where moto checks signatures and permissions.

use serde_json::json;

use crate::aws::{Aws, CallError, Credentials, SignedCall};
use crate::xml::Element;

/// Calls that [`create`] sends, and that moto lets through unchecked when it creates the first user.
pub(crate) const CALLS: u32 = 3;

/// Creates a user who may do `actions` (`["*"]`, `["s3:*"]`), and keys for them.
pub(crate) async fn create(
    aws: &Aws,
    by: &Credentials,
    name: &str,
    actions: &[&str],
) -> Result<Credentials, CallError> {
    let iam = |fields: Vec<(&'static str, String)>| {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        SignedCall::form("iam", &fields)
    };
    let call = |action: &str| vec![("Action", action.to_owned()), ("UserName", name.to_owned())];
    aws.call(by, iam(call("CreateUser"))).await?;
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{ "Effect": "Allow", "Action": actions, "Resource": "*" }],
    });
    let mut put = call("PutUserPolicy");
    put.extend([
        ("PolicyName", "emulator".to_owned()),
        ("PolicyDocument", policy.to_string()),
    ]);
    aws.call(by, iam(put)).await?;
    let said = aws.call(by, iam(call("CreateAccessKey"))).await?;
    keys(&said).ok_or_else(|| CallError::Unexpected {
        service: "iam".to_owned(),
        said,
    })
}

fn keys(said: &str) -> Option<Credentials> {
    let root = Element::parse(said)?;
    let key = root.child("CreateAccessKeyResult")?.child("AccessKey")?;
    Some(Credentials {
        access_key_id: key.child("AccessKeyId")?.text().to_owned(),
        secret_access_key: key.child("SecretAccessKey")?.text().to_owned(),
    })
}
