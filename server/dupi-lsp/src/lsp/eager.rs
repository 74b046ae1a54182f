//! Order on the wire is order of work: a tower layer that runs each handler up to its first await when it is called.
//!
//! Messages are called one after the other, as they come. So whatever a handler puts into the session's queue before it
//! waits for anything is there before the next message is looked at, however many handlers are under way.
//! The layer also sees to it that a handler that panics costs its own request and no other.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use tokio::sync::Notify;
use tower::Service;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use super::uris;
use super::wire::UNREADABLE;

pub struct Eager<S> {
    pub service: S,
    /// Told when the client asks for the end.
    pub exiting: Arc<Notify>,
}

type Answer = Result<Option<Response>, ExitedError>;

impl<S> Service<Request> for Eager<S>
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    type Response = Option<Response>;
    type Error = ExitedError;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ExitedError>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method() == UNREADABLE {
            return future::ok(Some(Response::from_error(Id::Null, Error::parse_error()))).boxed();
        }
        if request.method() == "exit" {
            self.exiting.notify_one();
        }
        let id = request.id().cloned();
        let mut handler = AssertUnwindSafe(self.service.call(uris::repaired(request))).catch_unwind().boxed();
        // Whatever it waits for is asked again by whoever polls it next, with a waker that wakes.
        match handler.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => future::ready(answer_of(answer, id)).boxed(),
            Poll::Pending => handler.map(|answer| answer_of(answer, id)).boxed(),
        }
    }
}

fn answer_of(answer: Result<Answer, Box<dyn Any + Send>>, id: Option<Id>) -> Answer {
    answer.unwrap_or_else(|_| {
        tracing::error!("a request failed: this is a mistake in dupi-lsp, please report it");
        Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
    })
}
