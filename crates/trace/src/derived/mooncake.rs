//! What a cache on flash does for a language model, from the requests to the model.
//!
//! ```text
//! {"timestamp": 1500, "input_length": 1300, "hash_ids": [1, 2, 4]}      one request a line
//!                                      │
//!       is 1 cached? yes: read it   2? yes: read it   4? no: write it in place of the block that
//!                                                     was used longest ago
//! ```
//! A prompt is a sequence of blocks of tokens; a block and all blocks before it have one hash
//! (Qin, Li, He and others 2025, Mooncake, FAST '25: the traces that were published with it). The
//! keys and values of the blocks at the begin of a prompt that the cache has are read; those of the
//! blocks behind the first one that it lacks are computed again, and written unless the cache has
//! them. The cache replaces whole blocks, the least recently used one first. Blocks have places of
//! one size, side by side; of a last block that is not full only its tokens are read and written.
//!
//! What the model answers has no hashes in such traces, so it is not written. All requests to the
//! flash have the time at which the prompt arrived, reads first.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::generate::recency::Recency;
use crate::request::{Flags, Op, Request, SECTOR_BYTES};

/// The most blocks of a cache: each takes some 50 bytes of memory.
const PLACES_MAX: u64 = 1 << 24;

/// A cache of keys and values on flash.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape {
    /// Its size in bytes.
    pub cache_bytes: u64,
    /// Keys and values of a token, in bytes.
    pub token_bytes: u64,
    /// Tokens of a block.
    pub block_tokens: u64,
    /// The largest request to the flash, in bytes.
    pub request_bytes: u64,
}

/// What the cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Requests to the model.
    pub prompts: u64,
    /// Their blocks.
    pub blocks: u64,
    /// Blocks that were read, because the cache had them and all before them.
    pub read: u64,
    /// Blocks that were written, because the cache lacked them.
    pub written: u64,
    /// Blocks that others replaced.
    pub evicted: u64,
}

/// A request to the model, as a line of the trace has it.
#[derive(Deserialize)]
struct Prompt {
    /// Milliseconds.
    #[serde(alias = "created_time")]
    timestamp: f64,
    /// Tokens.
    #[serde(alias = "input_tokens")]
    input_length: u64,
    hash_ids: Vec<u64>,
}

/// The cache at work.
pub struct ModelCache {
    shape: CacheShape,
    /// The place of each block in the cache.
    places: FxHashMap<u64, u32>,
    /// The block in each place.
    held: Vec<Option<u64>>,
    recency: Recency,
    counts: CacheCounts,
    /// The time of the last prompt.
    time_ns: u64,
}

