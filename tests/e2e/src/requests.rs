//! What the API server itself counted.

use std::collections::BTreeMap;

use kube::Client;

/// Requests that the API server has answered for one resource, by verb and subresource: `PUT buckets/status`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requests(pub BTreeMap<String, u64>);

impl Requests {
    /// From the API server's metrics, for resources whose plural is given.
    ///
    /// # Panics
    /// If the metrics cannot be read.
    pub async fn of(client: &Client, plural: &str) -> Self {
        Self::of_those(client, |resource| resource == plural).await
    }

    /// The same of all resources with a plural that is counted.
    ///
    /// # Panics
    /// If the metrics cannot be read.
    pub async fn of_those(client: &Client, is_counted: impl Fn(&str) -> bool) -> Self {
        let text = client
            .request_text(http_get("/metrics"))
            .await
            .expect("the API server's metrics");
        let mut counted = BTreeMap::new();
        for line in text
            .lines()
            .filter(|line| line.starts_with("apiserver_request_total{"))
        {
            let label = |name: &str| {
                let start = line.find(&format!("{name}=\""))? + name.len() + 2;
                Some(line[start..].split('"').next().unwrap_or_default())
            };
            // A dry run writes nothing.
            if label("dry_run") == Some("All") {
                continue;
            }
            let Some(plural) = label("resource").filter(|resource| is_counted(resource)) else {
                continue;
            };
            let count: f64 = line
                .rsplit(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or_default();
            let subresource = label("subresource")
                .filter(|sub| !sub.is_empty())
                .map(|sub| format!("/{sub}"))
                .unwrap_or_default();
            let key = format!("{} {plural}{subresource}", label("verb").unwrap_or_default());
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A counter.
            let count = count as u64;
            *counted.entry(key).or_default() += count;
        }
        Self(counted)
    }

    /// Writes that came since.
    pub fn writes_since(&self, before: &Self) -> u64 {
        self.since(before, |verb| !matches!(verb, "GET" | "LIST" | "WATCH"))
    }

    /// Those that came since, by verb and subresource.
    pub fn since_by_kind(&self, before: &Self) -> BTreeMap<String, u64> {
        let came = self.0.iter().map(|(key, count)| {
            let before = before.0.get(key).copied().unwrap_or_default();
            (key.clone(), count - before)
        });
        came.filter(|(_, count)| *count > 0).collect()
    }

    /// Reads of single objects that came since.
    pub fn reads_since(&self, before: &Self) -> u64 {
        self.since(before, |verb| verb == "GET")
    }

    fn since(&self, before: &Self, counts: impl Fn(&str) -> bool) -> u64 {
        let counted = self
            .0
            .iter()
            .filter(|(key, _)| counts(key.split(' ').next().unwrap_or_default()));
        counted
            .map(|(key, count)| count - before.0.get(key).copied().unwrap_or_default())
            .sum()
    }
}

fn http_get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).expect("a request")
}
