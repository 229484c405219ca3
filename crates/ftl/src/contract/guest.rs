//! FTLs from outside: what a guest declares, what it is asked, and the chip that it is lent.
//!
//! This is the contract of `include/ftlab.h`, in Rust. A guest maps pages of a size of its own
//! choice, and keeps what it must remember in data and spare areas. It sees statuses instead of
//! errors, and everything that it gets wrong is reported, not believed.

use core::fmt::{self, Debug};

use nand::{Cause, Geometry, ProgramOrder};
use spec::named_enum;

/// Where a guest comes from: a shared object, or a class. Each mount gets a new instance, without
/// any memory of earlier ones.
pub trait GuestSource: Debug + Send + Sync {
    /// What the guest says about itself.
    fn declaration(&self) -> &Declaration;

    /// Mounts the guest on the flash of this chip.
    ///
    /// # Errors
    /// What the guest answered instead of `ok`.
    fn mount(
        &self,
        chip: &mut dyn GuestChip,
        device: &GuestDevice,
    ) -> Result<Box<dyn Guest>, Answer>;

    /// Whether a guest can end or damage the process in which it is called.
    fn needs_process(&self) -> bool {
        true
    }
}

/// What a guest says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name, for results and messages.
    pub name: String,
    /// Its version; empty if it has none.
    pub release: String,
    /// What it keeps when the power fails.
    pub promise: Promise,
    /// What a power cut may leave that it means to survive, in the bits of `FTLAB_CUT_…`.
    pub cuts: u32,
    /// Bytes of a page of the host, a multiple of a sector; 0 for a page of the chip.
    pub host_page_bytes: u32,
    /// Bytes of each spare area that it uses; 0 for as many as there are.
    pub spare_bytes: u32,
    /// Whether trimmed pages read as zero.
    pub trims: bool,
    /// Whether it handles blocks and operations that fail. Else they are replaced below it.
    pub handles_failures: bool,
}

named_enum! {
    /// What a guest keeps when the power fails.
    pub enum Promise: "promise" {
        /// What was answered before the last flush; of later requests each sector for itself.
        Flush = "flush",
        /// Everything that was answered.
        Write = "write",
        /// The whole device as it was at the last flush, or at the one under way.
        Snapshot = "snapshot",
    }
}

/// The device that a guest has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestDevice {
    /// Whether the chip comes from the factory, erased everywhere.
    pub is_new: bool,
    /// Number of pages that the host sees, in pages of the guest.
    pub logical_pages: u32,
    /// Bytes of such a page.
    pub host_page_bytes: u32,
    /// Seed of everything that the guest draws at random.
    pub seed: u64,
    /// Its parameters: keys and values, as the user wrote them.
    pub parameters: Vec<(String, String)>,
}

/// A mounted guest. Pages are those of the guest's size; buffers have their size times their
/// number. Runs lie within the device.
pub trait Guest: Send {
    /// Reads pages. Pages that were never written, or were trimmed, read as zero.
    fn read(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32, data: &mut [u8])
    -> Answer;

    /// Writes pages: one request of the host, or a part of one.
    fn write(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32, data: &[u8]) -> Answer;

    /// Forgets pages. It is called only if the guest [trims](Declaration::trims).
    fn trim(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32) -> Answer;

    /// Makes everything that was answered durable.
    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer;

    /// Number of pages that the host can have; none if the guest does not say.
    fn capacity(&self) -> Option<u32> {
        None
    }

    /// Bytes of RAM that a controller would need; none if the guest does not say.
    fn ram(&self) -> Option<u64> {
        None
    }

    /// Its own figures by name.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Checks its own data structures: a sentence if something is wrong.
    fn audit(&self) -> Option<String> {
        None
    }
}

/// The chip as a guest sees it. Operations are counted under the cause that the guest names. If it
/// names none, the cause is meta during a mount, host if the data are in the host's buffer, and
/// else gc. A command that breaks a rule of flash changes nothing; it is
/// recorded, and an error of the request in which it came.
pub trait GuestChip {
    /// Sizes of the chip.
    fn shape(&self) -> &ChipShape;

    /// Reads bytes of a page from `offset` on, and its whole spare area.
    fn read(
        &mut self,
        page: u32,
        offset: u32,
        data: &mut [u8],
        spare: Option<&mut [u8]>,
        cause: Option<Cause>,
    ) -> Status;

    /// Programs a page. Without data it is zero, without a spare area that is 0xFF.
    fn program(
        &mut self,
        page: u32,
        data: Option<&[u8]>,
        spare: Option<&[u8]>,
        cause: Option<Cause>,
    ) -> Status;

