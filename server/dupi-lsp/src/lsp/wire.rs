//! How bytes come and go: standard input and output, a socket, or a pipe; and what of them is a message at all.
//!
//! Bounds what a client can cost: the size of a message, of all that wait to be handled, and how long it may leave
//! unread what it is sent. What a message says is for `message.rs` to judge.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::future::{self, Either};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServerArguments;

/// No message is larger: the largest is a document that somebody opens, and escaped as JSON it is at most six times as
/// long as its text, which counts only up to 4 MiB. What is larger is read and dropped.
const MAX_MESSAGE: u64 = 32 << 20;
/// Headers are two short lines; more than this without an end is no message.
const MAX_HEADER: u64 = 8 << 10;
/// Bytes of messages that were read and wait to be handled; one message may be larger.
const IN_FLIGHT: u32 = 64 << 10;
/// Bytes that are written at once: a page, which is what the pipes of an operating system take and give in one piece.
const PART: usize = 4 << 10;

pub type Input = Box<dyn AsyncRead + Send + Unpin>;
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens what the client has asked for.
pub async fn open(arguments: &ServerArguments) -> Result<(Input, Output)> {
    if let Some(port) = arguments.socket {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        let (input, output) = stream.with_context(|| format!("nobody listens at port {port}"))?.into_split();
        return Ok((Box::new(input), Box::new(output)));
    }
    if let Some(name) = &arguments.pipe {
        return pipe(name).await.with_context(|| format!("cannot open the pipe {}", name.display()));
    }
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

#[cfg(unix)]
async fn pipe(name: &std::path::Path) -> io::Result<(Input, Output)> {
    let (input, output) = tokio::net::UnixStream::connect(name).await?.into_split();
    Ok((Box::new(input), Box::new(output)))
}

#[cfg(windows)]
async fn pipe(name: &std::path::Path) -> io::Result<(Input, Output)> {
    let pipe = tokio::net::windows::named_pipe::ClientOptions::new().open(name)?;
    let (input, output) = tokio::io::split(pipe);
    Ok((Box::new(input), Box::new(output)))
}

/// The bodies of the messages that the client sends.
pub struct Messages(UnboundedReceiver<(Option<Vec<u8>>, OwnedSemaphorePermit)>);

impl Messages {
    /// The next body: some bytes, or `None` if there was no header that says how long it is, or it is too long.
    pub async fn next(&mut self) -> Option<Option<Vec<u8>>> {
        self.0.recv().await.map(|(body, _)| body)
    }
}

/// Cuts `input` into messages. `ended` is called when there will be no more, even if nobody takes those that are there.
pub fn messages(input: Input, ended: impl FnOnce() + Send + 'static) -> Messages {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        if let Err(error) = pass_on(&mut input, &sender).await {
            tracing::info!("the client is gone: {error}");
        }
        ended();
    });
    Messages(receiver)
}

async fn pass_on(
    input: &mut BufReader<Input>,
    to: &UnboundedSender<(Option<Vec<u8>>, OwnedSemaphorePermit)>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(IN_FLIGHT as usize));
    loop {
        let body = match header(input).await? {
            Header::End => return Ok(()),
            Header::Length(n) if n <= MAX_MESSAGE => {
                let mut body = vec![0; n as usize];
                input.read_exact(&mut body).await?;
                Some(body)
            }
            Header::Length(n) => {
                tracing::warn!("a message of {n} bytes is too large and is passed over");
                tokio::io::copy(&mut input.take(n), &mut tokio::io::sink()).await?;
                None
            }
            Header::Bad => None,
        };
        let size = body.as_ref().map_or(0, Vec::len).clamp(1, IN_FLIGHT as usize);
        let permit = Arc::clone(&room).acquire_many_owned(size as u32).await.map_err(io::Error::other)?;
        to.send((body, permit)).map_err(io::Error::other)?;
    }
}

/// Writes a message. Fails when the client has taken nothing of it by the end of `patience`, which is asked for anew
/// with each part that was taken.
///
/// The parts are small: of a larger one nobody could tell whether a slow client reads it.
pub async fn send<P: Future>(output: &mut Output, body: &[u8], patience: impl Fn() -> P) -> io::Result<()> {
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    let message = [header.as_bytes(), body].concat();
    for part in message.chunks(PART) {
        let taken = pin!(async {
            output.write_all(part).await?;
            output.flush().await
        });
        match future::select(taken, pin!(patience())).await {
            Either::Left((taken, _)) => taken?,
            Either::Right(_) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not read what it is sent"));
            }
        }
    }
    Ok(())
}

enum Header {
    Length(u64),
    /// No length, or none that is a number.
    Bad,
    End,
}

/// Reads up to the empty line before a body.
async fn header(input: &mut BufReader<Input>) -> io::Result<Header> {
    let mut length = Header::Bad;
    let mut any = false;
    loop {
        let mut line = Vec::new();
        let n = (&mut *input).take(MAX_HEADER).read_until(b'\n', &mut line).await?;
        if n == 0 {
            return Ok(Header::End);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            // Blank lines before a header are nothing.
            if any {
                return Ok(length);
            }
            continue;
        }
        any = true;
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_or(Header::Bad, Header::Length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_client_that_takes_a_little_now_and_then_is_waited_for_anew_each_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(1);
            let mut output: Output = Box::new(ours);
            let n_waits = Cell::new(0);
            let patience = || {
                n_waits.set(n_waits.get() + 1);
                future::pending::<()>()
            };
            let mut read = Vec::new();
            let body = [b'x'; 10 * PART];
            let sent = async {
                let sent = send(&mut output, &body, patience).await;
                drop(output);
                sent
            };
            let (sent, _) = future::join(sent, theirs.read_to_end(&mut read)).await;
            assert!(sent.is_ok() && read.ends_with(&body));
            assert_eq!(n_waits.get(), read.len().div_ceil(PART));
        });
    }

    #[test]
    fn a_client_that_takes_nothing_is_given_up() {
        let (ours, _theirs) = tokio::io::duplex(1);
        let mut output: Output = Box::new(ours);
        let sent = send(&mut output, b"{}", || future::ready(())).now_or_never().expect("an end");
        assert_eq!(sent.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }
}
