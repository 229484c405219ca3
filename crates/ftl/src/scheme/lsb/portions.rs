//! Portions of lsb: pages of one logical block that are written together, and their roles.

use nand::{Cause, Lpn, Nand, Ppn};

use super::Lsb;
use super::group_chains::Role;
use crate::contract::Result;
use crate::part::map::rmw;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_mapped::PageSource;

impl Lsb {
    /// Writes a portion: ascending pages of one logical block. There must be room for it.
    pub(super) fn write_portion(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        pages: &[Lpn],
    ) -> Result<()> {
        let (&last, before) = pages.split_last().expect("a portion has a page");
        let (needs, room) = (pages.len() as u32, || self.map.room(self.superblock_of(last)));
        debug_assert!(room() >= needs, "{needs} pages up to {last:?} have room for {}", room());
        match nand.array().keeps_pages() {
            true => self.write_one_by_one(nand, source, before, last)?,
            false => self.write_at_once(nand, source, before, last)?,
        }
        let to = self.map.next(nand, self.superblock_of(last))?;
        let role = match self.last_fits(nand, before, last, to) {
            true => Role::Directory,
            false => self.make_fit(nand, source, last)?,
        };
        self.write_page(nand, source, last, role)?;
        // Later pages refer to these.
        nand.barrier();
        Ok(())
    }

    /// The role of page `at` of a portion. The last page, which is not in `before`, is the PMD
    /// page.
    pub(super) fn role(&self, before: &[Lpn], last: Lpn, at: usize) -> Role {
        let group = |lpn| self.chains.group_of(lpn);
        let next = before.get(at + 1).copied();
        match (next, group(before[at])) {
            (None, own) if own == group(last) => Role::Table { but: Some(last) },
            (None, _) => Role::Table { but: None },
            (Some(next), own) if own != group(next) => Role::Table { but: None },
            _ => Role::Plain,
        }
    }

    fn write_one_by_one(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        before: &[Lpn],
        last: Lpn,
    ) -> Result<()> {
        for (at, &lpn) in before.iter().enumerate() {
            self.write_page(nand, source, lpn, self.role(before, last, at))?;
        }
        Ok(())
    }

    /// Writes the same pages if the chip keeps no spare areas: in as few steps as blocks allow.
    fn write_at_once(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        before: &[Lpn],
        last: Lpn,
    ) -> Result<()> {
        let mut rest = before;
        while let Some(&first) = rest.first() {
            let superblock = self.superblock_of(first);
            let to = self.map.next(nand, superblock)?;
            let most = rest.len().min(self.map.blocks.room(superblock) as usize);
            let done = self.program_some(nand, source, &rest[..most], to)?;
            let (written, later) = rest.split_at(done);
            for (ppn, &lpn) in (to.0..).map(Ppn).zip(written) {
                self.map.supersede(nand, lpn, ppn);
                if matches!(source, PageSource::Host(_)) {
                    self.map.flat.note_written(lpn);
                }
            }
            self.map.blocks.fill(nand.geometry(), superblock, done as u32);
            rest = later;
        }
        for (at, &lpn) in before.iter().enumerate() {
            let block = nand.geometry().block_of(self.map.flat.entry(lpn.0));
            self.chains.note(lpn, block, self.role(before, last, at));
        }
        Ok(())
    }

    /// Programs pages of a portion, to `to` and the pages after it. Returns how many.
    fn program_some(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        pages: &[Lpn],
        to: Ppn,
    ) -> Result<usize> {
        match source {
            PageSource::Host(run) => {
                let part = (run, pages[0].0 - run.first.0, pages.len() as u32);
                let newest = |lpn| self.map.flat.newest(lpn);
                Ok(rmw::program(nand, part, to, page_kind::DATA, newest)? as usize)
            }
            PageSource::Copy(cause) => {
                self.map.copy(nand, pages, to, cause)?;
                Ok(pages.len())
            }
        }
    }

    /// Writes one page with its spare area.
    fn write_page(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        role: Role,
    ) -> Result<()> {
        let superblock = self.superblock_of(lpn);
        let to = self.map.next(nand, superblock)?;
        let old = self.map.supersede(nand, lpn, to);
        self.map.blocks.fill(nand.geometry(), superblock, 1);
        self.chains.note(lpn, nand.geometry().block_of(to), role);
        if role.is_directory() {
            self.map.set_directory(lpn);
        }
        if nand.array().keeps_pages() {
            let (geometry, flat) = (nand.geometry(), &self.map.flat);
            self.chains.compose(geometry, flat, lpn, role, &mut self.bytes);
        }
        self.map.program(nand, source, lpn, [old, to], role.kind(), &self.bytes)
    }

    /// Whether the entries of a portion's last page fit a PMD page at `to`. They do if the page
    /// before it, a PT page, is of the same group.
    #[inline(always)]
    pub(super) fn last_fits(&mut self, nand: &Nand, before: &[Lpn], last: Lpn, to: Ppn) -> bool {
        let (geometry, page) = (nand.geometry(), self.chains.page(last));
        let has_table = before.last().is_some_and(|&lpn| self.chains.group_of(lpn) == page.group);
        has_table || self.chains.fits(geometry, &self.map.flat, page, geometry.block_of(to))
    }

    /// Makes the entries of a PMD page fit that refer to too many blocks: copies the PT page of its
    /// group first, or makes it a wide PMD page. Returns its role.
    pub(super) fn make_fit(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
    ) -> Result<Role> {
        if self.is_tight && matches!(source, PageSource::Copy(Cause::Gc)) {
            self.tight.pages += 1;
            return Ok(Role::WideDirectory);
        }
        let table = self.chains.table_to_copy(&self.map.flat, lpn);
        let table = table.expect("entries that do not fit refer to another page of their group");
        self.map.counts.mapping_writes += 1;
        self.finish_copies(nand)?;
        self.write_page(nand, PageSource::Copy(Cause::Map), table, Role::Table { but: Some(lpn) })?;
        Ok(Role::Directory)
    }
}