    /// Copies a page; a new spare area replaces the old one.
    fn copy(&mut self, from: u32, to: u32, spare: Option<&[u8]>, cause: Option<Cause>) -> Status;

    /// Erases a block.
    fn erase(&mut self, block: u32, cause: Option<Cause>) -> Status;

    /// Waits until all dies are idle.
    fn barrier(&mut self) -> Status;

    /// Whether a block is bad.
    fn is_bad(&mut self, block: u32) -> bool;

    /// Marks a block as bad.
    fn mark_bad(&mut self, block: u32) -> Status;

    /// Records a fault of the guest. Returns the status of an operation that it prevents.
    fn fault(&mut self, kind: GuestFaultKind, sentence: &str) -> Status;

    /// Says why the call under way will fail.
    fn say(&mut self, sentence: &str);
}

/// Sizes of the chip that a guest is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipShape {
    /// Number of blocks.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a data area.
    pub page_bytes: u32,
    /// Bytes of a spare area that the guest may use.
    pub spare_bytes: u32,
    /// Number of dies.
    pub dies: u32,
    /// Bits of a cell.
    pub bits_per_cell: u32,
    /// How far pages that share cells are apart.
    pub pair_distance: u32,
    /// The order in which pages of a block are programmed: the number of an `ftlab_order`.
    pub program_order: u32,
}

impl ChipShape {
    /// The most flash operations that a call of the guest may make: more than emptying the whole
    /// device several times takes.
    pub fn operations_max(&self) -> u64 {
        const PER_PAGE: u64 = 64;
        const MORE: u64 = 10_000;
        PER_PAGE * u64::from(self.blocks) * u64::from(self.pages_per_block) + MORE
    }

    /// The chip as a guest gets it that declares this.
    pub fn of(geometry: &Geometry, declaration: &Declaration) -> ChipShape {
        let pairing = geometry.pairing();
        ChipShape {
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block(),
            page_bytes: geometry.page_bytes(),
            spare_bytes: match declaration.spare_bytes {
                0 => geometry.scheme_bytes(),
                bytes => bytes,
            },
            dies: geometry.dies(),
            bits_per_cell: pairing.bits,
            pair_distance: pairing.distance,
            program_order: match geometry.program_order() {
                ProgramOrder::Sequential => 0,
                ProgramOrder::Ascending => 1,
                ProgramOrder::Any => 2,
            },
        }
    }
}

/// What a guest answers to a call: a status, or a number that is none.
pub type Answer = core::result::Result<Status, u32>;

named_enum! {
    /// The result of a call, in either direction. The numbers are those of `ftlab_status`.
    pub enum Status: "status" {
        /// It is done.
        Ok = "ok",
        /// The page reads as erased.
        Erased = "erased",
        /// The data are right, and should be moved.
        Corrected = "corrected",
        /// Error correction failed.
        Unreadable = "unreadable",
        /// The program or erase failed.
        Failed = "failed",
        /// The power is lost.
        PowerLost = "power lost",
        /// The call breaks a rule of flash.
        Illegal = "illegal",
        /// The device takes no more writes.
        ReadOnly = "read-only",
        /// A parameter is wrong.
        Invalid = "invalid",
        /// What is on flash cannot be right.
        Corrupt = "corrupt",
        /// There is no memory left.
        NoMemory = "no memory",
        /// The call has made too many flash operations.
        Endless = "endless",
    }
}

impl Status {
    /// The status with this number.
    ///
    /// # Errors
    /// There is none.
    pub fn of_number(number: u32) -> Answer {
        Status::ALL.get(number as usize).copied().ok_or(number)
    }
}

/// What a guest did wrong, or could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFault {
    /// The name of the guest.
    pub guest: String,
    /// The kind of fault.
    pub kind: GuestFaultKind,
    /// What happened.
    pub sentence: String,
}

/// Kinds of faults of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestFaultKind {
    /// It gave the chip an illegal command.
    Illegal,
    /// A call made more flash operations than any may.
    Endless,
    /// It cannot read the data of a request. It goes on.
    Unreadable,
    /// It refused a request or a mount.
    Refused,
    /// It can make no room: the device takes no more writes, and can be read.
    ReadOnly,
    /// It refused its parameters or the device.
    Invalid,
    /// It broke the contract: an answer that does not exist, or an audit that failed.
    Broken,
    /// It died: its process crashed, ended or was stopped.
    Died,
}

impl fmt::Display for GuestFault {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "guest `{}` {}", self.guest, self.sentence)
    }
}
