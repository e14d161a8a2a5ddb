use crate::xml::Element;

/// Lists that AWS hands back in an order of its own.
const UNORDERED: &[&str] = &[
    "Aliases",
    "AllowedMethods",
    "CachedMethods",
    "GeoRestriction",
    "OriginSslProtocols",
];

/// Fields that AWS omits where a cache policy defines them.
const WITHOUT_CACHE_POLICY: &[&str] = &["ForwardedValues", "MinTTL", "DefaultTTL", "MaxTTL"];

/// Turns moto's version of a configuration into what AWS would answer: what was sent, completed with moto's defaults.
pub(super) fn restore(answered: &mut Element, sent: &Element) {
    overlay(answered, sent);
    if let Some(behavior) = answered.child_mut("DefaultCacheBehavior") {
        clean_behavior(behavior);
    }
    for behavior in items(answered, "CacheBehaviors") {
        clean_behavior(behavior);
    }
    reorder(answered);
}

fn items<'a>(parent: &'a mut Element, list: &str) -> impl Iterator<Item = &'a mut Element> + use<'a> {
    parent
        .child_mut(list)
        .and_then(|list| list.child_mut("Items"))
        .into_iter()
        .flat_map(Element::children_mut)
}

/// What was sent wins; what was not stays as moto has it. Lists keep their order in both, and their length as sent.
fn overlay(answered: &mut Element, sent: &Element) {
    if sent.children().is_empty() {
        *answered = sent.clone();
        return;
    }
    let is_list = sent.name() == "Items";
    if is_list {
        answered.truncate(sent.children().len());
    }
    for (index, child) in sent.children().iter().enumerate() {
        let counterpart = if is_list {
            answered.children_mut().get_mut(index)
        } else {
            answered.child_mut(child.name())
        };
        match counterpart {
            Some(counterpart) => overlay(counterpart, child),
            None => answered.push(child.clone()),
        }
    }
}

fn clean_behavior(behavior: &mut Element) {
    let has_policy = behavior
        .child("CachePolicyId")
        .is_some_and(|id| !id.text().is_empty());
    if has_policy {
        for name in WITHOUT_CACHE_POLICY {
            behavior.remove(name);
        }
    } else {
        behavior.remove("CachePolicyId");
    }
}

fn reorder(element: &mut Element) {
    if UNORDERED.contains(&element.name())
        && let Some(items) = element.child_mut("Items")
    {
        items.children_mut().reverse();
    }
    for child in element.children_mut() {
        reorder(child);
    }
}
