//! Places in the order of their last use.

/// A circle of places from the oldest to the youngest; its last entry is the start.
pub(crate) struct Recency {
    older: Vec<u32>,
    younger: Vec<u32>,
}

impl Recency {
    /// As if `places` places had been used in the order of their numbers. The caller guarantees
    /// that there is at least one.
    pub(crate) fn new(places: u32) -> Recency {
        let circle = places + 1;
        let older = (0..circle).map(|at| (at + circle - 1) % circle).collect();
        let younger = (0..circle).map(|at| (at + 1) % circle).collect();
        Recency { older, younger }
    }

    /// The number of places.
    pub(crate) fn places(&self) -> u32 {
        self.start()
    }

    /// The place that was used longest ago.
    pub(crate) fn oldest(&self) -> u32 {
        self.younger[self.start() as usize]
    }

    /// Makes a place the youngest.
    pub(crate) fn touch(&mut self, place: u32) {
        self.join(self.older[place as usize], self.younger[place as usize]);
        let youngest = self.older[self.start() as usize];
        self.join(youngest, place);
        self.join(place, self.start());
    }

    fn start(&self) -> u32 {
        self.older.len() as u32 - 1
    }

    fn join(&mut self, older: u32, younger: u32) {
        self.younger[older as usize] = younger;
        self.older[younger as usize] = older;
    }
}
