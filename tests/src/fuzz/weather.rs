//! What a run may meet: low priority, stops, throttling, and its end. Signals are sent by programs that every Unix has;
//! elsewhere there is only the kill.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::ground::Tally;
use crate::binary::Run;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug)]
pub enum Weather {
    Calm,
    /// At the lowest priority.
    Nice,
    /// Stopped once, after a while and for a while.
    Stopped {
        after: Duration,
        pause: Duration,
    },
    /// Stopped most of the time.
    Throttled,
    /// Ended after a while, if it has not ended by itself.
    Killed {
        after: Duration,
        signal: &'static str,
    },
}

/// Runs a command; none if a signal has ended it.
pub fn run(command: Command, weather: Weather, output: &Path, tally: &mut Tally) -> Result<Option<Run>> {
    let mut command = if matches!(weather, Weather::Nice) && cfg!(unix) { niced(&command) } else { command };
    let paths = [output.with_extension("out"), output.with_extension("err")];
    command.stdout(File::create(&paths[0])?).stderr(File::create(&paths[1])?);
    let mut child = command.spawn().context("the binary starts")?;
    let status = wait(&mut child, weather, tally);
    if status.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    let Some(code) = status?.code() else {
        if matches!(weather, Weather::Killed { .. }) {
            return Ok(None);
        }
        bail!("a run ended by itself: {}", fs::read_to_string(&paths[1])?);
    };
    Ok(Some(Run { code, stdout: fs::read_to_string(&paths[0])?, stderr: fs::read_to_string(&paths[1])? }))
}

fn wait(child: &mut Child, weather: Weather, tally: &mut Tally) -> Result<ExitStatus> {
    match weather {
        Weather::Calm | Weather::Nice => {}
        Weather::Stopped { after, pause } => {
            sleep(after);
            stop(child, pause, tally)?;
        }
        Weather::Throttled => {
            // So often that even a long run ends some time.
            for round in 0..200 {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                stop(child, Duration::from_millis(15), tally)?;
                sleep(Duration::from_millis(3 + round / 10));
            }
        }
        Weather::Killed { after, signal } => {
            sleep(after);
            if child.try_wait()?.is_none() {
                tally.kills += 1;
                if cfg!(unix) { send(child, signal)? } else { child.kill()? }
            }
        }
    }
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > end {
            bail!("a run does not end");
        }
        sleep(Duration::from_millis(1));
    }
}

fn stop(child: &mut Child, pause: Duration, tally: &mut Tally) -> Result<()> {
    if cfg!(unix) && child.try_wait()?.is_none() {
        send(child, "STOP")?;
        sleep(pause);
        send(child, "CONT")?;
        tally.stops += 1;
    }
    Ok(())
}

/// Sends a signal. The process is a child that nobody has waited for, so its number is still its own.
fn send(child: &Child, signal: &str) -> Result<()> {
    let status = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().context("kill runs")?;
    if !status.success() {
        bail!("kill -s {signal} failed");
    }
    Ok(())
}

fn niced(command: &Command) -> Command {
    let mut niced = Command::new("nice");
    let arguments: Vec<OsString> = command.get_args().map(OsString::from).collect();
    niced.args(["-n", "19"]).arg(command.get_program()).args(arguments);
    niced.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    niced.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    niced
}
