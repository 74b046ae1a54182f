//! How bytes come and go: standard input and output, a socket, or a pipe; and what of them is a message at all.
//!
//! What a client sends is cut into messages here, before the protocol layer sees it: that one takes a message of any
//! size into memory, and ends with the first one that it cannot read.

use std::io;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};

use super::ServerArguments;

/// No message is larger: the largest is a document that somebody opens, and escaped as JSON it is at most six times as
/// long as its text, which counts only up to 4 MiB. What is larger is read and dropped.
const MAX_MESSAGE: u64 = 32 << 20;
/// Headers are two short lines; more than this without an end is no message.
const MAX_HEADER: u64 = 8 << 10;
/// What may be under way between this and the protocol layer.
const IN_FLIGHT: usize = 64 << 10;

/// What a message that cannot be read is passed on as, so that it is answered in its turn.
pub const UNREADABLE: &str = "$/dupi/unreadable";

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

/// The messages of `input`, each whole, of bounded size and of valid JSON. `ended` is called when there will be no more.
pub fn messages(input: Input, ended: impl FnOnce() + Send + 'static) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(IN_FLIGHT);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        if let Err(error) = pass_on(&mut input, ours).await {
            tracing::info!("the client is gone: {error}");
        }
        ended();
    });
    theirs
}

async fn pass_on(input: &mut BufReader<Input>, mut to: DuplexStream) -> io::Result<()> {
    let unreadable = format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{UNREADABLE}"}}"#);
    loop {
        let good = match header(input).await? {
            Header::End => return Ok(()),
            Header::Length(n) if n <= MAX_MESSAGE => {
                let mut body = vec![0; n as usize];
                input.read_exact(&mut body).await?;
                is_message(&body).then_some(body)
            }
            Header::Length(n) => {
                tracing::warn!("a message of {n} bytes is too large and is passed over");
                tokio::io::copy(&mut input.take(n), &mut tokio::io::sink()).await?;
                None
            }
            Header::Bad => None,
        };
        let body = good.as_deref().unwrap_or(unreadable.as_bytes());
        to.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
        to.write_all(body).await?;
    }
}

/// An object in JSON: the rest is for the protocol layer to judge.
fn is_message(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'{')
        && std::str::from_utf8(body).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
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
