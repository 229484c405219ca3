//! page: page mapping. One map entry per page; writes are appended to an open block; garbage
//! collection makes room.
//!
//! ```text
//! L2P  0 1 2 3 …          frontier  [3 0 7 3 _ _]   host writes are appended here
//!      │ └──────────────▶ full      [5 1 x x 9 x]   x: superseded
//!      └────────────────▶ full      [x 0 x x x 2]   ◀ victim: fewest valid pages (greedy)
//! ```
//! The map, its blocks and its recovery are those of [`page_map`](crate::part::page::page_map).
//! When the number of erased blocks has fallen to the reserve, the valid pages of a victim are
//! copied to the frontier of garbage collection (which is the host's own with `frontiers=1`), and
//! the victim is erased. For uniform random writes the write amplification has closed forms: for
//! greedy and fifo in the mean-field limit (Desnoyers 2012; Bux and Iliadis 2010), for random
//! victims 1/(1−ρ).
//!
//! Invariant: at least `RESERVE` blocks are erased whenever no victim is being emptied.
//!
//! A policy from outside can place the pages instead: see [`crate::part::page::placed`].

use nand::{BlockId, Cause, ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::page_policy::{Class, PolicySource};
use crate::contract::{
    Error, Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme, Span, Violation,
    base_is, table_bytes,
};
use crate::part::map::frontier::Frontier;
use crate::part::page::page_map::PageMap;
use crate::part::page::placed::{self, Placed};
use crate::part::page::victims::registry;
use crate::part::recovery::page_kind;
use crate::part::recovery::survey;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;

const PARAMS: &[&[Param]] = &[
    &[registry::victim_param("greedy")],
    &registry::OWN_PARAMS,
    &[Param {
        name: "frontiers",
        kind: Kind::Count,
        default: "1",
        unit: "blocks",
        doc: "1: host writes and garbage collection fill the same block; 2: each of them fills \
              its own, as in `sepgc`",
    }],
];

/// Page mapping.
pub static SCHEME: Scheme = Scheme {
    name: "page",
    summary: "page mapping: a map entry for each page; several victim policies",
    source: "the baseline of all five papers; victim policies as in the papers that they cite",
    lecture: Lecture::of(file!(), include_str!("page.rs")),
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    refuses,
    least_extra: |params, _, _| RESERVE + params.count("frontiers") as u32,
    takes_policy: true,
    open_blocks: Some(|params| params.count("frontiers") as u32),
    memory: |_, geometry, _| table_bytes(geometry, 4, 16),
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    match params.count("frontiers") {
        1 | 2 => registry::refuses(params),
        frontiers => Some(format!("frontiers={frontiers}; 1 or 2 are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let map = PageMap::format(nand, device, registry::chosen(device.params), 0);
    if let Some(source) = device.policy {
        return mount_placed(nand, device, map, source);
    }
    let ftl = PageMapped {
        map,
        host: Frontier::NONE,
        gc: (device.params.count("frontiers") == 2).then_some(Frontier::NONE),
        victims_taken: 0,
    };
    survey::mounted(nand, device, ftl, PageMapped::recover)
}

/// Mounts page mapping whose pages a policy places. The policy knows nothing of earlier pages.
fn mount_placed(
    nand: &Nand,
    device: &MountConfig,
    map: PageMap,
    source: &dyn PolicySource,
) -> Result<Box<dyn Ftl>> {
    let placed_device = placed::placed_device(nand, device, &map);
    let policy = source.policy(&placed_device)?;
    match refuses_policy(nand, device.params, policy.classes(), placed_device.extra_blocks) {
        Some(why) => Err(Error::Refused { scheme: SCHEME.name, why }),
        None => Ok(Box::new(Placed::new(nand, device, map, policy))),
    }
}

fn refuses_policy(nand: &Nand, params: &Params, classes: Class, has: u32) -> Option<String> {
    let needs = placed::extra_blocks(classes, classes);
    let why = match classes {
        _ if !nand.is_factory_new() => "a policy needs a new chip, and this one holds pages".into(),
        _ if params.count("frontiers") != 1 => {
            "`frontiers` has no meaning with a policy: it has classes".into()
        }
        0 => "a policy needs at least one class, and this one has none".into(),
        _ if has < needs => format!(
            "a policy with {classes} classes needs at least {needs} extra blocks, this device has \
             {has}"
        ),
        _ => return None,
    };
    Some(why)
}

struct PageMapped {
    map: PageMap,
    host: Frontier,
    /// The frontier of garbage collection; none if it uses the host's.
    gc: Option<Frontier>,
    victims_taken: u64,
}

impl PageMapped {
    /// Makes sure that the host's frontier has room.
    #[inline]
    fn make_room(&mut self, nand: &mut Nand) -> Result<()> {
        if self.host.room() > 0 { Ok(()) } else { self.find_room(nand) }
    }

    #[inline(never)]
    fn find_room(&mut self, nand: &mut Nand) -> Result<()> {
        while self.host.room() == 0 {
            if self.map.flat.pool.len() > RESERVE {
                self.host = self.map.open(nand)?;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }

    /// Empties the policy's victim and erases it.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.map.choose_victim();
        self.victims_taken += 1;
        self.empty(nand, victim, Cause::Gc)
    }

    fn empty(&mut self, nand: &mut Nand, victim: BlockId, cause: Cause) -> Result<()> {
        let frontier = self.gc.as_mut().unwrap_or(&mut self.host);
        self.map.empty(nand, victim, frontier, None, cause, |_, _| {})
    }

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = self.map.recover(nand, device, |_| Ok(()))?;
        if let Some(block) = recovered.endangered {
            self.empty(nand, block, Cause::Meta)?;
        }
        self.map.commit_recovery(nand, &recovered)
    }
}

impl Ftl for PageMapped {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            self.make_room(nand)?;
            let most = run.pages - index;
            index += self.map.write(nand, run, index, most, &mut self.host, page_kind::DATA)?;
        }
        self.map.write_next(nand, next, &mut self.host)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let frontiers: Vec<Frontier> = [Some(self.host), self.gc].into_iter().flatten().collect();
        self.map.audit(nand, &frontiers, RESERVE)
    }

    fn report(&self) -> Report {
        let figures = vec![("gc_victims", Metric::Count(self.victims_taken))];
        Report { figures, ..self.map.report() }
    }

    fn reset_report(&mut self) {
        self.victims_taken = 0;
    }
}
