use std::time::Duration;

use bridge_engine::{
    api_error::ApiError,
    crd::{self, CrdError, DefinitionState, MayWrite},
};
use serde_json::json;

use crate::{
    admin::{Admin, TestKind, plane},
    harness::{LIMIT, engine},
};

#[tokio::test]
async fn definitions_are_installed_once_and_brought_up_to_date() {
    let admin = Admin::new().await;
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let client = &engine.clients.write;
    let kind = TestKind::new();
    let mut definition = kind.definition();
    let check = async |definition: &serde_json::Value| {
        let found = crd::check(client, std::slice::from_ref(definition))
            .await
            .unwrap();
        assert_eq!(found[0].0, kind.name());
        found[0].1.clone()
    };
    assert_eq!(check(&definition).await, DefinitionState::Missing);
    crd::install(client, &[definition.clone()], LIMIT).await.unwrap();
    assert_eq!(check(&definition).await, DefinitionState::Good);

    let first = admin.get(&kind.path()).await.unwrap();
    crd::install(client, &[definition.clone()], LIMIT).await.unwrap();
    let second = admin.get(&kind.path()).await.unwrap();
    assert_eq!(
        first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"],
        "nothing is written"
    );
    assert_eq!(first["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(
        first["metadata"]["managedFields"][0]["manager"],
        crd::FIELD_MANAGER
    );

    definition["spec"]["names"]["categories"] = json!(["managed"]);
    // Whoever hands it in, stored versions are the API server's.
    definition["status"] = json!({"storedVersions": ["v9"]});
    assert_eq!(
        check(&definition).await,
        DefinitionState::Different(vec!["/spec/names/categories".to_owned()])
    );
    crd::install(client, &[definition.clone()], LIMIT).await.unwrap();
    assert_eq!(check(&definition).await, DefinitionState::Good);
    let third = admin.get(&kind.path()).await.unwrap();
    assert_eq!(third["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(third["metadata"]["uid"], first["metadata"]["uid"]);
}

#[tokio::test]
async fn foreign_resources_are_left_alone() {
    let admin = Admin::new().await;
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let client = &engine.clients.write;
    let kind = TestKind::new();
    let mut theirs = kind.definition();
    theirs["metadata"]["labels"] = json!({});
    theirs["spec"]["names"]["shortNames"] = json!(["bu"]);
    admin.create(crate::admin::DEFINITIONS, &theirs).await.unwrap();
    let refused = crd::install(client, &[kind.definition()], LIMIT)
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, CrdError::Foreign { at, .. } if at == &["/spec/names/shortNames"]),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("--crds=check"), "{refused}");
    crd::install(client, &[theirs], LIMIT)
        .await
        .expect("as it is, it will do");
}

#[tokio::test]
async fn a_definition_that_cannot_be_served_says_why() {
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let client = &engine.clients.write;
    let kind = TestKind::new();
    crd::install(client, &[kind.definition()], LIMIT).await.unwrap();
    // Another plural for the same kind.
    let mut conflicting_object = kind.definition();
    conflicting_object["metadata"]["name"] = json!(format!("pails.{}", kind.api.kind.group()));
    conflicting_object["spec"]["names"]["plural"] = json!("pails");
    let refused = crd::install(client, &[conflicting_object.clone()], Duration::from_secs(1))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, CrdError::NotEstablished { why, .. } if why.contains("NamesAccepted")),
        "{refused:?}"
    );
    let found = crd::check(client, &[conflicting_object]).await.unwrap();
    assert!(
        matches!(&found[0].1, DefinitionState::NotEstablished(why) if why.contains("NamesAccepted")),
        "{found:?}"
    );

    let mut consecutive_failures = TestKind::new().definition();
    consecutive_failures["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = json!("nonsense");
    let refused = crd::install(client, &[consecutive_failures], LIMIT)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, CrdError::Api { verb: "create", .. }),
        "{refused:?}"
    );
    let nameless = crd::install(client, &[json!({"spec": {}})], LIMIT).await;
    assert_eq!(nameless, Err(CrdError::NoName));
}

/// What comes between the read and the write of a bridge that stalls there.
fn meanwhile(what: impl Future<Output = ()>) -> MayWrite {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(what));
    MayWrite::Yes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_bridge_takes_back_nothing_that_was_installed_meanwhile() {
    let admin = Admin::new().await;
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let client = &engine.clients.write;
    let kind = TestKind::new();
    let ours = kind.definition();
    let mut theirs = ours.clone();
    theirs["spec"]["names"]["categories"] = json!(["theirs"]);
    let install = || async { crd::install(client, &[theirs.clone()], LIMIT).await.unwrap() };
    let created = crd::bring(client, &ours, &|| meanwhile(install())).await;
    assert!(
        matches!(
            &created.found,
            Err(CrdError::Api {
                source: ApiError::AlreadyExists(_),
                ..
            })
        ),
        "{created:?}"
    );
    assert!(!created.written);
    let live = admin.get(&kind.path()).await.unwrap();
    assert_eq!(live["spec"]["names"]["categories"], json!(["theirs"]));

    theirs["spec"]["names"]["categories"] = json!(["theirs", "anew"]);
    let install = || async { crd::install(client, &[theirs.clone()], LIMIT).await.unwrap() };
    let updated = crd::bring(client, &ours, &|| meanwhile(install())).await;
    assert!(
        matches!(
            &updated.found,
            Err(CrdError::Api {
                source: ApiError::Conflict(_),
                ..
            })
        ),
        "{updated:?}"
    );
    let live = admin.get(&kind.path()).await.unwrap();
    assert_eq!(live["spec"]["names"]["categories"], json!(["theirs", "anew"]));
}
