use bridge_core::external::Secrets;
use bridge_engine::{
    object::Key,
    write::{CONNECTION_SECRET_TYPE, PublishError, Published},
};
use serde_json::{Value, json};

use crate::harness::{RealHarness, until};

fn data(pairs: &[(&str, &str)]) -> Secrets {
    Secrets(
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect(),
    )
}

struct Publishing {
    stage: RealHarness,
    owner: std::sync::Arc<bridge_engine::object::Object>,
}

impl Publishing {
    async fn new() -> Self {
        let stage = RealHarness::live().await;
        let owner = stage.bucket("owner").await;
        let live = || stage.engine.secrets.state() == bridge_engine::watch::WatchState::Live;
        until("Secrets are watched", live).await;
        Self { stage, owner }
    }

    async fn publish(&self, name: &str, pairs: &[(&str, &str)]) -> Result<Published, PublishError> {
        let secrets = &self.stage.engine.connection_secrets;
        secrets
            .publish(
                &self.owner,
                &Key::secret(&self.stage.namespace, name),
                &data(pairs),
            )
            .await
            .map(|(published, _)| published)
    }

    fn path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/secrets/{name}", self.stage.namespace)
    }

    async fn live(&self, name: &str) -> Value {
        self.stage.admin.get(&self.path(name)).await.unwrap()
    }

    async fn theirs(&self, name: &str, secret: Value) {
        let mut secret = secret;
        secret["metadata"]["name"] = json!(name);
        let path = format!("/api/v1/namespaces/{}/secrets", self.stage.namespace);
        self.stage.admin.create(&path, &secret).await.unwrap();
    }

    fn requests(&self) -> u64 {
        let line =
            |line: &&str| line.starts_with("crossbridge_api_requests_total") && line.contains(r#""secrets""#);
        let metrics = self.stage.engine.encode_metrics();
        let counts = metrics
            .lines()
            .filter(line)
            .filter(|line| !line.contains(r#""watch""#));
        counts
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum()
    }
}

#[tokio::test]
async fn connection_details_are_added_and_never_removed() {
    let publishing = Publishing::new().await;
    assert_eq!(
        publishing
            .publish("s", &[("username", "u"), ("password", "p")])
            .await,
        Ok(Published::Created)
    );
    let secret = publishing.live("s").await;
    assert_eq!(secret["type"], CONNECTION_SECRET_TYPE);
    assert_eq!(secret["data"], json!({"username": "dQ==", "password": "cA=="}));
    assert_eq!(
        secret["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": publishing.stage.kind.api.api_version(), "kind": "Bucket", "name": "owner",
            "uid": publishing.owner.uid(), "controller": true, "blockOwnerDeletion": true,
        }])
    );
    assert_eq!(
        publishing.publish("s", &[("password", "q")]).await,
        Ok(Published::Updated)
    );
    let secret = publishing.live("s").await;
    assert_eq!(secret["data"], json!({"username": "dQ==", "password": "cQ=="}));
}

#[tokio::test]
async fn the_same_again_costs_nothing_and_what_people_spoil_is_put_right() {
    let publishing = Publishing::new().await;
    let details = [("username", "u")];
    publishing.publish("s", &details).await.unwrap();
    let key = Key::secret(&publishing.stage.namespace, "s");
    until("it is seen", || {
        publishing.stage.engine.secrets.version(&key).is_some()
    })
    .await;
    let before = publishing.requests();
    assert_eq!(publishing.publish("s", &details).await, Ok(Published::Unchanged));
    assert_eq!(publishing.requests(), before, "not even a read");

    let version = publishing.stage.engine.secrets.version(&key);
    publishing
        .stage
        .admin
        .patch(&publishing.path("s"), &json!({"data": {"username": "eA=="}}))
        .await
        .unwrap();
    until("the edit is seen", || {
        publishing.stage.engine.secrets.version(&key) > version
    })
    .await;
    assert_eq!(publishing.publish("s", &details).await, Ok(Published::Updated));
    assert_eq!(publishing.live("s").await["data"], json!({"username": "dQ=="}));

    publishing
        .stage
        .admin
        .delete(&publishing.path("s"))
        .await
        .unwrap();
    until("its end is seen", || {
        publishing.stage.engine.secrets.version(&key).is_none()
    })
    .await;
    assert_eq!(publishing.publish("s", &details).await, Ok(Published::Created));
}

#[tokio::test]
async fn what_is_not_ours_is_not_touched() {
    let publishing = Publishing::new().await;
    let uid = publishing.owner.uid().to_owned();
    publishing
        .theirs("opaque", json!({"type": "Opaque", "data": {"a": "YQ=="}}))
        .await;
    let refused = publishing.publish("opaque", &[("b", "b")]).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"refusing to modify uncontrolled secret of type "Opaque""#
    );

    let other = publishing.stage.bucket("other").await;
    let controlled = json!({"type": CONNECTION_SECRET_TYPE, "metadata": {"ownerReferences": [other.controller_reference()]}});
    publishing.theirs("controlled", controlled).await;
    let refused = publishing.publish("controlled", &[("b", "b")]).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("existing secret is not controlled by UID {uid:?}")
    );
    assert_eq!(publishing.live("opaque").await["data"], json!({"a": "YQ=="}));
    assert_eq!(publishing.live("controlled").await["data"], Value::Null);

    // Also one that only has a plain owner: with ours it would be deleted with our object.
    let mut plain = serde_json::to_value(other.controller_reference()).unwrap();
    plain["controller"] = json!(false);
    plain["blockOwnerDeletion"] = json!(false);
    let owned = json!({"type": CONNECTION_SECRET_TYPE, "data": {"a": "YQ=="}, "metadata": {"ownerReferences": [plain]}});
    publishing.theirs("owned", owned).await;
    let refused = publishing.publish("owned", &[("a", "b")]).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("existing secret is not controlled by UID {uid:?}")
    );
    assert_eq!(publishing.live("owned").await["data"], json!({"a": "YQ=="}));

    // Made for connection details, and nobody's: for example after a restore.
    publishing
        .theirs(
            "orphan",
            json!({"type": CONNECTION_SECRET_TYPE, "data": {"a": "YQ=="}}),
        )
        .await;
    assert_eq!(publishing.publish("orphan", &[]).await, Ok(Published::Updated));
    let adopted = publishing.live("orphan").await;
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], uid.as_str());
    assert_eq!(adopted["data"], json!({"a": "YQ=="}));
}
