//! The way of a message from the wire to its handler, and of an answer back. Order on the wire is order of work.
//!
//! Messages are handled one after the other, as they come, and each handler runs up to its first await right there. So
//! whatever a handler puts into the session's queue before it waits for anything is there before the next message is
//! looked at, however many handlers are under way.
//!
//! This is in the place of tower-lsp's own loop, which ends with the first message that it cannot decode. Here nothing
//! but the end of a stream and `exit` ends the session: a message that cannot be read is answered (`message.rs`), and a
//! handler that panics costs its own request and no other.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::channel::mpsc::{Sender, channel};
use futures::future::{self, BoxFuture, Either};
use futures::{FutureExt, SinkExt, StreamExt, stream};
use serde::Serialize;
use tower::Service;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_lsp::{ClientSocket, ExitedError, Loopback};

use super::message::{self, Incoming};
use super::wire::{self, Messages, Output};
use super::{GRACE, uris};

/// Requests that may be under way at once; more of them are not read. Edits behind them are held up then, so it is far
/// more than an editor has open at a time.
const CONCURRENCY: usize = 1024;

/// What a request is answered, if it is.
type Handler = BoxFuture<'static, Option<Response>>;

/// Serves until the client says that it ends, sends nothing any more, or takes nothing for as long as `patience`.
pub async fn run<S>(mut messages: Messages, mut output: Output, socket: ClientSocket, service: S, patience: Duration)
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let (requests, mut answers) = Loopback::split(socket);
    let (requests, no_more_requests) = stream::abortable(requests);
    let (sender, under_way) = channel(CONCURRENCY);
    let mut handlers = Handlers { service, under_way: sender };
    let read = async move {
        while let Some(body) = messages.next().await {
            match body.map_or_else(message::unreadable, |body| message::parse(&body)) {
                Incoming::Request(request) => {
                    let is_end = request.method() == "exit";
                    handlers.handle(request).await;
                    if is_end {
                        break;
                    }
                }
                Incoming::Answer(answer) => drop(answers.send(answer).await),
                Incoming::Refused(answer) => handlers.later(future::ready(Some(answer)).boxed()).await,
                Incoming::Ignored(why) => tracing::warn!("a message is ignored: {why}"),
            }
        }
        no_more_requests.abort();
    };
    let answers = under_way.buffer_unordered(CONCURRENCY).filter_map(future::ready);
    let mut outgoing =
        stream::select(answers.map(|answer| encoded(&answer)), requests.map(|request| encoded(&request)));
    let write = async move {
        while let Some(body) = outgoing.next().await {
            if let Err(error) = wire::send(&mut output, &body, || tokio::time::sleep(patience)).await {
                tracing::info!("the client is gone: {error}");
                return;
            }
        }
    };
    // What is under way when the last message was read is still answered, if it does not take long.
    if let Either::Left(((), write)) = future::select(pin!(read), pin!(write)).await {
        let _ = tokio::time::timeout(GRACE, write).await;
    }
}

fn encoded(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_else(|error| {
        // It was made of values of JSON, all of whose keys are strings, so this is no message that there is.
        tracing::error!("a message cannot be written: {error}");
        b"{}".to_vec()
    })
}

struct Handlers<S> {
    service: S,
    under_way: Sender<Handler>,
}

impl<S> Handlers<S>
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    async fn handle(&mut self, request: Request) {
        let id = request.id().cloned();
        if future::poll_fn(|cx| self.service.poll_ready(cx)).await.is_err() {
            return;
        }
        let request = uris::repaired(request);
        let mut handler = match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
            Ok(handler) => AssertUnwindSafe(handler).catch_unwind().boxed(),
            Err(panic) => future::ready(Err(panic)).boxed(),
        };
        // Whatever it waits for is asked again by whoever polls it next, with a waker that wakes.
        match handler.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                if let Some(answer) = answer(outcome, id) {
                    self.later(future::ready(Some(answer)).boxed()).await;
                }
            }
            Poll::Pending => self.later(handler.map(|outcome| answer(outcome, id)).boxed()).await,
        }
    }

    /// Sends what it answers.
    async fn later(&mut self, handler: Handler) {
        // Nobody takes it if the client is gone.
        let _ = self.under_way.send(handler).await;
    }
}

type Outcome = Result<Result<Option<Response>, ExitedError>, Box<dyn Any + Send>>;

/// What is answered: something, if the message was a request.
fn answer(outcome: Outcome, id: Option<Id>) -> Option<Response> {
    let id = id?;
    match outcome {
        Ok(Ok(Some(answer))) => Some(answer),
        // The protocol layer answers no unknown method whose name starts with a dollar, which is for notifications only.
        Ok(Ok(None)) => Some(Response::from_error(id, Error::method_not_found())),
        Ok(Err(_)) => Some(Response::from_error(id, Error::invalid_request())),
        Err(_) => {
            tracing::error!("a request failed: this is a mistake in dupi-lsp, please report it");
            Some(Response::from_error(id, Error::internal_error()))
        }
    }
}
