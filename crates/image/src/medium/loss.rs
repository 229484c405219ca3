//! What a crash loses of the writes since the last sync, and its text form.

use std::fmt;

/// Up to this many pieces, all subsets of them are tried.
const EXHAUSTIVE: usize = 4;
/// Bytes of a piece that a crash in the middle of it writes, at most.
const TORN_BYTES_MAX: u64 = 128;

/// Which pieces a crash loses. Pieces are counted from 0 in the order of their writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them.
    All,
    /// None.
    None,
    /// One.
    One(u64),
    /// All but one.
    But(u64),
    /// One and all after it.
    From(u64),
    /// Those whose bit is 0.
    Mask(u64),
    /// Each with probability 1/2, drawn from a seed.
    Half(u64),
    /// Each with probability 1/8, drawn from a seed.
    Eighth(u64),
    /// The ends of the last one or two, drawn from a seed: the sector itself is torn.
    Ends(u64),
}

impl Loss {
    /// The names that users write; all but the first two are followed by `@` and a number.
    pub const NAMES: &'static [&'static str] =
        &["all", "none", "one", "but", "from", "mask", "half", "eighth", "ends"];

    /// Losses of `pieces` pieces, of which those from `last` on belong to the last write.
    pub(crate) fn some(
        pieces: usize,
        last: usize,
        draws: usize,
        below: &mut dyn FnMut(usize) -> usize,
    ) -> Vec<Loss> {
        if pieces == 0 {
            return vec![Loss::All];
        }
        // An even seed tears one piece, an odd one tears two.
        let mut losses = [0, 1].map(|two| Loss::Ends(2 * below(1 << 16) as u64 + two)).to_vec();
        if pieces <= EXHAUSTIVE {
            losses.extend((0..1 << pieces).map(Loss::Mask));
            return losses;
        }
        losses.extend([Loss::All, Loss::None]);
        losses.extend((last + 1..pieces).map(|piece| Loss::From(piece as u64)));
        for _ in 0..draws {
            losses.extend([Loss::One, Loss::But, Loss::From].map(|it| it(below(pieces) as u64)));
            losses.extend([Loss::Half, Loss::Eighth].map(|it| it(below(1 << 16) as u64)));
        }
        losses
    }

    /// How many bytes of piece `index` of `pieces` reach the disk. The piece has `bytes`.
    pub(crate) fn written(self, index: usize, pieces: usize, bytes: usize) -> usize {
        let at = index as u64;
        let kept = match self {
            Loss::All => false,
            Loss::None => true,
            Loss::One(lost) => at != lost,
            Loss::But(kept) => at == kept,
            Loss::From(lost) => at < lost,
            Loss::Mask(mask) => mask >> at & 1 == 1,
            Loss::Half(seed) => scatter(seed, at) & 1 == 0,
            Loss::Eighth(seed) => scatter(seed, at) & 7 != 0,
            Loss::Ends(seed) if index + 1 + (seed & 1) as usize >= pieces => {
                return (scatter(seed, at) % TORN_BYTES_MAX.min(bytes as u64)) as usize;
            }
            Loss::Ends(_) => true,
        };
        if kept { bytes } else { 0 }
    }

    /// Parses a loss such as `all` or `one@3`; none if it is malformed.
    pub fn parse(text: &str) -> Option<Loss> {
        let number = |text: &str| text.parse().ok();
        Some(match text.split_once('@') {
            None if text == "all" => Loss::All,
            None if text == "none" => Loss::None,
            Some(("one", n)) => Loss::One(number(n)?),
            Some(("but", n)) => Loss::But(number(n)?),
            Some(("from", n)) => Loss::From(number(n)?),
            Some(("mask", n)) => Loss::Mask(number(n)?),
            Some(("half", n)) => Loss::Half(number(n)?),
            Some(("eighth", n)) => Loss::Eighth(number(n)?),
            Some(("ends", n)) => Loss::Ends(number(n)?),
            _ => return None,
        })
    }

    /// The place of its name in [`Loss::NAMES`], and its number.
    pub fn parts(self) -> (usize, Option<u64>) {
        match self {
            Loss::All => (0, None),
            Loss::None => (1, None),
            Loss::One(n) => (2, Some(n)),
            Loss::But(n) => (3, Some(n)),
            Loss::From(n) => (4, Some(n)),
            Loss::Mask(n) => (5, Some(n)),
            Loss::Half(n) => (6, Some(n)),
            Loss::Eighth(n) => (7, Some(n)),
            Loss::Ends(n) => (8, Some(n)),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self.parts() {
            (name, None) => out.write_str(Loss::NAMES[name]),
            (name, Some(number)) => write!(out, "{}@{number}", Loss::NAMES[name]),
        }
    }
}

