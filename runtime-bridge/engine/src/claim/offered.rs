//! Which claims are served: those of each definition that offers them, as long as their CRD is there and is the definition's. To take a definition
//! down, too: only who serves its claims takes their finalizers off.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_core::{
    controller_ref::ControllerRef,
    definition::{ClaimTerms, Definition, Terms},
    queue::{Priority, Wake},
    watch_plan::GroupKind,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::reconciler::ClaimReconciler;
use crate::{
    api_error::ApiError,
    composite::CompositeShared,
    composition_metrics::{RunningController, WatchPurpose},
    crd::established,
    definition,
    engine::Engine,
    object::{ApiType, Key, Object},
    serve::Served,
    store::Listener,
    watch::Subscription,
};

/// A CRD that could not be read is read again after this.
const AGAIN: Duration = Duration::from_secs(1);

/// The claims of all definitions, served until this is dropped.
pub struct OfferedClaims {
    _follow: AbortOnDropHandle<()>,
    _definitions: Subscription,
}

impl OfferedClaims {
    /// Begins to follow definitions and their CRDs.
    pub fn serve(engine: &Arc<Engine>, shared: &Arc<CompositeShared>) -> Self {
        let changed = Arc::new(Notify::new());
        let told = Arc::clone(&changed);
        let listener: Arc<Listener> = Arc::new(move |_: &_| told.notify_one());
        let definitions = engine.subscribe(&definition::api(), "claims are served", &listener);
        let follow = Follow {
            engine: Arc::downgrade(engine),
            shared: Arc::clone(shared),
            crds: Arc::new(ApiType::definitions()),
            offers: BTreeMap::new(),
        };
        Self {
            _follow: AbortOnDropHandle::new(tokio::spawn(follow.run(changed))),
            _definitions: definitions,
        }
    }
}

/// What is known of one definition.
#[derive(Default)]
struct Offer {
    /// Version of the definition that was read.
    version: u64,
    /// The last version of it that can be read at all.
    definition: Option<Definition>,
    /// Version of the CRD that was looked at, and what it serves if it is the definition's.
    crd: Option<(u64, Option<Value>)>,
    served: Option<ServedClaims>,
}

struct ServedClaims {
    reconciler: Arc<ClaimReconciler>,
    _served: Served,
    _counted: RunningController,
}

struct Follow {
    // The engine serves by what this keeps.
    engine: Weak<Engine>,
    shared: Arc<CompositeShared>,
    crds: Arc<ApiType>,
    /// By the uid of the definition.
    offers: BTreeMap<String, Offer>,
}

