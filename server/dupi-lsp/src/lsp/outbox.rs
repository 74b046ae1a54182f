//! What goes to the client. Nothing here waits for it: notifications are sent in order by a task of their own, and what
//! a request is answered comes back as a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower_lsp::Client;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::notification::Notification;
use tower_lsp::ls_types::request::Request;

/// The last notification is handed over to the protocol layer, which takes it as soon as it runs again.
const HANDED_OVER: Duration = Duration::from_millis(5);

#[derive(Clone)]
pub struct Outbox {
    client: Client,
    runtime: Handle,
    sender: UnboundedSender<BoxFuture<'static, ()>>,
    n_waiting: Arc<AtomicUsize>,
}

impl Outbox {
    pub fn new(client: Client, runtime: Handle) -> Outbox {
        let (sender, mut receiver) = unbounded_channel::<BoxFuture<'static, ()>>();
        let n_waiting = Arc::new(AtomicUsize::new(0));
        let n_left = Arc::clone(&n_waiting);
        runtime.spawn(async move {
            while let Some(message) = receiver.recv().await {
                message.await;
                n_left.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Outbox { client, runtime, sender, n_waiting }
    }

    pub fn notify<N>(&self, params: N::Params)
    where
        N: Notification,
        N::Params: Send + 'static,
    {
        let client = self.client.clone();
        self.n_waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.sender.send(async move { client.send_notification::<N>(params).await }.boxed());
    }

    /// Waits until all that was sent before is on its way: what an answer follows up on must come before it.
    pub async fn flushed(&self) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.n_waiting.fetch_add(1, Ordering::Relaxed);
        let told = async move {
            let _ = sender.send(());
        };
        let _ = self.sender.send(told.boxed());
        let _ = receiver.await;
        tokio::time::sleep(HANDED_OVER).await;
    }

    /// How many notifications the client has not taken yet.
    pub fn n_waiting(&self) -> usize {
        self.n_waiting.load(Ordering::Relaxed)
    }

    /// Calls `then` some time later.
    pub fn after(&self, time: Duration, then: impl FnOnce() + Send + 'static) {
        self.runtime.spawn(async move {
            tokio::time::sleep(time).await;
            then();
        });
    }

    /// Asks the client; `then` is called with its answer, if one ever comes.
    pub fn request<R>(&self, params: R::Params, then: impl FnOnce(Result<R::Result>) + Send + 'static)
    where
        R: Request,
        R::Params: Send + 'static,
        R::Result: Send + 'static,
    {
        let client = self.client.clone();
        self.runtime.spawn(async move { then(client.send_request::<R>(params).await) });
    }
}
