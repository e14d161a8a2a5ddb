mod concurrent;
mod fixture;
mod rejected;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, mpsc},
    time::Duration,
};

use bridge_core::external::{Config, Secrets};
use serde_json::{Value, json};

use self::fixture::{PLUGIN, Shared, bucket, cluster_wide, object};
use super::{
    ConfigCheck, ConfigError, ConfigPolicy, ConfigResolver, cluster_config_api, host::Content, secret_of,
};
use crate::{
    api_error::ApiError,
    managed::ConfigSource,
    object::{Key, Object},
};

fn with_secret(key: Option<&str>) -> Value {
    let reference = json!({ "namespace": "team", "name": "keys", "key": key });
    json!({ "settings": { "region": "north" }, "credentials": { "source": "Secret", "secretRef": reference } })
}

fn credentials(config: &Config) -> BTreeMap<&str, &str> {
    let text = |value| std::str::from_utf8(value).unwrap();
    config
        .credentials
        .0
        .iter()
        .map(|(key, value)| (key.as_str(), text(value)))
        .collect()
}

async fn reason(resolver: &ConfigResolver, object: &Object) -> String {
    resolver.config_of(object).await.unwrap_err().reason().into()
}

#[tokio::test]
async fn a_config_is_read_and_checked_once_until_it_or_its_secret_changes() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let first = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!((first.id.as_str(), first.identity.as_str()), ("uid", "account"));
    assert_eq!(credentials(&first), BTreeMap::from([("token", "canary")]));
    assert!(!format!("{first:?}").contains("canary"));
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts(), (1, 1));

    shared.secret(2, &[("token", "other")]);
    let second = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_ne!(second.revision, first.revision);
    assert_eq!(second.settings_digest, first.settings_digest);

    let mut spec = with_secret(None);
    spec["settings"] = json!({ "region": "south" });
    shared.config(None, 2, &spec);
    let third = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_ne!(third.revision, second.revision);
    assert_ne!(third.settings_digest, second.settings_digest);
    assert_eq!(shared.counts(), (3, 3));
}

#[tokio::test]
async fn a_secret_that_changes_in_name_only_is_read_but_not_checked_again() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let first = resolver.config_of(&cluster_wide()).await.unwrap();
    shared.secret(2, &[("token", "canary")]);
    let second = resolver.config_of(&cluster_wide()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(shared.counts(), (2, 1));
}

#[tokio::test]
async fn one_value_is_a_json_object_of_credentials_or_one_credential() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(Some("json")));
    shared.secret(
        1,
        &[
            ("json", r#"{"token": "t", "port": 1, "nested": {"a": true}}"#),
            ("token", "plain"),
        ],
    );
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    let expected = BTreeMap::from([("token", "t"), ("port", "1"), ("nested", r#"{"a":true}"#)]);
    assert_eq!(credentials(&config), expected);
    shared.config(None, 2, &with_secret(Some("token")));
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "plain")]));
}

#[tokio::test]
async fn variables_files_and_folders_give_credentials_and_are_read_each_time() {
    let shared = Shared::default();
    let folder = BTreeMap::from([("token".to_owned(), b"in folder\n".to_vec())]);
    shared.fixture().files = BTreeMap::from([
        (
            "TOKENS".to_owned(),
            Content::File(br#"{"token":"in variable"}"#.to_vec()),
        ),
        ("/run/token".to_owned(), Content::File(b"in file\n".to_vec())),
        ("/run/folder".to_owned(), Content::Directory(folder)),
    ]);
    let resolver = shared.resolver(false);
    let sources = [
        (
            json!({ "source": "Environment", "env": { "name": "TOKENS" } }),
            "in variable",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/run/token" } }),
            "in file",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/run/folder" } }),
            "in folder",
        ),
    ];
    for (generation, (source, expected)) in (1..).zip(sources) {
        shared.config(None, generation, &json!({ "credentials": source }));
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(credentials(&config), BTreeMap::from([("token", expected)]));
    }
    let folder = BTreeMap::from([("token".to_owned(), b"renewed".to_vec())]);
    shared
        .fixture()
        .files
        .insert("/run/folder".to_owned(), Content::Directory(folder));
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "renewed")]));
}

#[tokio::test]
async fn ambient_identity_is_no_credentials_at_all() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    for (generation, source) in (1..).zip(["None", "InjectedIdentity"]) {
        shared.config(None, generation, &json!({ "credentials": { "source": source } }));
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(config.credentials, Secrets::default());
    }
}

