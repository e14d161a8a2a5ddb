//! What the user does to objects.

use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch};
use serde_json::{Value, json};

use super::{Kind, subject::Subject};
use crate::{
    board::Board,
    managed::{GROUP, VERSION, parameters},
    user::{self, delete},
};

/// Between two that are paced.
pub(crate) const PACE: Duration = Duration::from_millis(100);
/// Objects that are created, or changed, at that pace.
pub(crate) const PACED: usize = 100;

/// A watch of one kind.
pub(crate) fn watch(subject: &Subject, kind: Kind) -> Board {
    let gvk = GroupVersionKind::gvk(GROUP, VERSION, kind.name);
    let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
    Board::watch(&subject.cluster.client, &resource)
}

/// A change of the spec.
pub(crate) fn size(size: i64) -> Patch<Value> {
    Patch::Merge(json!({"spec": {"forProvider": {"size": size}}}))
}

fn manifest(kind: Kind, name: &str, padding: usize) -> DynamicObject {
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": kind.name,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"forProvider": parameters(padding)},
    });
    serde_json::from_value(object).expect("an object")
}

/// What is done once, the first time, is no part of anything. Of these few objects is also seen how they are to be padded.
pub(crate) async fn warm_up(subject: &mut Subject, board: &Board, kind: Kind) {
    const PADDINGS: [usize; 2] = [1, 401];
    let mut sizes = Vec::new();
    let mut names = Vec::new();
    for padding in PADDINGS {
        subject.padding = padding;
        let some = user::names(&format!("first-{padding}"), 4);
        create(subject, board, kind, &some).await;
        sizes.push(bytes(board, &some[0]).await);
        names.extend(some);
    }
    subject.padding = padding(PADDINGS, [sizes[0], sizes[1]], subject.settings.pad);
    delete(board, &names).await;
}

/// With which objects reach that size, by the sizes of two paddings: a controller may write a part of the spec elsewhere, too.
fn padding(paddings: [usize; 2], sizes: [usize; 2], wanted: usize) -> usize {
    /// Where nothing is to be padded.
    const USUAL: usize = 160;
    if wanted == 0 {
        return USUAL;
    }
    let rise = sizes[1].saturating_sub(sizes[0]).max(1);
    let missing = wanted.saturating_sub(sizes[0]);
    paddings[0] + missing * (paddings[1] - paddings[0]) / rise
}

/// As the API server has it, with managedFields.
pub(crate) async fn bytes(board: &Board, name: &str) -> usize {
    let object = board.api.get(name).await.expect("an object");
    serde_json::to_vec(&object).map_or(0, |bytes| bytes.len())
}

/// Creates all of them at once.
pub(crate) async fn create(subject: &Subject, board: &Board, kind: Kind, names: &[String]) -> Vec<f64> {
    user::create(board, names, |name| manifest(kind, name, subject.padding)).await
}

/// Creates all of them at a pace.
pub(crate) async fn create_paced(subject: &Subject, board: &Board, kind: Kind, names: &[String]) -> Vec<f64> {
    user::create_paced(board, names, PACE, |name| manifest(kind, name, subject.padding)).await
}
