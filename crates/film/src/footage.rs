//! What a recorder leaves: the takes that were kept. It becomes a film that is small enough.

use crate::cutting::Cutting;
use crate::encoding::{Film, Uncoded};
use crate::header::About;
use crate::scene::SceneKind;
use crate::take::Counters;

/// The most bytes of the films on a page, before they become text.
pub const BYTES_MAX: usize = 3 << 20;

/// The takes of a pass, and everything that explains them.
pub struct Footage {
    /// What the film is of.
    pub about: About,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// The takes.
    pub cutting: Cutting,
    /// Names of roles.
    pub roles: Vec<&'static str>,
    /// Names of gauges.
    pub gauges: Vec<&'static str>,
    /// Kinds of scenes.
    pub kinds: Vec<SceneKind>,
    /// Counters along the pass. The last are those at its end.
    pub course: Vec<Counters>,
}

impl Footage {
    fn film(&self) -> Film {
        let uncoded = Uncoded {
            about: &self.about,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            takes: self.cutting.takes(),
            roles: &self.roles,
            gauges: &self.gauges,
            kinds: &self.kinds,
            course: &self.course,
        };
        uncoded.film()
    }

    /// Whether there is nothing to leave out but the first take and the last.
    fn is_shortest(&self) -> bool {
        self.cutting.takes().len() <= 2
    }
}

/// Films of at most `bytes_max` bytes together, or of two takes each. Footage that was chosen
/// evenly shows the same requests in all of them.
pub fn films(mut all: Vec<Footage>, bytes_max: usize) -> Vec<Film> {
    loop {
        let films: Vec<Film> = all.iter().map(Footage::film).collect();
        let bytes: usize = films.iter().map(|film| film.bytes.len()).sum();
        if bytes <= bytes_max || all.iter().all(Footage::is_shortest) {
            return films;
        }
        all.iter_mut().for_each(|footage| footage.cutting.thin());
    }
}