#[tokio::test]
async fn a_config_of_a_namespace_reads_its_own_namespace_and_not_the_host() {
    let shared = Shared::default();
    let reference = json!({ "namespace": "other", "name": "keys" });
    let spec = json!({ "credentials": { "source": "Secret", "secretRef": reference } });
    shared.config(Some("team"), 1, &spec);
    shared.secret(1, &[("token", "of team")]);
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&bucket("ProviderConfig")).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "of team")]));

    let spec = json!({ "credentials": { "source": "Environment", "env": { "name": "TOKEN" } } });
    shared.config(Some("team"), 2, &spec);
    shared.fixture().files.insert(
        "TOKEN".to_owned(),
        Content::File(b"{\"token\":\"of host\"}".to_vec()),
    );
    assert_eq!(
        reason(&resolver, &bucket("ProviderConfig")).await,
        "CredentialsSourceForbidden"
    );
    let config = shared
        .resolver(true)
        .config_of(&bucket("ProviderConfig"))
        .await
        .unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "of host")]));
}

#[tokio::test]
async fn a_config_of_a_namespace_never_acts_as_the_plugin_itself() {
    let shared = Shared::default();
    shared
        .fixture()
        .files
        .insert("/empty".to_owned(), Content::Directory(BTreeMap::new()));
    let reference = json!({ "name": "keys" });
    let ways = [
        json!({ "source": "None" }),
        json!({ "source": "InjectedIdentity" }),
        json!({ "source": "Secret", "secretRef": reference }),
        json!({ "source": "Secret", "secretRef": { "name": "keys", "key": "json" } }),
        json!({ "source": "Filesystem", "fs": { "path": "/empty" } }),
    ];
    // The operator's permission for files is none for this.
    let resolver = shared.resolver(true);
    for (generation, way) in (1..).zip(ways.clone()) {
        let data: &[(&str, &str)] = if way["secretRef"]["key"].is_null() {
            &[]
        } else {
            &[("json", "{}")]
        };
        shared.secret(u64::try_from(generation).unwrap(), data);
        shared.config(Some("team"), generation, &json!({ "credentials": way }));
        let asker = bucket("ProviderConfig");
        assert_eq!(
            reason(&resolver, &asker).await,
            "CredentialsSourceForbidden",
            "{way}"
        );
    }
    assert_eq!(shared.counts().1, 0, "the plugin was never asked");
    let allowed = shared.resolver_by(ConfigPolicy {
        namespaced_ambient: true,
        ..ConfigPolicy::default()
    });
    shared.config(Some("team"), 9, &json!({ "credentials": ways[0] }));
    allowed.config_of(&bucket("ProviderConfig")).await.unwrap();
}

#[tokio::test]
async fn a_config_of_a_namespace_names_no_endpoint() {
    let shared = Shared::default();
    shared.secret(1, &[("token", "of team")]);
    let spec = json!({
        "settings": { "endpoint": "http://169.254.169.254" },
        "credentials": { "source": "Secret", "secretRef": { "name": "keys", "namespace": "team" } },
    });
    shared.config(Some("team"), 1, &spec);
    shared.config(None, 1, &spec);
    let resolver = shared.resolver(false);
    assert_eq!(
        reason(&resolver, &bucket("ProviderConfig")).await,
        "EndpointForbidden"
    );
    assert_eq!(shared.counts(), (0, 0), "nothing was read for it");
    resolver.config_of(&cluster_wide()).await.unwrap();
    let allowed = shared.resolver_by(ConfigPolicy {
        namespaced_endpoint: true,
        ..ConfigPolicy::default()
    });
    allowed.config_of(&bucket("ProviderConfig")).await.unwrap();
}

#[tokio::test]
async fn configs_that_nobody_asks_for_are_forgotten_with_their_credentials() {
    let shared = Shared::default();
    let large = "x".repeat(20 << 20);
    let resolver = shared.resolver(false);
    shared.secret(1, &[("token", &large)]);
    shared.config(None, 1, &with_secret(None));
    let first = resolver.config_of(&cluster_wide()).await.unwrap();
    let forgotten = Arc::downgrade(&first);
    drop(first);
    assert!(forgotten.upgrade().is_some(), "it is kept while it is used");
    shared.wait(1);
    let reference = json!({ "name": "keys" });
    let spec = json!({ "credentials": { "source": "Secret", "secretRef": reference } });
    shared.config(Some("team"), 1, &spec);
    resolver.config_of(&bucket("ProviderConfig")).await.unwrap();
    assert!(forgotten.upgrade().is_none(), "both are too large together");
    let read = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(read.credentials.0["token"].len(), large.len(), "read anew");
}

#[tokio::test]
async fn a_deleted_config_is_forgotten_with_its_credentials() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    shared.secret(1, &[("token", "canary")]);
    shared.config(None, 1, &with_secret(None));
    let kept = Arc::downgrade(&resolver.config_of(&cluster_wide()).await.unwrap());
    assert!(kept.upgrade().is_some());
    resolver.forget(&Key::new(cluster_config_api(PLUGIN).kind, None, "default"));
    assert!(kept.upgrade().is_none());
}

