//! tpcc_drift: the transactions of TPC-C on their tables, below a buffer with checkpoints.
//!
//! ```text
//! space    | w d | customer | history | orders | new_order | order_line | stock |
//! changed          random     at the append points: drift               random
//!            └──────────────────────▼────────────────────────────────────┘
//!                  dirty pages, 1 % of the space: the oldest is written back
//! ```
//!
//! Each table lies in the order of its keys, in pages of 2 KiB, as in the database of the FASTer
//! paper (§III.A). The standard gives rows, their sizes, the mix of transactions and the
//! distribution of the keys, and the skew follows from them. Three things are not in the standard:
//!
//! * The tables that grow have room for half as many rows again as were loaded, so a warehouse has
//!   79 MiB. With this room, writes touch 75 % of the data blocks, as in the paper (§V.B). When the
//!   room of a district is full, new rows replace the oldest.
//! * The number of warehouses is that for which the tables fill the space. In a space that is no
//!   whole number of warehouses, each has slightly more or fewer rows.
//! * A page that becomes dirty is written back when 1 % of the space became dirty after it. This is
//!   the shortest write interval of a page: 42,000 page writes for 8 GiB. FASTer's hot page has
//!   intervals below 100,000 (Fig. 3). A smaller buffer gives more writes to the hottest pages, but
//!   then fewer pages are written; docs/workloads.md has the figures.
//!
//! Simplifications: an order has ten lines; all districts have the same number of orders; rows of
//! other warehouses, which 1 % of the lines and 15 % of the payments concern, are not chosen
//! separately, since all warehouses are equally likely anyway. There are no indexes, and no log of
//! changes (the paper traced the disk of the data).

use spec::{Kind, Param, Params};

use crate::generate::checkpoint_queue::CheckpointQueue;
use crate::generate::params::{ARRIVALS, INTERARRIVAL, READS, REQUESTS, SEED, SPACE, WRITES};
use crate::generate::random::Random;
use crate::generate::weighted_choice::WeightedChoice;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "tpcc_drift",
    summary: "TPC-C's transactions on their tables, below a buffer with checkpoints",
    source: "FASTer paper, §III.A and V.B; TPC-C standard, §1.2, 2.1.6, 2.4 to 2.7",
    params: &[ALL_WRITES, REQUESTS, LOOK_UPS, DATABASE_SPACE, DIRTY, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

const ALL_WRITES: Param = Param { default: "4M", ..WRITES };
const LOOK_UPS: Param = Param {
    doc: "the share of the requests that are reads; they look up rows by the keys of the writes",
    ..READS
};
const DATABASE_SPACE: Param = Param { default: "8GiB", ..SPACE };
const DIRTY: Param = Param {
    name: "dirty",
    kind: Kind::Share,
    default: "1%",
    unit: "of the space",
    doc: "the share of the pages that wait in the buffer before the oldest is written back",
};

/// The page of the paper's database.
const PAGE_BYTES: u64 = 2048;

fn placement(params: &Params, device: &AddressSpace) -> PlacementResult {
    let (space, capacity) = (params.size(SPACE.name), device.capacity_bytes);
    if space > capacity {
        return Err(format!("space={space} is more than the {capacity} bytes of the device"));
    }
    let pages = space / PAGE_BYTES;
    let database = Database::new(pages).ok_or_else(|| {
        format!("space={space} is too small for a hundredth of a warehouse, which has 79 MiB")
    })?;
    let buffer = CheckpointQueue::new(params.share(DIRTY.name).floor_of(pages));
    Ok(Box::new(TpccDrift { database, buffer }))
}

struct TpccDrift {
    database: Database,
    buffer: CheckpointQueue,
}

impl Placement for TpccDrift {
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let page = match op {
            Op::Read => self.database.look_up(random),
            _ => self.write_back(random),
        };
        (page * PAGE_BYTES, PAGE_BYTES)
    }
}

impl TpccDrift {
    /// Runs transactions until a page has to be written back.
    fn write_back(&mut self, random: &mut Random) -> u64 {
        loop {
            if let Some(page) = self.buffer.write_back() {
                return page;
            }
            self.database.transact(&mut self.buffer, random);
        }
    }
}

/// A table in the order of its keys. Each owner, a warehouse or a district, has a run of rows.
#[derive(Clone, Copy)]
struct Table {
    first_page: u64,
    rows_each: u64,
    rows_per_page: u64,
}

impl Table {
    /// The page of a row; rows beyond the last replace the first ones.
    fn page(&self, owner: u64, row: u64) -> u64 {
        let place = owner * self.rows_each + row % self.rows_each;
        self.first_page + place / self.rows_per_page
    }
}

#[derive(Clone, Copy)]
enum Transaction {
    NewOrder,
    Payment,
    Delivery,
}

