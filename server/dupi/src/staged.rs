//! Faults of a tokenizer that tests stage in the real program: only in debug builds, and only if a variable names a
//! folder. A text asks for its fault by a word in it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The folder, by which a test speaks with texts that wait.
const VARIABLE: &str = "DUPI_STAGED_FAULTS";

pub(crate) fn fault(text: &[u8]) {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(folder) = FOLDER.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from)) else { return };
    let asks = |word: &str| memchr::memmem::find(text, word.as_bytes()).is_some();
    if asks("staged-abort") {
        std::process::abort();
    }
    if asks("staged-overflow") {
        overflow(0);
    }
    if asks("staged-wait") {
        // Told to the test, which ends it by removing the other file.
        let _ = std::fs::write(folder.join("waiting"), "");
        while folder.join("hold").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Uses all of the stack.
fn overflow(n: u64) -> u64 {
    let room = std::hint::black_box([n; 64]);
    if n == u64::MAX { 0 } else { overflow(n + 1) + room[0] }
}
