//! A plugin that is not there keeps nobody from composing, and no deletion from ending.

use crate::{
    admin::Bridge,
    cluster::Cluster,
    compositions::{Function, composed, create, define, order, orders, ready, remove, values},
};

#[tokio::test]
async fn compositions_are_served_while_the_only_plugin_is_away() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags = [
        "--compositions",
        "--function",
        &flag,
        "--plugin",
        "unix:///nowhere/p.sock",
    ];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    define(&cluster).await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;
    assert_eq!(values(&composed(&cluster).await), ["1", "2"]);
    // It is named all the same. The webhook of the guard is reached only while the bridge is ready.
    let named = |code: u16, text: &str| {
        code == 200
            && text.contains("plugin at unix:///nowhere/p.sock")
            && text.contains("; compositions are served")
    };
    bridge.until("/readyz?verbose", named).await;
    remove(orders(&cluster), "a").await;
    assert_eq!(values(&composed(&cluster).await), [""; 0]);
    assert_eq!(bridge.stop().await, Some(0));
}
