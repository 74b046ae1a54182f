//! Where the server says what happens: on standard error, in a file, and to the client. Never on standard output.

use std::fmt::{Debug, Write as _};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use tower_lsp::ls_types::notification::LogMessage;
use tower_lsp::ls_types::{LogMessageParams, MessageType};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::{Layer, Registry, fmt};

use super::outbox::Outbox;

/// Messages for a client that takes none. It gets no more, and the memory stays bounded.
const MAX_WAITING: usize = 1024;

/// The client to which is told, once there is one.
static CLIENT: OnceLock<Outbox> = OnceLock::new();

pub fn start(file: Option<&Path>) -> Result<()> {
    let stderr = fmt::layer().with_ansi(false).with_writer(|| Unfailing(io::stderr())).with_filter(LevelFilter::INFO);
    let file = match file {
        Some(path) => {
            let file = File::options().create(true).append(true).open(path);
            let file = Arc::new(file.with_context(|| format!("cannot write the log {}", path.display()))?);
            let writer = move || Unfailing(Arc::clone(&file));
            Some(fmt::layer().with_ansi(false).with_writer(writer).with_filter(LevelFilter::DEBUG))
        }
        None => None,
    };
    let all = Registry::default().with(stderr).with(file).with(ToClient.with_filter(LevelFilter::INFO));
    tracing::subscriber::set_global_default(all).context("two logs")
}

pub fn to_client(outbox: Outbox) {
    let _ = CLIENT.set(outbox);
}

/// Nobody may be there to read it, and that must stop nothing.
struct Unfailing<W>(W);

impl<W: Write> Write for Unfailing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

struct ToClient;

impl<S: Subscriber> Layer<S> for ToClient {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        // What the libraries have to say is for the log.
        let is_meant =
            |outbox: &&Outbox| event.metadata().target().starts_with("dupi") && outbox.n_waiting() < MAX_WAITING;
        let Some(outbox) = CLIENT.get().filter(is_meant) else { return };
        let typ = match *event.metadata().level() {
            Level::ERROR => MessageType::ERROR,
            Level::WARN => MessageType::WARNING,
            _ => MessageType::INFO,
        };
        let mut text = Text(String::new());
        event.record(&mut text);
        outbox.notify::<LogMessage>(LogMessageParams { typ, message: text.0 });
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
