//! The process that started the server: when it is gone, nobody will ever end this one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(target_os = "linux")]
use dupi::regular;

/// How soon it is noticed.
const INTERVAL: Duration = Duration::from_secs(2);

/// Ends this process, and with it the locks that it has, once the process with that id is gone.
pub fn watch(id: u32) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    let watch = move || {
        while is_alive(id) {
            std::thread::sleep(INTERVAL);
        }
        tracing::info!("the client, process {id}, is gone");
        // Nobody is left who could be answered, and what is on disk is whole at any moment.
        std::process::exit(1);
    };
    if let Err(error) = std::thread::Builder::new().name("dupi-parent".to_owned()).spawn(watch) {
        tracing::warn!("the client's process is not watched: {error}");
    }
}

#[cfg(target_os = "linux")]
fn is_alive(id: u32) -> bool {
    // One that ended and was not waited for is still listed, as a zombie.
    regular::read_to_string(format!("/proc/{id}/stat").as_ref(), regular::MAX_SYSTEM)
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_alive(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    // It may belong to somebody else, and be there nevertheless.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_id: u32) -> bool {
    // There, the pipes of a process that is gone are closed.
    true
}
