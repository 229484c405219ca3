//! Headlines: one or two sentences that say what came out, computed from the results.
//!
//! ```text
//! results ─▶ measures (name, value, ±) ─▶ ranking: best, not told from it, others ─▶ sentences
//! ```
//! * [`ranking`] what is best, and what cannot be told apart from it
//! * [`words`]   numbers, ratios and lists in sentences
//! * [`runs`]    results of runs, alone and side by side
//! * [`bound`]   what placement could achieve
//! * [`sizing`]  the least over-provisioning
//! * [`lives`]   lives of devices
//! * [`fleets`]  the volumes of a trace
//! * [`sweep`]   the rows and claims of a sweep, the claims of papers
//! * [`traces`]  what a trace writes
//! * [`advice`]  the advice on a load
//!
//! A sentence is true whatever the results are: two measures whose uncertainties overlap cannot be
//! told apart, and a device that is not in a steady state is named. The same sentences open a
//! report and the text on a terminal, and are an attribute in Python.

pub mod advice;
pub mod bound;
pub mod fleets;
pub mod lives;
pub mod ranking;
pub mod runs;
pub mod sizing;
pub mod sweep;
pub mod traces;
pub mod words;

/// Sentences as lines of a text, and an empty line below them.
pub fn as_lines(sentences: &[String]) -> String {
    match sentences.is_empty() {
        true => String::new(),
        false => format!("{}\n\n", sentences.join("\n")),
    }
}

/// Numbers drawn for tests.
#[cfg(test)]
pub(crate) mod draws {
    /// A linear congruential generator (Knuth, MMIX).
    pub(crate) struct Draws(u64);

    impl Draws {
        pub(crate) fn new(seed: u64) -> Draws {
            Draws(seed)
        }

        /// A number below `end`.
        pub(crate) fn below(&mut self, end: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        pub(crate) fn one_in(&mut self, cases: u64) -> bool {
            self.below(cases) == 0
        }
    }
}