impl ModelCache {
    /// An empty cache.
    ///
    /// # Errors
    /// It has no room for a block, or sizes are not whole sectors.
    pub fn new(shape: CacheShape) -> Result<ModelCache, String> {
        let CacheShape { cache_bytes, token_bytes, block_tokens, request_bytes } = shape;
        for (what, bytes) in [("token", token_bytes), ("request", request_bytes)] {
            if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
                return Err(format!("{bytes} bytes for a {what} are not whole sectors of 512"));
            }
        }
        let block_bytes = token_bytes.checked_mul(block_tokens).filter(|&bytes| bytes > 0);
        let places = block_bytes.map_or(0, |bytes| cache_bytes / bytes);
        match places {
            1..=PLACES_MAX => Ok(ModelCache {
                shape,
                places: FxHashMap::default(),
                held: vec![None; places as usize],
                recency: Recency::new(places as u32),
                counts: CacheCounts::default(),
                time_ns: 0,
            }),
            _ => Err(format!(
                "a cache of {cache_bytes} bytes has {places} places for blocks of {block_tokens} \
                 tokens of {token_bytes} bytes; at least one is needed, and {PLACES_MAX} are \
                 possible"
            )),
        }
    }

    /// What was done until now.
    pub fn counts(&self) -> &CacheCounts {
        &self.counts
    }

    /// Bytes of all places.
    pub fn bytes(&self) -> u64 {
        self.held.len() as u64 * self.block_bytes()
    }

    fn block_bytes(&self) -> u64 {
        self.shape.token_bytes * self.shape.block_tokens
    }

    /// Takes a line of the trace; `out` receives the requests to the flash that it causes.
    ///
    /// # Errors
    /// What is wrong with the line, or what `out` refuses.
    pub fn line<E: From<String>>(
        &mut self,
        line: &str,
        mut out: impl FnMut(&Request) -> Result<(), E>,
    ) -> Result<(), E> {
        let prompt: Prompt = serde_json::from_str(line).map_err(|error| {
            let why = error.to_string();
            // The caller knows the line.
            format!("this is no prompt: {}", why.split(" at line ").next().unwrap_or(&why))
        })?;
        let time_ns = prompt.timestamp * 1e6;
        if !(0.0..1e18).contains(&time_ns) || (time_ns as u64) < self.time_ns {
            let last = self.time_ns as f64 / 1e6;
            let now = prompt.timestamp;
            return Err(format!(
                "a timestamp of {now} ms after one of {last} ms; sort the lines by their times"
            )
            .into());
        }
        self.time_ns = time_ns as u64;
        let tokens = (prompt.hash_ids.len() as u64).saturating_mul(self.shape.block_tokens);
        if prompt.input_length > tokens {
            let (length, blocks) = (prompt.input_length, prompt.hash_ids.len());
            return Err(format!(
                "{length} tokens do not fit into {blocks} blocks of {} tokens; the trace has \
                 another size of blocks",
                self.shape.block_tokens
            )
            .into());
        }
        self.serve(&prompt, &mut out)
    }

    fn serve<E>(
        &mut self,
        prompt: &Prompt,
        out: &mut impl FnMut(&Request) -> Result<(), E>,
    ) -> Result<(), E> {
        let blocks = &prompt.hash_ids;
        self.counts.prompts += 1;
        self.counts.blocks += blocks.len() as u64;
        let known = blocks.iter().take_while(|id| self.places.contains_key(id)).count();
        for (number, id) in blocks[..known].iter().enumerate() {
            let place = self.places[id];
            self.recency.touch(place);
            self.counts.read += 1;
            self.transfer(Op::Read, place, self.bytes_of(prompt, number), out)?;
        }
        for (number, id) in blocks.iter().enumerate().skip(known) {
            if let Some(&place) = self.places.get(id) {
                self.recency.touch(place);
                continue;
            }
            let place = self.make_room();
            self.places.insert(*id, place);
            self.held[place as usize] = Some(*id);
            self.counts.written += 1;
            self.transfer(Op::Write, place, self.bytes_of(prompt, number), out)?;
        }
        Ok(())
    }

    /// The place for a new block, which is the youngest from now on.
    fn make_room(&mut self) -> u32 {
        let place = self.recency.oldest();
        self.recency.touch(place);
        if let Some(old) = self.held[place as usize].take() {
            self.places.remove(&old);
            self.counts.evicted += 1;
        }
        place
    }

    /// Keys and values of a block of a prompt. Its last block may have fewer tokens than others.
    fn bytes_of(&self, prompt: &Prompt, number: usize) -> u64 {
        let before = (number as u64).saturating_mul(self.shape.block_tokens);
        let tokens = prompt.input_length.saturating_sub(before);
        self.shape.token_bytes * tokens.clamp(1, self.shape.block_tokens)
    }

    fn transfer<E>(
        &self,
        op: Op,
        place: u32,
        bytes: u64,
        out: &mut impl FnMut(&Request) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = u64::from(place) * self.block_bytes();
        let (time_ns, step) = (self.time_ns, self.shape.request_bytes);
        let mut done = 0;
        while done < bytes {
            let part = step.min(bytes - done);
            let (offset, flags) = (first + done, Flags::empty());
            out(&Request { time_ns, offset, bytes: part, device: 0, op, flags, stream: 0 })?;
            done += part;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 4 tokens of a sector each.
    fn cache(places: u64) -> ModelCache {
        let shape = CacheShape {
            cache_bytes: places * 4 * 512,
            token_bytes: 512,
            block_tokens: 4,
            request_bytes: 1024,
        };
        ModelCache::new(shape).unwrap()
    }

    /// The requests that a prompt causes, as operation, first sector and sectors.
    fn caused(cache: &mut ModelCache, time: u64, tokens: u64, ids: &[u64]) -> Vec<(Op, u64, u64)> {
        let line = format!(
            r#"{{"timestamp":{time},"input_length":{tokens},"output_length":9,"hash_ids":{ids:?}}}"#
        );
        let mut all = Vec::new();
        let done = cache.line::<String>(&line, |it| {
            assert_eq!(it.time_ns, time * 1_000_000);
            all.push((it.op, it.offset / 512, it.bytes / 512));
            Ok(())
        });
        done.unwrap();
        all
    }

    const R: Op = Op::Read;
    const W: Op = Op::Write;

    #[test]
    fn known_blocks_at_the_begin_are_read_and_unknown_ones_written() {
        let mut cache = cache(8);
        let first = caused(&mut cache, 0, 9, &[1, 2, 3]);
        assert_eq!(first, [(W, 0, 2), (W, 2, 2), (W, 4, 2), (W, 6, 2), (W, 8, 1)], "9 tokens");
        let second = caused(&mut cache, 5, 12, &[1, 2, 4]);
        assert_eq!(second, [(R, 0, 2), (R, 2, 2), (R, 4, 2), (R, 6, 2), (W, 12, 2), (W, 14, 2)]);
        // Block 2 is there, but not what comes before it.
        assert_eq!(caused(&mut cache, 5, 8, &[9, 2]), [(W, 16, 2), (W, 18, 2)]);
        let CacheCounts { prompts, blocks, read, written, evicted } = *cache.counts();
        assert_eq!([prompts, blocks, read, written, evicted], [3, 8, 2, 5, 0]);
    }

    #[test]
    fn the_block_that_was_used_longest_ago_makes_room() {
        let mut cache = cache(2);
        caused(&mut cache, 0, 4, &[1]);
        caused(&mut cache, 0, 4, &[2]);
        assert_eq!(caused(&mut cache, 0, 4, &[1])[0], (R, 0, 2));
        assert_eq!(caused(&mut cache, 0, 4, &[3])[0], (W, 4, 2), "in place of block 2");
        assert_eq!(caused(&mut cache, 0, 4, &[2])[0], (W, 0, 2), "block 1 was older than 3");
        assert_eq!(cache.counts().evicted, 2);
        // A prompt that is longer than the cache evicts its own first blocks.
        assert_eq!(caused(&mut cache, 0, 12, &[5, 6, 7]).len(), 6);
        assert_eq!(cache.counts().evicted, 5);
    }

    /// A cache by its definition, beside the one that keeps places.
    #[test]
    fn drawn_prompts_have_the_hits_of_a_list() {
        let (mut cache, mut list) = (cache(13), Vec::<u64>::new());
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for time in 0..2_000 {
            let (root, length) = (draw(6), 1 + draw(7));
            let ids: Vec<u64> = (0..length).map(|at| 100 * root + at).collect();
            let hits = ids.iter().take_while(|id| list.contains(id)).count();
            for id in &ids {
                list.retain(|other| other != id);
                list.push(*id);
                if list.len() > 13 {
                    list.remove(0);
                }
            }
            let before = cache.counts().read;
            caused(&mut cache, time, 4 * length, &ids);
            assert_eq!(cache.counts().read - before, hits as u64, "prompt {time}: {ids:?}");
            assert_eq!(cache.places.len(), list.len());
            assert!(list.iter().all(|id| cache.places.contains_key(id)), "prompt {time}");
        }
        assert!(cache.counts().evicted > 500);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_sentence() {
        let shape = CacheShape {
            cache_bytes: 1 << 20,
            token_bytes: 512,
            block_tokens: 4,
            request_bytes: 512,
        };
        for (wrong, why) in [
            (CacheShape { cache_bytes: 2047, ..shape }, "has 0 places"),
            (CacheShape { token_bytes: 100, ..shape }, "100 bytes for a token"),
            (CacheShape { request_bytes: 0, ..shape }, "0 bytes for a request"),
            (CacheShape { block_tokens: u64::MAX, ..shape }, "has 0 places"),
            (CacheShape { cache_bytes: u64::MAX, ..shape }, "16777216 are possible"),
        ] {
            let said = ModelCache::new(wrong).err().unwrap();
            assert!(said.contains(why), "{said}");
        }
        let mut cache = ModelCache::new(shape).unwrap();
        let mut refused = |line: &str| cache.line::<String>(line, |_| Ok(())).unwrap_err();
        assert!(refused("{}").starts_with("this is no prompt: missing field"));
        let long = r#"{"timestamp": 3, "input_length": 9, "hash_ids": [1, 2]}"#;
        assert!(refused(long).contains("9 tokens do not fit into 2 blocks of 4 tokens"));
        let early = r#"{"timestamp": 2, "input_length": 8, "hash_ids": [1, 2]}"#;
        assert!(refused(early).contains("2 ms after one of 3 ms"));
        assert!(
            refused(r#"{"timestamp": -1, "input_length": 1, "hash_ids": [1]}"#).contains("-1 ms")
        );
    }
}
