//! The definitions and compositions of both sides.

use bridge_e2e::{condition, eventually};
use kube::{
    Api,
    api::{DynamicObject, PostParams},
};

use super::{
    manifests::{APIEXTENSIONS, Composed, Composite, GROUP, cluster_wide, object, part_definition},
    subject::Subject,
};
use crate::managed;

impl Subject {
    /// Until the CRDs of all kinds are established.
    pub(crate) async fn define(&self) {
        if self.composed == Composed::Managed {
            managed::define(&self.cluster).await;
        }
        for plural in ["compositeresourcedefinitions", "compositions"] {
            self.until_established(&format!("{plural}.{APIEXTENSIONS}")).await;
        }
        let part = cluster_wide(
            &self.cluster.client,
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        );
        create(&part, object(part_definition())).await;
        self.until_established(&format!("parts.{GROUP}")).await;
        for composite in self.composed.composites() {
            self.define_one(composite).await;
        }
    }

    /// Until its CRDs are established.
    pub(crate) async fn define_one(&self, composite: &Composite) {
        let version = if composite.claim.is_some() { "v1" } else { "v2" };
        create(&self.definitions(version), object(composite.definition())).await;
        create(&self.compositions(), object(composite.composition())).await;
        self.until_established(&format!("{}.{GROUP}", composite.plural))
            .await;
        if let Some((_, plural)) = composite.claim {
            self.until_established(&format!("{plural}.{GROUP}")).await;
        }
    }

    async fn until_established(&self, name: &str) {
        let definition = self.cluster.definition(name);
        definition
            .until("to be established", |seen| {
                condition(seen, "Established")["status"] == "True"
            })
            .await;
    }
}

/// A kind is not served as soon as its CRD is established.
pub(crate) async fn create(api: &Api<DynamicObject>, wanted: DynamicObject) {
    eventually("it is created", async || {
        match api.create(&PostParams::default(), &wanted).await {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 404 => false,
            Err(error) => panic!("{error}"),
        }
    })
    .await;
}