impl Follow {
    async fn run(mut self, definitions: Arc<Notify>) {
        let Some(mut crds) = self
            .engine
            .upgrade()
            .map(|engine| engine.watches.served_changes())
        else {
            return;
        };
        loop {
            let again = if self.compare().await {
                Duration::MAX
            } else {
                AGAIN
            };
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = definitions.notified() => {}
                changed = crds.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(again) => {}
            }
        }
    }

    /// False: something could not be read.
    async fn compare(&mut self) -> bool {
        let all = self.shared.store.list(&definition::api().kind);
        self.offers
            .retain(|uid, _| all.iter().any(|one| one.uid() == uid));
        let mut is_complete = true;
        for definition in &all {
            let mut offer = self.offers.remove(definition.uid()).unwrap_or_default();
            offer.read(definition);
            is_complete &= self.follow(definition, &mut offer).await;
            self.offers.insert(definition.uid().to_owned(), offer);
        }
        is_complete
    }

    async fn follow(&self, definition: &Object, offer: &mut Offer) -> bool {
        // Claims that are offered no more are served until their CRD goes: nobody else takes their finalizers off.
        let Some(name) = definition::claim_crd_left(definition, &self.shared.watches) else {
            offer.served = None;
            return true;
        };
        match self.shared.watches.definition_version(&name) {
            // Nothing is known yet, or no more: what is served goes on.
            None => return true,
            Some(None) => offer.crd = None,
            Some(Some(version)) if offer.crd.as_ref().is_none_or(|(known, _)| *known != version) => {
                match self.read_crd(&name, definition.uid()).await {
                    Ok(crd) => offer.crd = Some((version, crd)),
                    Err(error) => {
                        tracing::warn!(crd = name, %error, "failed to read the CRD of claims; will retry");
                        return false;
                    }
                }
            }
            Some(Some(_)) => {}
        }
        match offer.terms() {
            Some((terms, api)) => self.offer(offer, &Arc::new(terms), &api),
            None => offer.served = None,
        }
        true
    }

    /// What the CRD serves, if the definition controls it and its objects can be read: also while it is being deleted.
    async fn read_crd(&self, crd: &str, definition: &str) -> Result<Option<Value>, ApiError> {
        let key = Key::new(self.crds.kind.clone(), None, crd);
        let crd = match self.shared.writer.get_live(&self.crds, &key).await {
            Ok(crd) => crd.to_value(),
            Err(ApiError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_ours = ControllerRef::of(&crd).is_some_and(|owner| owner.uid == definition);
        Ok((is_ours && established::is_readable(&crd)).then(|| without_schemas(&crd)))
    }

    fn offer(&self, offer: &mut Offer, terms: &Arc<Terms>, api: &Arc<ApiType>) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        if let Some(known) = &offer.served {
            let former = known.reconciler.terms();
            let is_same = |one: &Terms| (one.kind.clone(), one.version.clone());
            if known.reconciler.api == *api && is_same(&former) == is_same(terms) {
                if *former != **terms {
                    known.reconciler.set_terms(Arc::clone(terms));
                    self.wake_all(api);
                }
                return;
            }
        }
        // Of one kind, one at a time.
        offer.served = None;
        let reconciler = ClaimReconciler::new(&self.shared, Arc::clone(terms), Arc::clone(api));
        let reason = format!("{} offers it", terms.definition);
        let served = engine.serve(reconciler.controller(&reason));
        tracing::info!(definition = terms.definition, kind = %api.kind, version = api.version, "serving claims");
        offer.served = Some(ServedClaims {
            reconciler,
            _served: served,
            _counted: self.shared.metrics.compositions.controller(
                &format!("claim/{}", terms.definition),
                &[WatchPurpose::Claim, WatchPurpose::CompositeResource],
            ),
        });
    }

    fn wake_all(&self, api: &ApiType) {
        let wake = Wake {
            at: self.shared.clock.now(),
            priority: Priority::Dependency,
        };
        for claim in self.shared.store.list(&api.kind) {
            self.shared.dispatcher.enqueue(&claim.key(), wake);
        }
    }
}

impl Offer {
    fn read(&mut self, definition: &Object) {
        if self.version == definition.resource_version() {
            return;
        }
        self.version = definition.resource_version();
        // What cannot be read leaves what is served as it is.
        if let Ok(read) = Definition::read(&definition.to_value()) {
            self.definition = Some(read);
        }
    }

    /// By what its claims are served, as their CRD stands: whatever the definition was edited to since.
    fn terms(&self) -> Option<(Terms, Arc<ApiType>)> {
        let (_, crd) = self.crd.as_ref()?;
        let (definition, crd) = (self.definition.as_ref()?, crd.as_ref()?);
        let mut terms = Terms::as_served(definition, crd)?;
        let names = &crd["spec"]["names"];
        let api = ApiType {
            kind: GroupKind::new(&definition.group, names["kind"].as_str()?),
            version: terms.version.clone(),
            plural: names["plural"].as_str()?.to_owned(),
            namespaced: true,
        };
        terms.claim = Some(ClaimTerms {
            kind: api.kind.clone(),
            plural: api.plural.clone(),
            default_delete_policy: definition.default_delete_policy,
        });
        Some((terms, Arc::new(api)))
    }
}

/// All that says how objects are read; schemas may be large.
fn without_schemas(crd: &Value) -> Value {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let versions: Vec<Value> = versions
        .map(|one| json!({"name": one["name"], "served": one["served"], "storage": one["storage"]}))
        .collect();
    json!({"spec": {"names": crd["spec"]["names"], "versions": versions}})
}
