//! What happens to the objects of every custom kind, and to what composite resources compose, as it happens.

use std::{collections::BTreeMap, convert::Infallible};

use bridge_core::{composite::names, watch_plan::GroupKind};
use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use k8s_openapi::{
    api::core::v1::Event as Occurrence,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    core::TypeMeta,
    discovery::pinned_kind,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio_stream::StreamMap;

use super::{
    changes::{ObjectState, changes},
    composed,
    progress::ProgressPrinter,
};

type Objects = BoxStream<'static, watcher::Result<Event<DynamicObject>>>;

/// Reports what happens. The control plane is ours alone, so that every custom resource in it is of interest.
pub async fn narrate(client: &Client, progress: ProgressPrinter) -> Infallible {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let mut definitions = watcher::watcher(definitions, watcher::Config::default())
        .default_backoff()
        .boxed();
    let occurrences = Api::<Occurrence>::all(client.clone());
    let mut occurrences = watcher::watcher(occurrences, watcher::Config::default())
        .default_backoff()
        .boxed();
    let mut objects: StreamMap<String, Objects> = StreamMap::new();
    let mut reported = Reported::new(progress);
    loop {
        // An error of a watch is followed by another try, and reported by what does not happen.
        tokio::select! {
            event = definitions.next() => match event {
                Some(Ok(Event::Apply(definition) | Event::InitApply(definition))) => {
                    let name = definition.name_any();
                    if let Some(resource) = established(&definition)
                        && reported.served(&name, &resource.kind)
                    {
                        // One of a kind that was composed before its CRD was seen.
                        objects.remove(&GroupKind::new(&resource.group, &resource.kind).to_string());
                        objects.insert(name, watch(client, &resource, watcher::Config::default()));
                    }
                }
                Some(Ok(Event::Delete(definition))) => {
                    objects.remove(&definition.name_any());
                    reported.no_longer_served(&definition.name_any());
                }
                _ => {}
            },
            event = objects.next(), if !objects.is_empty() => match event {
                Some((_, Ok(Event::Apply(object) | Event::InitApply(object)))) => {
                    reported.object(&object);
                    for (kind, version) in composed::kinds(&object) {
                        let name = kind.to_string();
                        if reported.is_defined(&kind) || objects.contains_key(&name) {
                            continue;
                        }
                        // One that is not served yet is looked for with the next event.
                        if let Ok((resource, _)) = pinned_kind(client, &version).await {
                            let composed = watcher::Config::default().labels(names::COMPOSITE);
                            objects.insert(name, watch(client, &resource, composed));
                        }
                    }
                }
                Some((_, Ok(Event::Delete(object)))) => reported.deleted(&object),
                _ => {}
            },
            event = occurrences.next() => {
                if let Some(Ok(Event::Apply(occurrence) | Event::InitApply(occurrence))) = event {
                    reported.occurrence(&occurrence);
                }
            }
        }
    }
}

fn watch(client: &Client, resource: &ApiResource, which: watcher::Config) -> Objects {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let types = TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    };
    // A list of a built-in kind does not repeat what its items are.
    let typed = move |mut object: DynamicObject| {
        object.types.get_or_insert_with(|| types.clone());
        object
    };
    watcher::watcher(api, which)
        .default_backoff()
        .map_ok(move |event| match event {
            Event::Apply(object) => Event::Apply(typed(object)),
            Event::Delete(object) => Event::Delete(typed(object)),
            Event::InitApply(object) => Event::InitApply(typed(object)),
            Event::Init => Event::Init,
            Event::InitDone => Event::InitDone,
        })
        .boxed()
}

/// How the objects of a CRD that is established are addressed.
pub fn established(definition: &CustomResourceDefinition) -> Option<ApiResource> {
    let conditions = definition
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    if !conditions
        .into_iter()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
    {
        return None;
    }
    let version = definition.spec.versions.iter().find(|version| version.storage)?;
    Some(ApiResource {
        group: definition.spec.group.clone(),
        version: version.name.clone(),
        api_version: format!("{}/{}", definition.spec.group, version.name),
        kind: definition.spec.names.kind.clone(),
        plural: definition.spec.names.plural.clone(),
    })
}

/// What has been printed already.
struct Reported {
    progress: ProgressPrinter,
    /// Kinds by the names of their definitions.
    kinds: BTreeMap<String, String>,
    /// What was printed last of each object, by uid.
    states: BTreeMap<String, ObjectState>,
    /// How often each event had happened, by its uid.
    occurrences: BTreeMap<String, i32>,
}

impl Reported {
    fn new(progress: ProgressPrinter) -> Self {
        Self {
            progress,
            kinds: BTreeMap::new(),
            states: BTreeMap::new(),
            occurrences: BTreeMap::new(),
        }
    }

    /// Whether the kind was not served before.
    fn served(&mut self, definition: &str, kind: &str) -> bool {
        let changes = self
            .kinds
            .insert(definition.to_owned(), kind.to_owned())
            .is_none();
        if changes {
            self.progress.say(kind, &format!("CRD {definition} established"));
        }
        changes
    }

    /// Whether a CRD that is served defines it.
    fn is_defined(&self, kind: &GroupKind) -> bool {
        let of_group = format!(".{}", kind.group());
        let mut defined = self.kinds.iter();
        defined.any(|(name, served)| served == kind.kind() && name.ends_with(&of_group))
    }

    fn no_longer_served(&mut self, definition: &str) {
        if let Some(kind) = self.kinds.remove(definition) {
            self.progress.say(&kind, "CRD removed");
        }
    }

    fn object(&mut self, object: &DynamicObject) {
        let Some(uid) = &object.metadata.uid else { return };
        let state = ObjectState::at(object);
        for words in changes(self.states.get(uid), &state) {
            self.progress.say(&title(object), &words);
        }
        self.states.insert(uid.clone(), state);
    }

    fn deleted(&mut self, object: &DynamicObject) {
        if let Some(uid) = &object.metadata.uid {
            self.states.remove(uid);
        }
        self.progress.say(&title(object), "was deleted");
    }

    /// Events of other kinds are those of the control plane itself.
    fn occurrence(&mut self, occurrence: &Occurrence) {
        let about = &occurrence.involved_object;
        let kind = about.kind.as_deref().unwrap_or_default();
        if !self.kinds.values().any(|served| served == kind) {
            return;
        }
        let series = occurrence.series.as_ref().and_then(|series| series.count);
        let count = series.or(occurrence.count).unwrap_or(1);
        let uid = occurrence.metadata.uid.clone().unwrap_or_default();
        if self.occurrences.insert(uid, count) == Some(count) {
            return;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let who = named(
            kind,
            about.namespace.as_deref(),
            about.name.as_deref().unwrap_or_default(),
        );
        let (what, reason) = (text(&occurrence.type_), text(&occurrence.reason));
        self.progress.say(
            &who,
            &format!("event {what} {reason}: {}", text(&occurrence.message)),
        );
    }
}

fn title(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("", |types| types.kind.as_str());
    named(kind, object.metadata.namespace.as_deref(), &object.name_any())
}

fn named(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
