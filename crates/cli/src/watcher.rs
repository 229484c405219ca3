//! Watches a run: a bar on a terminal, and an end when the user asks for one.

use std::cell::Cell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use sim::{Stage, Watch};

use crate::failure::{Failure, Result};

/// The code of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// Shows progress and hears interrupts.
pub struct Watcher {
    interrupted: Arc<AtomicBool>,
    bar: ProgressBar,
    stage: Cell<Option<Stage>>,
}

impl Watcher {
    /// Starts to listen. The first interrupt ends the run tidily, a second one at once.
    ///
    /// # Errors
    /// The system lets nobody listen.
    pub fn new(quiet: bool) -> Result<Watcher> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let flag = Arc::clone(&interrupted);
            signal_hook::flag::register_conditional_shutdown(
                signal,
                INTERRUPTED,
                Arc::clone(&flag),
            )
            .and_then(|_| signal_hook::flag::register(signal, flag))
            .map_err(|error| Failure::failed(format!("cannot listen to signals: {error}")))?;
        }
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::no_length().with_style(style(false)),
            false => ProgressBar::hidden(),
        };
        Ok(Watcher { interrupted, bar, stage: Cell::new(None) })
    }

    fn enter(&self, stage: Stage, total: Option<u64>) {
        self.stage.set(Some(stage));
        self.bar.reset();
        self.bar.set_style(style(total.is_some()));
        self.bar.set_message(name(stage));
        if let Some(total) = total {
            self.bar.set_length(total);
        }
    }
}

impl Watch for Watcher {
    fn at(&self, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            self.bar.finish_and_clear();
            return Err(sim::Error::Interrupted);
        }
        if self.bar.is_hidden() {
            return Ok(());
        }
        if self.stage.get() != Some(stage) {
            self.enter(stage, total);
        }
        self.bar.set_position(done);
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = match bounded {
        true => "{msg:14} {wide_bar} {percent:>3}% {eta:>5}",
        false => "{msg:14} {spinner} {elapsed}",
    };
    ProgressStyle::with_template(template).expect("the template is a constant")
}

fn name(stage: Stage) -> String {
    match stage {
        Stage::Survey => "looking through".into(),
        Stage::Fill => "filling".into(),
        Stage::WarmUp(pass) => format!("warming up {pass}"),
        Stage::Measure => "measuring".into(),
        Stage::ReadBack => "reading back".into(),
    }
}
