//! Work that takes a while, as the client shows it: files, time left, and a way to cancel it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tower_lsp::ls_types::notification::Progress as ProgressNotification;
use tower_lsp::ls_types::request::WorkDoneProgressCreate;
use tower_lsp::ls_types::{
    ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::outbox::Outbox;
use crate::terminal::{count, grouped};

/// Nobody reads faster.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long work runs before the time that is left can be told from what was done.
const ESTIMABLE: Duration = Duration::from_secs(1);

pub struct Progress {
    pub token: ProgressToken,
    outbox: Outbox,
    state: Arc<Mutex<State>>,
    start: Instant,
    last: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client was asked whether it shows it.
    Asked,
    Shown,
    Over,
}

impl Progress {
    /// Asks the client to show it. A client that never answers is shown nothing.
    pub fn begin(outbox: &Outbox, token: String, title: String) -> Progress {
        let token = ProgressToken::String(token);
        let state = Arc::new(Mutex::new(State::Asked));
        let progress = Progress {
            token: token.clone(),
            outbox: outbox.clone(),
            state,
            start: Instant::now(),
            last: Instant::now(),
        };
        let (state, sender) = (Arc::clone(&progress.state), outbox.clone());
        let params = WorkDoneProgressCreateParams { token: token.clone() };
        outbox.request::<WorkDoneProgressCreate>(params, move |answer| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if answer.is_ok() && *state == State::Asked {
                *state = State::Shown;
                let begin =
                    WorkDoneProgressBegin { title, cancellable: Some(true), message: None, percentage: Some(0) };
                send(&sender, &token, WorkDoneProgress::Begin(begin));
            }
        });
        progress
    }

    pub fn report(&mut self, progress: dupi::Progress) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != State::Shown || self.last.elapsed() < INTERVAL {
            return;
        }
        let (message, percentage) = match progress {
            dupi::Progress::Walking => ("looking for source files".to_owned(), None),
            dupi::Progress::Reading(n, of) => {
                let left = time_left(self.start.elapsed(), n, of);
                let files = format!("{} of {} files{left}", grouped(n as u64), grouped(of as u64));
                (files, Some((100 * n / of.max(1)) as u32))
            }
            dupi::Progress::Comparing => ("comparing".to_owned(), None),
        };
        self.last = Instant::now();
        let report = WorkDoneProgressReport { cancellable: Some(true), message: Some(message), percentage };
        send(&self.outbox, &self.token, WorkDoneProgress::Report(report));
    }

    pub fn end(self, n_files: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == State::Shown {
            let message = Some(count(n_files as u64, "file", "files"));
            send(&self.outbox, &self.token, WorkDoneProgress::End(WorkDoneProgressEnd { message }));
        }
        *state = State::Over;
    }
}

fn time_left(elapsed: Duration, n: usize, of: usize) -> String {
    if elapsed < ESTIMABLE || n == 0 {
        return String::new();
    }
    let left = elapsed.as_secs_f64() * of.saturating_sub(n) as f64 / n as f64;
    format!(", {:.0} s left", left.ceil())
}

fn send(outbox: &Outbox, token: &ProgressToken, value: WorkDoneProgress) {
    let value = ProgressParamsValue::WorkDone(value);
    outbox.notify::<ProgressNotification>(ProgressParams { token: token.clone(), value });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_what_was_done() {
        assert_eq!(time_left(Duration::from_secs(3), 100, 300), ", 6 s left");
        assert_eq!(time_left(Duration::from_millis(10), 100, 300), "");
    }
}
