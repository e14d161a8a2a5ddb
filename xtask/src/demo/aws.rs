use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bridge_control_plane::process::{Output, Process, Spawn};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::Failure;
use crate::project::Project;

/// Where resources are made.
const REGION: &str = "eu-west-1";

/// The emulated AWS, asked over its API and not through the plugin.
pub(super) struct Aws {
    endpoint: String,
    access_key_id: String,
    secret_access_key: String,
    _process: Process,
}

impl Aws {
    /// Starts it; a distribution is deployed after so long.
    pub(super) async fn start(project: &Project, deployed_after: Duration) -> Result<Self, Failure> {
        let (send, lines) = channel();
        let process = Spawn::new(project.binary("aws-emulator"))
            .args([
                "--detached",
                "--distribution-seconds",
                &deployed_after.as_secs().to_string(),
            ])
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .spawn()
            .map_err(|error| Failure::new(error.to_string()))?;
        let said = tokio::task::spawn_blocking(move || Said::read(&lines))
            .await
            .ok()
            .flatten()
            .ok_or_else(|| Failure::new("it ended without saying where it is"))?;
        let Said {
            endpoint,
            access_key_id,
            secret_access_key,
        } = said;
        Ok(Self {
            endpoint,
            access_key_id,
            secret_access_key,
            _process: process,
        })
    }

    /// Writes the manifests by which the plugin knows where AWS is and who it is there.
    pub(super) fn account(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "aws", "namespace": "default"},
            "stringData": {"accessKeyId": self.access_key_id, "secretAccessKey": self.secret_access_key},
        });
        let config = json!({
            "apiVersion": "aws.crossbridge.dev/v1alpha1",
            "kind": "ClusterProviderConfig",
            "metadata": {"name": "default"},
            "spec": {
                "settings": {"region": REGION, "endpoint": self.endpoint, "pollInterval": "1s"},
                "credentials": {"source": "Secret", "secretRef": {"namespace": "default", "name": "aws"}},
            },
        });
        let path = folder.join("account.yaml");
        fs::write(&path, format!("{secret}\n---\n{config}\n"))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
        Ok(path)
    }

    /// The ids of the distributions that there are.
    pub(super) async fn distributions(&self) -> Result<Vec<String>, Failure> {
        names(
            &self.get("cloudfront", "/2020-05-31/distribution").await?,
            "DistributionSummary",
            "Id",
        )
    }

    /// The names of the buckets that there are.
    pub(super) async fn buckets(&self) -> Result<Vec<String>, Failure> {
        names(&self.get("s3", "/").await?, "Bucket", "Name")
    }

    /// The names of the queues that there are.
    pub(super) async fn queues(&self) -> Result<Vec<String>, Failure> {
        let answer = self.get("sqs", "/?Action=ListQueues&Version=2012-11-05").await?;
        let answer: Value = serde_json::from_str(&answer)
            .map_err(|error| Failure::new(format!("AWS answers what is no JSON: {error}: {answer}")))?;
        let urls = answer["QueueUrls"].as_array().into_iter().flatten();
        let names = urls.filter_map(|url| url.as_str()?.rsplit('/').next());
        Ok(names.map(str::to_owned).collect())
    }

    /// How often it was asked to create a distribution.
    pub(super) async fn creates(&self) -> Result<u64, Failure> {
        let calls: Value = serde_json::from_str(&self.get("s3", "/_emulator/calls").await?)
            .map_err(|error| Failure::new(format!("cannot read the emulator's counters: {error}")))?;
        Ok(calls["CloudFront"]["CreateDistributionWithTags"]
            .as_u64()
            .unwrap_or(0))
    }

    /// Puts an object with nothing in it into a bucket: `/bucket/key`.
    pub(super) async fn put(&self, path: &str) -> Result<(), Failure> {
        self.send(Method::PUT, "s3", path).await.map(drop)
    }

    /// Deletes an object.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.send(Method::DELETE, "s3", path).await.map(drop)
    }

    async fn get(&self, service: &str, path: &str) -> Result<String, Failure> {
        self.send(Method::GET, service, path).await
    }

    /// The answer to a request. Signatures are not checked; AWS distinguishes its services by their scope.
    async fn send(&self, method: Method, service: &str, path: &str) -> Result<String, Failure> {
        // Others are where the account's configuration says; CloudFront is in one region alone.
        let region = if service == "cloudfront" {
            "us-east-1"
        } else {
            REGION
        };
        let scope = format!("{}/20260101/{region}/{service}/aws4_request", self.access_key_id);
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint))
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"),
            )
            .body(Empty::<Bytes>::new())
            .map_err(|error| Failure::new(format!("cannot ask AWS for {path}: {error}")))?;
        let failed =
            |error: &dyn std::error::Error| Failure::new(format!("AWS does not answer {path}: {error}"));
        let answer = Client::builder(TokioExecutor::new())
            .build_http()
            .request(request)
            .await
            .map_err(|error| failed(&error))?;
        let status = answer.status();
        let body = answer
            .into_body()
            .collect()
            .await
            .map_err(|error| failed(&error))?
            .to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        if status.is_success() {
            Ok(body)
        } else {
            Err(Failure::new(format!("AWS answers {path}: {status}: {body}")))
        }
    }
}

/// What the emulator prints when it is ready.
struct Said {
    endpoint: String,
    access_key_id: String,
    secret_access_key: String,
}

impl Said {
    /// `None` if the lines end before all is said.
    fn read(lines: &Receiver<String>) -> Option<Self> {
        let value = |name: &str| {
            lines
                .recv()
                .ok()?
                .strip_prefix(name)?
                .strip_prefix('=')
                .map(str::to_owned)
        };
        Some(Self {
            endpoint: value("endpoint")?,
            access_key_id: value("access_key_id")?,
            secret_access_key: value("secret_access_key")?,
        })
    }
}

/// The texts of `name` in each `item` of a list.
fn names(xml: &str, item: &str, name: &str) -> Result<Vec<String>, Failure> {
    let document = roxmltree::Document::parse(xml)
        .map_err(|error| Failure::new(format!("AWS answers what is no XML: {error}: {xml}")))?;
    let items = document
        .descendants()
        .filter(|node| node.tag_name().name() == item);
    let names = items.filter_map(|node| {
        node.children()
            .find(|child| child.tag_name().name() == name)?
            .text()
    });
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_items() {
        let xml = r#"<DistributionList xmlns="http://x"><Items>
            <DistributionSummary><Id>E1</Id><Origins><Items><Origin><Id>not this</Id></Origin></Items></Origins></DistributionSummary>
            <DistributionSummary><Id>E2</Id></DistributionSummary>
        </Items></DistributionList>"#;
        assert_eq!(names(xml, "DistributionSummary", "Id").unwrap(), ["E1", "E2"]);
        assert!(names("<a/>", "DistributionSummary", "Id").unwrap().is_empty());
        assert!(names("no xml", "a", "b").is_err());
    }

    #[test]
    fn the_emulator_prints_its_endpoint() {
        let (send, lines) = channel();
        for line in [
            "endpoint=http://127.0.0.1:1",
            "access_key_id=a",
            "secret_access_key=s=t",
        ] {
            send.send(line.to_owned()).unwrap();
        }
        drop(send);
        let said = Said::read(&lines).unwrap();
        let Said {
            endpoint,
            access_key_id,
            secret_access_key,
        } = &said;
        assert_eq!(
            [endpoint, access_key_id, secret_access_key],
            ["http://127.0.0.1:1", "a", "s=t"]
        );
        assert!(Said::read(&lines).is_none());
    }
}