/// The standard's mix (§5.2.3), without the two transactions that change nothing.
const MIX: [(u64, Transaction); 3] =
    [(45, Transaction::NewOrder), (43, Transaction::Payment), (4, Transaction::Delivery)];

/// A warehouse of the standard: 30,000 customers three a page, 100,000 stock rows six a page, and
/// the tables that grow, with their room.
const WAREHOUSE_PAGES: u64 = 40_432;
const TABLES: u64 = 8;
const DISTRICTS: u64 = 10;
const LINES: u64 = 10;
const LAST_NAMES: u64 = 1000;

struct Tables {
    warehouse: Table,
    district: Table,
    customer: Table,
    history: Table,
    orders: Table,
    new_order: Table,
    order_line: Table,
    stock: Table,
}

/// The tables, and how far they have grown.
struct Database {
    mix: WeightedChoice<Transaction>,
    districts: u64,
    tables: Tables,
    /// The orders of a district that were loaded.
    loaded: u64,
    /// Counts since the start, of all districts together.
    ordered: u64,
    paid: u64,
    delivered: u64,
}

impl Database {
    /// A database that fills `pages` pages, unless it would be too small.
    fn new(pages: u64) -> Option<Database> {
        if pages < WAREHOUSE_PAGES / 100 {
            return None;
        }
        let warehouses = (pages.saturating_add(WAREHOUSE_PAGES / 2) / WAREHOUSE_PAGES).max(1);
        let districts = warehouses * DISTRICTS;
        // Each table may have begun a page more.
        let (room, whole) = (pages - TABLES - 1, warehouses * WAREHOUSE_PAGES);
        let scaled = |rows: u64| (u128::from(rows) * u128::from(room) / u128::from(whole)) as u64;
        let loaded = scaled(3000);

        let mut first_page = 0;
        let mut table = |owners: u64, rows_each: u64, row_bytes: u64| {
            let table = Table { first_page, rows_each, rows_per_page: PAGE_BYTES / row_bytes };
            first_page += (owners * rows_each).div_ceil(table.rows_per_page);
            table
        };
        let tables = Tables {
            warehouse: table(warehouses, 1, 89),
            district: table(districts, 1, 95),
            customer: table(districts, loaded, 655),
            history: table(1, districts * (loaded * 3 / 2), 46),
            orders: table(districts, loaded * 3 / 2, 24),
            new_order: table(districts, loaded * 9 / 20, 8),
            order_line: table(districts, loaded * 3 / 2 * LINES, 54),
            stock: table(warehouses, scaled(100_000), 306),
        };
        assert!(first_page <= pages, "the tables take {first_page} of {pages} pages");
        let mix = WeightedChoice::new(MIX.into_iter());
        Some(Database { mix, districts, tables, loaded, ordered: 0, paid: 0, delivered: 0 })
    }

    /// Runs a transaction; `buffer` learns which pages it changes.
    fn transact(&mut self, buffer: &mut CheckpointQueue, random: &mut Random) {
        let district = random.below(self.districts);
        match self.mix.draw(random) {
            Transaction::NewOrder => self.order(buffer, district, random),
            Transaction::Payment => self.pay(buffer, district, random),
            Transaction::Delivery => self.deliver(buffer, district / DISTRICTS, random),
        }
    }

    /// A new order of ten lines (§2.4).
    fn order(&mut self, buffer: &mut CheckpointQueue, district: u64, random: &mut Random) {
        let order = self.loaded + self.ordered / self.districts;
        self.ordered += 1;
        buffer.change(self.tables.district.page(district, 0));
        self.change_order(buffer, district, order);
        for _ in 0..LINES {
            buffer.change(self.stock_page(district, random));
        }
    }

    /// A payment (§2.5).
    fn pay(&mut self, buffer: &mut CheckpointQueue, district: u64, random: &mut Random) {
        let payment = self.loaded * self.districts + self.paid;
        self.paid += 1;
        buffer.change(self.tables.warehouse.page(district / DISTRICTS, 0));
        buffer.change(self.tables.district.page(district, 0));
        buffer.change(self.customer_page(district, random));
        buffer.change(self.tables.history.page(0, payment));
    }

    /// Delivers the oldest new order of each district of a warehouse (§2.7). Three tenths of the
    /// loaded orders are new.
    fn deliver(&mut self, buffer: &mut CheckpointQueue, warehouse: u64, random: &mut Random) {
        let order =
            self.loaded - self.loaded * 3 / 10 + self.delivered * DISTRICTS / self.districts;
        self.delivered += 1;
        for district in warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS {
            self.change_order(buffer, district, order);
            buffer.change(self.customer_page(district, random));
        }
    }

    /// Changes an order with its lines, and its entry among the new orders.
    fn change_order(&self, buffer: &mut CheckpointQueue, district: u64, order: u64) {
        buffer.change(self.tables.new_order.page(district, order));
        buffer.change(self.tables.orders.page(district, order));
        buffer.change(self.tables.order_line.page(district, order * LINES));
        buffer.change(self.tables.order_line.page(district, order * LINES + LINES - 1));
    }

