//! Portions of lsb: pages of one logical block that are written together, and their roles.

use nand::{Cause, Lpn, Nand, Ppn};

use super::Lsb;
use super::group_chains::{GroupPage, Role};
use crate::contract::Result;
use crate::part::spare::spare_writer::PageSource;

impl Lsb {
    /// Writes a portion: ascending pages of one logical block. There must be room for it. On a chip
    /// that only counts, its pages may wait.
    #[inline(always)]
    pub(super) fn write_portion(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        pages: &[Lpn],
    ) -> Result<()> {
        let (&last, before) = pages.split_last().expect("a portion has a page");
        let room = || self.map.room(self.map.superblock_of_page(last));
        let needs = pages.len() as u32;
        debug_assert!(room() >= needs, "{needs} pages up to {last:?} have room for {}", room());
        for (at, &lpn) in before.iter().enumerate() {
            let to = self.map.next(nand, lpn)?;
            let role = self.role(before, last, at);
            self.write_page(nand, source, lpn, to, role)?;
        }
        let (mut to, page) = (self.map.next(nand, last)?, self.chains.page(last));
        let role = match self.last_fits(nand, before, page, to) {
            true => Role::Directory,
            false => {
                let role = self.make_fit(nand, source, last, to)?;
                to = self.map.next(nand, last)?;
                role
            }
        };
        self.chains.note_directory(page, nand.geometry().block_of(to));
        self.write_noted(nand, source, last, to, role)?;
        self.map.set_directory(last);
        // Later pages refer to these.
        self.map.barrier(nand);
        Ok(())
    }

    /// The role of page `at` of a portion. The last page, which is not in `before`, is the PMD
    /// page.
    #[inline]
    fn role(&self, before: &[Lpn], last: Lpn, at: usize) -> Role {
        let group = |lpn| self.chains.groups.of(lpn);
        let next = before.get(at + 1).copied();
        match (next, group(before[at])) {
            (None, own) if own == group(last) => Role::Table { but: Some(last) },
            (None, _) => Role::Table { but: None },
            (Some(next), own) if own != group(next) => Role::Table { but: None },
            _ => Role::Plain,
        }
    }

    /// Writes a page that is no PMD page to the next place.
    #[inline]
    fn write_page(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        to: Ppn,
        role: Role,
    ) -> Result<()> {
        if let Role::Table { .. } = role {
            self.chains.note_table(self.chains.page(lpn), nand.geometry().block_of(to));
        }
        self.write_noted(nand, source, lpn, to, role)
    }

    /// Writes a page that the chains know already.
    #[inline(always)]
    fn write_noted(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        to: Ppn,
        role: Role,
    ) -> Result<()> {
        let chains = &self.chains;
        self.map.write(nand, source, lpn, to, move |geometry, flat, bytes| {
            chains.compose(geometry, flat, lpn, role, bytes);
            role.kind()
        })
    }

    /// Whether the entries of a portion's last page fit a PMD page at `to`. They do if the page
    /// before it, a PT page, is of the same group.
    #[inline(always)]
    fn last_fits(&mut self, nand: &Nand, before: &[Lpn], last: GroupPage, to: Ppn) -> bool {
        let has_table = before.last().is_some_and(|&lpn| self.chains.groups.of(lpn) == last.group);
        let geometry = nand.geometry();
        has_table || self.chains.fits(geometry, &self.map.flat, last, geometry.block_of(to))
    }

    /// Makes the entries of a PMD page fit that refer to too many blocks: copies the PT page of its
    /// group first, to `to`, or makes it a wide PMD page. Returns its role.
    fn make_fit(&mut self, nand: &mut Nand, source: PageSource, lpn: Lpn, to: Ppn) -> Result<Role> {
        if self.is_tight && matches!(source, PageSource::Move(_)) {
            self.tight.pages += 1;
            return Ok(Role::WideDirectory);
        }
        let table = self.chains.table_to_copy(&self.map.flat, lpn);
        let table = table.expect("entries that do not fit refer to another page of their group");
        self.map.counts.mapping_writes += 1;
        let role = Role::Table { but: Some(lpn) };
        self.write_page(nand, PageSource::Copy(Cause::Map), table, to, role)?;
        Ok(Role::Directory)
    }
}