/// A number that depends on a seed and a piece without any pattern.
fn scatter(seed: u64, piece: u64) -> u64 {
    let mut x = seed.wrapping_add(piece << 32).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(loss: Loss) -> Vec<usize> {
        (0..5).filter(|at| loss.written(*at, 5, 512) == 512).collect()
    }

    #[test]
    fn each_loss_loses_its_pieces() {
        assert_eq!(kept(Loss::All), []);
        assert_eq!(kept(Loss::None), [0, 1, 2, 3, 4]);
        assert_eq!(kept(Loss::One(3)), [0, 1, 2, 4]);
        assert_eq!(kept(Loss::But(3)), [3]);
        assert_eq!(kept(Loss::From(3)), [0, 1, 2]);
        assert_eq!(kept(Loss::Mask(0b10010)), [1, 4]);
        assert_eq!([kept(Loss::Ends(0)).len(), kept(Loss::Ends(1)).len()], [4, 3]);
        let lost = |loss: Loss| (0..8000).filter(|at| loss.written(*at, 8000, 1) == 0).count();
        assert!((3800..4200).contains(&lost(Loss::Half(7))));
        assert!((900..1100).contains(&lost(Loss::Eighth(7))));
    }

    #[test]
    fn a_loss_is_parsed_as_it_is_printed() {
        let mut draw = 9;
        let mut below = |end: usize| {
            draw = (draw * 31 + 7) % end.min(1000);
            draw
        };
        let few = Loss::some(2, 1, 1, &mut below);
        let many = Loss::some(9, 6, 1, &mut below);
        assert_eq!(few.len(), 6);
        assert!(many.contains(&Loss::From(7)) && many.contains(&Loss::From(8)), "{many:?}");
        let kinds = |losses: &[Loss]| {
            let kinds = losses.iter().map(|loss| Loss::NAMES[loss.parts().0]);
            kinds.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        let of_many = ["all", "but", "eighth", "ends", "from", "half", "none", "one"];
        assert_eq!((kinds(&few), kinds(&many)), (vec!["ends", "mask"], of_many.to_vec()));
        for losses in [&few, &many] {
            let is_even = |loss: &Loss| loss.parts().1.unwrap().is_multiple_of(2);
            let ends = losses.iter().filter(|loss| matches!(loss, Loss::Ends(_)));
            assert_eq!(ends.map(is_even).collect::<Vec<_>>(), [true, false], "one end, then two");
        }
        for loss in few.into_iter().chain(many) {
            assert_eq!(Loss::parse(&loss.to_string()), Some(loss));
        }
        for text in ["", "al", "one", "one@", "one@-1", "all@3", "any@3"] {
            assert_eq!(Loss::parse(text), None, "{text}");
        }
    }

    /// A replay line of an older version loses the same bytes.
    #[test]
    fn a_seed_loses_what_it_always_lost() {
        let lost = |loss: Loss| -> Vec<usize> {
            (0..24).filter(|at| loss.written(*at, 24, 512) < 512).collect()
        };
        assert_eq!(lost(Loss::Half(9)), [1, 4, 6, 7, 8, 10, 11, 14, 18, 19, 20, 22]);
        assert_eq!(lost(Loss::Eighth(9)), [12, 15]);
        let torn = [22, 23].map(|at| Loss::Ends(9).written(at, 24, 512));
        assert_eq!(torn, [117, 30]);
    }

    #[test]
    fn many_pieces_have_extreme_losses() {
        let losses = Loss::some(20, 17, 1, &mut |_| 5);
        let text: Vec<String> = losses.iter().map(Loss::to_string).collect();
        let expected =
            "ends@10 ends@11 all none from@18 from@19 one@5 but@5 from@5 half@5 eighth@5";
        assert_eq!(text.join(" "), expected);
    }
}