    /// The page of a row that a transaction looks up: ten of stock for each customer.
    fn look_up(&self, random: &mut Random) -> u64 {
        let district = random.below(self.districts);
        match random.below(LINES + 1) {
            ..LINES => self.stock_page(district, random),
            _ => self.customer_page(district, random),
        }
    }

    /// The page of an item's stock in the warehouse of a district.
    fn stock_page(&self, district: u64, random: &mut Random) -> u64 {
        self.tables
            .stock
            .page(district / DISTRICTS, nurand(8191, self.tables.stock.rows_each, random))
    }

    /// Six of ten customers are found by their last name. Three have the same name, and the middle
    /// one is taken.
    fn customer_page(&self, district: u64, random: &mut Random) -> u64 {
        let customer = match random.below(10) {
            ..6 => {
                let name = nurand(255, LAST_NAMES, random);
                name + LAST_NAMES * (name % 3)
            }
            _ => nurand(1023, self.tables.customer.rows_each, random),
        };
        self.tables.customer.page(district, customer)
    }
}

/// The standard's non-uniform random numbers (§2.1.6) below `count`. Its constant C only rotates
/// them, so it is 0.
fn nurand(mask: u64, count: u64, random: &mut Random) -> u64 {
    (random.below(mask + 1) | random.below(count)) % count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{assert_fingerprint, assert_refused, requests};

    const PAGES: u64 = (64 << 20) / PAGE_BYTES;

    fn written_pages(keys: &str) -> Vec<u64> {
        let made = requests(&format!("tpcc_drift:space=64MiB,{keys}"), 1);
        made.iter().map(|request| request.offset / PAGE_BYTES).collect()
    }

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 2_684_776_439_855_095_947);
    }

    #[test]
    fn the_tables_fill_every_space() {
        for pages in (405..1000).chain([40_432, 60_647, 60_648, 4 << 20, u64::MAX / 512]) {
            let database = Database::new(pages).unwrap();
            let stock = &database.tables.stock;
            let end = stock.page(database.districts / DISTRICTS - 1, stock.rows_each - 1) + 1;
            let unused = (pages - end) as f64 / pages as f64;
            assert!(end <= pages && unused < 0.05, "{pages} pages: {unused} of them unused");
            assert!(pages < 40_000 || unused < 0.001, "{pages} pages: {unused} of them unused");
        }
        assert_refused(&[
            ("tpcc_drift", "workload tpcc_drift: space=8589934592 is more than the 67108864"),
            ("tpcc_drift:space=800KiB", "workload tpcc_drift: space=819200 is too small"),
        ]);
    }

    #[test]
    fn a_page_is_written_again_only_after_the_queue_has_moved_on() {
        let mut last = rustc_hash::FxHashMap::default();
        let mut shortest = u64::MAX;
        for (now, page) in written_pages("writes=30K").into_iter().enumerate() {
            if let Some(before) = last.insert(page, now as u64) {
                shortest = shortest.min(now as u64 - before - 1);
            }
        }
        // 1 % of the pages wait, and a transaction dirties up to 66 at once.
        let waiting = PAGES / 100;
        assert!((waiting..waiting + 66).contains(&shortest), "{shortest} for {waiting}");
    }

    #[test]
    fn append_points_move_through_their_tables() {
        let database = Database::new(PAGES).unwrap();
        let tables = &database.tables;
        let (history, next) = (tables.history.first_page, tables.orders.first_page);
        let written = written_pages("writes=60K");
        let appended: Vec<_> =
            written.into_iter().filter(|page| (history..next).contains(page)).collect();
        assert!(appended.is_sorted());
        let loaded = database.loaded * database.districts / database.tables.history.rows_per_page;
        let moved = appended[appended.len() - 1] - appended[0];
        assert_eq!(appended[0], history + loaded);
        assert!((90..130).contains(&moved), "{moved} pages");
    }

    #[test]
    fn new_rows_replace_the_oldest_when_the_room_is_full() {
        let table = Table { first_page: 70, rows_each: 85, rows_per_page: 85 };
        assert_eq!(
            [(0, 84), (0, 85), (3, 84), (3, 170)].map(|(o, r)| table.page(o, r)),
            [70, 70, 73, 73]
        );
    }

    /// The standard's two distributions: their bits are ones with a probability of 3/4.
    #[test]
    fn keys_are_skewed_as_the_standard_says() {
        let mut random = Random::new(1);
        let ones: u32 =
            (0..10_000).map(|_| nurand(255, 1 << 20, &mut random) as u8).map(u8::count_ones).sum();
        assert!((59_500..60_500).contains(&ones), "{ones} of 80,000 bits");
        let below = (0..10_000).all(|_| nurand(8191, 100_000, &mut random) < 100_000);
        assert!(below);
    }
}
