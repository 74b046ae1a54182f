//! Tokenizing in a process of its own: whether a text ends the process that reads it.
//!
//! `dupi-lsp tokenize LANGUAGE` is that process. How it ended proves what ended it, on every system.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow};
use dupi::document::{Document, Scratch};
use dupi::files::Source;
use dupi::{Settings, Zone};
use dupi_grammars::Language;

/// The hidden verb.
const TOKENIZE: &str = "tokenize";

#[derive(clap::Args)]
pub struct Arguments {
    language: String,
}

/// Tokenizes standard input. Its exit code says only that this did not end the process.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        // A crash is expected here, and nobody wants its memory on disk.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
    let language = dupi_grammars::by_name(&arguments.language).ok_or_else(|| anyhow!("no such language"))?;
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).context("cannot read standard input")?;
    // With all zones no text is left out before it is tokenized; on a stack as large as that of the threads that read
    // files.
    let tokenize = move || {
        let settings = Settings { zones: Zone::ALL.to_vec(), ..Settings::default() };
        let source = Source::new(PathBuf::new(), String::new());
        drop(Document::from_text(&source, language, &text, &settings, &mut Scratch::default()));
    };
    let ended = std::thread::spawn(tokenize).join();
    ended.map_err(|_| anyhow!("the tokenizer panicked")).map(|()| ExitCode::SUCCESS)
}

/// The trial of a suspect: see [`dupi::quarantine::Trial`].
pub fn ends_its_process(language: &'static Language, text: &[u8]) -> Option<bool> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args([TOKENIZE, language.name]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().ok()?;
    // Closed when all is written: then it begins.
    let written = process.stdin.take()?.write_all(text);
    let status = process.wait().ok()?;
    written.ok()?;
    if status.success() { Some(false) } else { crashed(status).then_some(true) }
}

/// Did a process end by what it did, and not by what was done to it?
#[cfg(unix)]
fn crashed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Signal;
    let own = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE, Signal::TRAP];
    status.signal().is_some_and(|signal| own.iter().any(|own| own.as_raw() == signal))
}

#[cfg(windows)]
fn crashed(status: ExitStatus) -> bool {
    /// Access violation, illegal instruction, division by zero, stack overflow, corrupt heap, abort.
    const OWN: [u32; 6] = [0xC000_0005, 0xC000_001D, 0xC000_0094, 0xC000_00FD, 0xC000_0374, 0xC000_0409];
    status.code().is_some_and(|code| OWN.contains(&code.cast_unsigned()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Signal;

    use super::*;

    /// Statuses as the system gives them, not of real processes: those inherit ignored signals, so that one started in
    /// the background of a shell outlives SIGINT.
    #[test]
    fn only_what_a_process_does_itself_is_a_crash() {
        let own = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE, Signal::TRAP];
        let others = [Signal::INT, Signal::TERM, Signal::KILL, Signal::HUP, Signal::QUIT, Signal::XCPU];
        let ended_by = |signal: Signal| ExitStatus::from_raw(signal.as_raw());
        assert!(own.into_iter().all(|signal| crashed(ended_by(signal))));
        assert!(!others.into_iter().any(|signal| crashed(ended_by(signal))));
        assert!(!crashed(ExitStatus::from_raw(2 << 8)), "an exit code");
    }
}