#[tokio::test]
async fn a_config_that_nobody_asked_for_is_forgotten_though_nobody_asks_for_another() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    shared.secret(1, &[("token", "canary")]);
    shared.config(None, 1, &with_secret(None));
    let kept = Arc::downgrade(&resolver.config_of(&cluster_wide()).await.unwrap());
    shared.wait(14 * 60);
    resolver.forget_unused();
    assert!(kept.upgrade().is_some(), "it may be asked for again");
    shared.wait(60);
    resolver.forget_unused();
    assert!(kept.upgrade().is_none());
}

#[tokio::test]
async fn each_thing_that_can_be_missing_has_its_reason() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    assert_eq!(
        reason(&resolver, &bucket("Something")).await,
        "InvalidProviderConfigReference"
    );
    assert_eq!(reason(&resolver, &cluster_wide()).await, "ProviderConfigNotFound");
    shared.config(None, 1, &with_secret(Some("json")));
    assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretNotFound");
    shared.secret(1, &[("yaml", "canary")]);
    assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretKeyMissing");
    shared.config(None, 2, &with_secret(None));
    assert_eq!(reason(&resolver, &cluster_wide()).await, "CredentialMissing");
    let cases = [
        (json!({ "source": "Secret" }), "InvalidProviderConfig"),
        (json!({ "source": "Moon" }), "InvalidProviderConfig"),
        (
            json!({ "source": "Environment", "env": { "name": "NONE" } }),
            "EnvironmentVariableMissing",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/none" } }),
            "CredentialsFileMissing",
        ),
    ];
    for (generation, (source, expected)) in (3..).zip(cases) {
        shared.config(None, generation, &json!({ "credentials": source }));
        assert_eq!(reason(&resolver, &cluster_wide()).await, expected);
    }
}

#[tokio::test]
async fn what_became_of_a_config_is_its_condition_written_once_per_change() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    let resolver = shared.resolver(false);
    for _ in 0..3 {
        assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretNotFound");
    }
    shared.secret(1, &[("token", "canary")]);
    for _ in 0..3 {
        resolver.config_of(&cluster_wide()).await.unwrap();
    }
    let reported = shared.fixture().reported.clone();
    let words: Vec<[&str; 3]> = reported
        .iter()
        .map(|condition| ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap()))
        .collect();
    let missing = "ClusterProviderConfig default cannot get its credentials: the Secret team/keys does not exist: create it, or name another in spec.credentials";
    assert_eq!(
        words,
        [
            ["False", "SecretNotFound", missing],
            ["True", "Usable", "authenticated as account"]
        ]
    );
}

#[tokio::test]
async fn a_condition_that_was_not_written_is_written_later() {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    let resolver = shared.resolver(false);
    let reported = async || {
        resolver.config_of(&cluster_wide()).await.unwrap();
        shared.fixture().reported.len()
    };
    shared.fixture().refusals = VecDeque::from([ApiError::Unavailable(String::new())]);
    assert_eq!(reported().await, 0);
    shared.wait(9);
    assert_eq!(reported().await, 0, "not by each who asks");
    shared.wait(1);
    assert_eq!(reported().await, 1);
    assert_eq!(shared.counts().1, 1, "it is not checked anew for that");

    shared.config(None, 2, &json!({}));
    shared.fixture().refusals = VecDeque::from([ApiError::Conflict(String::new())]);
    assert_eq!(reported().await, 2, "who was only not the first tries again");

    shared.config(None, 3, &json!({}));
    let conflict = || ApiError::Conflict(String::new());
    shared.fixture().refusals = VecDeque::from([conflict(), conflict(), conflict()]);
    assert_eq!(reported().await, 2);
    assert_eq!(
        shared.fixture().woken.last().map(String::as_str),
        Some("default in 1 s")
    );
    shared.wait(1);
    assert_eq!(reported().await, 3, "the version that stands is in by then");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_file_read_blocks_no_other_config() {
    let shared = Shared::default();
    let source = json!({ "source": "Filesystem", "fs": { "path": "/run/token" } });
    shared.config(None, 1, &json!({ "credentials": source }));
    let (release, hangs) = mpsc::channel();
    shared.fixture().hangs = Some(hangs);
    let resolver = shared.resolver(false);
    let object = cluster_wide();
    let time_passes = async {
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(11)).await;
    };
    let (answer, ()) = tokio::join!(resolver.config_of(&object), time_passes);
    let error = answer.unwrap_err();
    assert!(
        error.to_string().ends_with("it did not end within 10 s"),
        "{error}"
    );
    drop(release);
}

#[test]
fn what_depends_on_what() {
    let shared = Shared::default();
    let references = shared.resolver(false).references(&bucket("ProviderConfig"));
    let names: Vec<String> = references.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["ProviderConfig.test.example.org team/default"]);
    let config = object(&cluster_config_api(PLUGIN), None, 1, &with_secret(None));
    assert_eq!(secret_of(&config), Some(Key::secret("team", "keys")));
    let config = object(
        &cluster_config_api(PLUGIN),
        None,
        1,
        &json!({ "credentials": { "source": "None" } }),
    );
    assert_eq!(secret_of(&config), None);
}
