//! The cloud in another process: the plugin's link to it, and the hands of a test.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Call, Config, ConfigVerdict, Observe, ObserveResult, Outcome, Violation};
use jiff::Timestamp;
use prost::Message;
use reqwest::{Client, Method, Response};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    cloud::{Answer, Ask, Entry, External, Profile, Removed, Verdict},
    fault::{Fault, Rpc},
    link::{Link, Unreachable},
    process::{VERDICT, WAIT},
};

/// A cloud at an address, such as `http://127.0.0.1:4040`.
#[derive(Debug, Clone)]
pub struct Remote {
    url: String,
    client: Client,
}

/// What a cloud has a plugin do, on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Answer,
    Silence,
    Crash,
    Status,
    Refused,
}

impl Sent {
    const ALL: [Self; 5] = [
        Self::Answer,
        Self::Silence,
        Self::Crash,
        Self::Status,
        Self::Refused,
    ];

    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Silence => "silence",
            Self::Crash => "crash",
            Self::Status => "status",
            Self::Refused => "refused",
        }
    }
}

impl Remote {
    /// At this address. Nothing is sent here.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into().trim_end_matches('/').to_owned(),
            client: Client::new(),
        }
    }

    /// The resources that exist.
    pub async fn objects(&self) -> Result<Vec<External>, Unreachable> {
        self.read("objects").await
    }

    /// The resources that were created for this uid and exist.
    pub async fn created_for(&self, uid: &str) -> Result<Vec<External>, Unreachable> {
        let mut objects = self.objects().await?;
        objects.retain(|one| one.created_for == uid);
        Ok(objects)
    }

    /// The removals so far, oldest first.
    pub async fn removed(&self) -> Result<Vec<Removed>, Unreachable> {
        self.read("removed").await
    }

    /// The calls that came.
    pub async fn entries(&self) -> Result<Vec<Entry>, Unreachable> {
        self.read("entries").await
    }

    /// Adds a fault, which waits for its call.
    pub async fn inject(&self, fault: &Fault) -> Result<(), Unreachable> {
        self.write(Method::POST, "faults", Some(fault)).await
    }

    /// Drops all faults that wait.
    pub async fn clear_faults(&self) -> Result<(), Unreachable> {
        self.write::<Fault>(Method::DELETE, "faults", None).await
    }

    /// How it is from now on.
    pub async fn set_profile(&self, profile: &Profile) -> Result<(), Unreachable> {
        self.write(Method::PUT, "profile", Some(profile)).await
    }

    /// Another owner creates a resource, which is ready at once.
    pub async fn foreign(&self, kind: &str, name: &str, marker: &str) -> Result<(), Unreachable> {
        let url = format!("{}/foreign/{kind}/{name}", self.url);
        sent(self.client.post(url).body(marker.to_owned()))
            .await
            .map(drop)
    }

    /// An unknown actor removes it by hand.
    pub async fn remove_by_hand(&self, kind: &str, name: &str) -> Result<(), Unreachable> {
        let path = format!("objects/{kind}/{name}");
        self.write::<Fault>(Method::DELETE, &path, None).await
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Unreachable> {
        let answer = sent(self.client.get(format!("{}/{path}", self.url))).await?;
        answer.json().await.map_err(|error| unreachable(&error))
    }

    async fn write<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<(), Unreachable> {
        let mut request = self.client.request(method, format!("{}/{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        sent(request).await.map(drop)
    }
}

async fn sent(request: reqwest::RequestBuilder) -> Result<Response, Unreachable> {
    let answer = request.send().await.map_err(|error| unreachable(&error))?;
    answer.error_for_status().map_err(|error| unreachable(&error))
}

fn unreachable(error: &dyn std::error::Error) -> Unreachable {
    Unreachable(error.to_string())
}

#[async_trait]
impl Link for Remote {
    async fn ask(&self, ask: Ask, deadline: Option<Timestamp>) -> Result<Verdict, Unreachable> {
        let rpc = ask.rpc();
        let mut url = format!("{}/call/{}", self.url, path_of(rpc));
        if let Some(deadline) = deadline {
            url = format!("{url}?deadline={}", deadline.as_millisecond());
        }
        let body = encode_ask(&ask).map_err(|violation| unreachable(&violation))?;
        let answer = sent(self.client.post(url).body(body)).await?;
        let header = |name| {
            let value = answer.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let verdict = header(VERDICT).unwrap_or_default();
        let wait = header(WAIT).and_then(|wait| wait.parse().ok()).unwrap_or(0);
        let what = Sent::ALL.into_iter().find(|sent| sent.header() == verdict);
        let body = answer.bytes().await.map_err(|error| unreachable(&error))?;
        Ok(match what {
            None => return Err(Unreachable(format!("an unknown verdict: {verdict:?}"))),
            Some(Sent::Answer) => {
                let answer = decode_answer(rpc, &body).map_err(Unreachable)?;
                Verdict::Answer(answer, Duration::from_millis(wait))
            }
            Some(Sent::Silence) => Verdict::Silence,
            Some(Sent::Crash) => Verdict::Crash,
            Some(Sent::Status) => Verdict::Status,
            Some(Sent::Refused) => Verdict::Refused(String::from_utf8_lossy(&body).into_owned()),
        })
    }
}

fn path_of(rpc: Rpc) -> &'static str {
    match rpc {
        Rpc::Observe => "observe",
        Rpc::Create => "create",
        Rpc::Update => "update",
        Rpc::Delete => "delete",
        Rpc::Poll => "poll",
        Rpc::CheckConfig => "checkConfig",
    }
}

/// Fails for a call that could not have come over the wire.
fn encode_ask(ask: &Ask) -> Result<Vec<u8>, Violation> {
    Ok(match ask {
        Ask::Observe(ask) => wire::ObserveRequest::of(&ask.target, &ask.desired)?.encode_to_vec(),
        Ask::Create(ask) => wire::CreateRequest::try_from(ask)?.encode_to_vec(),
        Ask::Update(ask) => wire::UpdateRequest::try_from(ask)?.encode_to_vec(),
        Ask::Delete(ask) => wire::DeleteRequest::try_from(ask)?.encode_to_vec(),
        Ask::Poll(ask) => wire::PollOperationRequest::try_from(ask)?.encode_to_vec(),
        Ask::CheckConfig(config) => wire::CheckConfigRequest {
            config: Some(config.into()),
        }
        .encode_to_vec(),
    })
}

pub(crate) fn decode_ask(rpc: Rpc, bytes: &Bytes) -> Result<Ask, String> {
    Ok(match rpc {
        Rpc::Observe => Ask::Observe(read::<wire::ObserveRequest, Observe>(bytes)?),
        Rpc::Create => Ask::Create(read::<wire::CreateRequest, Call>(bytes)?),
        Rpc::Update => Ask::Update(read::<wire::UpdateRequest, Call>(bytes)?),
        Rpc::Delete => Ask::Delete(read::<wire::DeleteRequest, Call>(bytes)?),
        Rpc::Poll => Ask::Poll(read::<wire::PollOperationRequest, Call>(bytes)?),
        Rpc::CheckConfig => Ask::CheckConfig(read::<wire::CheckConfigRequest, Config>(bytes)?),
    })
}

pub(crate) fn encode_answer(rpc: Rpc, answer: Answer) -> Vec<u8> {
    match answer {
        Answer::ObserveResult(look) => wire::ObserveResponse::from(look).encode_to_vec(),
        Answer::Config(verdict) => wire::CheckConfigResponse::from(verdict).encode_to_vec(),
        // The four responses have the same form.
        Answer::Outcome(outcome) => {
            debug_assert!(rpc != Rpc::Observe && rpc != Rpc::CheckConfig);
            wire::CreateResponse::from(outcome).encode_to_vec()
        }
    }
}

fn decode_answer(rpc: Rpc, bytes: &Bytes) -> Result<Answer, String> {
    Ok(match rpc {
        Rpc::Observe => Answer::ObserveResult(read::<wire::ObserveResponse, ObserveResult>(bytes)?),
        Rpc::CheckConfig => Answer::Config(read::<wire::CheckConfigResponse, ConfigVerdict>(bytes)?),
        Rpc::Create | Rpc::Update | Rpc::Delete | Rpc::Poll => {
            Answer::Outcome(read::<wire::CreateResponse, Outcome>(bytes)?)
        }
    })
}

fn read<W, T>(bytes: &Bytes) -> Result<T, String>
where
    W: Message + Default,
    T: TryFrom<W>,
    T::Error: std::fmt::Display,
{
    let wire = W::decode(bytes.clone()).map_err(|error| error.to_string())?;
    T::try_from(wire).map_err(|violation| violation.to_string())
}
