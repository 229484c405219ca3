#!/usr/bin/env python3
"""Extracts the logical disk of an image file of ftlab, without ftlab.

It reads images of the scheme `page` without layers, also those that were not closed in order, and
never writes to them. It follows SPEC.md and was written from it alone, to prove that SPEC.md is
complete. What it cannot read is refused with a sentence and exit code 1; damaged data are zeroes.
"""

import argparse
import itertools
import mmap
import os
import struct
import sys
import zlib
from collections import namedtuple

SUPERBLOCK, FRAME, SECTOR = 4096, 512, 512  # bytes
PROGRAM, ERASE, HEALTH, HALF_ERASE, DECAY = range(1, 6)  # kinds of operations
ERASED, GOOD, TORN, PARTIAL, UNSTABLE, DATA_LOST = range(6)  # health of a page
DATA, LIST = 1, 0xF0  # kinds of pages
RECORD, BITMAP, VOID_LIST = range(3)  # types of pages of the trim log

Frame = namedtuple("Frame", "generation first durable operations")
Operation = namedtuple("Operation", "number kind health place slot checksum")
Page = namedtuple("Page", "place ppn scheme_bytes owner version sequence kind tentative")


def require(condition, otherwise):
    if not condition:
        raise ValueError(otherwise)


def number(raw, first, last):
    """The number in these bytes, both included."""
    return int.from_bytes(raw[first : last + 1], "little")


def aligned(size, unit=4096):
    return -(-size // unit) * unit


def checksum(raw):
    return zlib.crc32(raw) * 0x9E3779B1 % 2**32


class Superblock:
    NUMBERS = """generation operation table table_checksum flags spare_slots frames page_bytes
        spare_bytes pages_per_block blocks program_order bits_per_cell distance further_dies
        capacity seed"""

    def __init__(self, raw):
        self.fields = {"uuid": raw[16:32].hex()}
        self.fields |= zip(self.NUMBERS.split(), struct.unpack_from("<QQ13I12xQQ", raw, 32))
        at = 128
        for name in ("chip", "scheme", "layers", "parameters", "media"):
            end = at + 2 + number(raw, at, at + 1)
            self.fields[name], at = raw[at + 2 : end].decode(), end
        self.__dict__.update(self.fields)
        words = self.media.split()
        reserve = words[words.index("--reserve") + 1] if words else "0blocks"
        others = int(reserve.removesuffix("blocks")) + 4 if words else 0
        self.pages = (self.blocks - others) * self.pages_per_block  # those that the FTL numbers
        self.table_bytes = (12 + self.pages_per_block) * self.blocks
        self.journal = 2 * SUPERBLOCK + 2 * aligned(self.table_bytes)
        self.slots = aligned(self.journal + FRAME * self.frames)
        self.record_bytes = aligned(32 + self.spare_bytes, 8)
        self.data_start = aligned(self.record_bytes * self.pages_per_block)
        self.slot_bytes = self.data_start + aligned(self.page_bytes * self.pages_per_block)
        self.file_bytes = self.slots + (self.blocks + self.spare_slots) * self.slot_bytes


def superblock(image):
    """The superblock that counts."""
    both = [image[at : at + SUPERBLOCK] for at in (0, SUPERBLOCK)]
    named = [raw for raw in both if raw[:8] == b"ftlabIMG" and len(raw) == SUPERBLOCK]
    require(named, "it is no image of ftlab")
    whole = [raw for raw in named if number(raw, 12, 15) == checksum(raw[:12] + raw[16:])]
    require(whole, "its superblocks are damaged")
    newest = max(whole, key=lambda raw: number(raw, 32, 39))
    require(number(newest, 8, 11) == 2, "its format has another version than 2")
    found = Superblock(newest)
    require(len(image) == found.file_bytes, f"it has {len(image)} bytes, not {found.file_bytes}")
    return found


def parse_frame(raw):
    """A frame of the journal, or None."""
    if raw[:4] != b"FJRN" or number(raw, 4, 7) != checksum(raw[8:]):
        return None
    generation, first, durable, count = struct.unpack_from("<QQQI", raw, 8)
    rows = enumerate(struct.iter_unpack("<BBxxIII", raw[48 : 48 + 16 * count]), first)
    return Frame(generation, first, durable, [Operation(i, *row) for i, row in rows])


class Chip:
    """The chip in an image: the slot of each block, and the health of each page."""

    def __init__(self, image, layout):
        self.image, self.layout = image, layout
        start = 2 * SUPERBLOCK + layout.table * aligned(layout.table_bytes)
        table = image[start : start + layout.table_bytes]
        require(checksum(table) == layout.table_checksum, "its block table is damaged")
        entries = 12 * layout.blocks
        self.slots = [number(table, at, at + 3) for at in range(0, entries, 12)]
        self.health = bytearray(table[entries:])
        self.behind = {}  # the block behind each number that has not its own
        self.replay()
        self.behind = self.moves()

    def replay(self):
        """Applies the operations of the journal that count."""
        image, layout = self.image, self.layout
        starts = [layout.journal + i * FRAME for i in range(layout.frames)]
        frames = [parse_frame(image[at : at + FRAME]) for at in starts]
        newest = max((frame.generation for frame in frames if frame), default=0)
        require(newest <= layout.generation, "its newest superblock is damaged")
        own = [frame for frame in frames if frame and frame.generation == layout.generation]
        durable = max((frame.durable for frame in own), default=layout.operation)
        row = []
        for frame in frames:
            if not frame or frame[:2] != (layout.generation, layout.operation + 1 + len(row)):
                break
            row += frame.operations
        require(durable <= layout.operation + len(row), "its journal is damaged")
        for operation in row:
            unsure = operation.kind == PROGRAM and operation.number > durable
            if unsure and not self.is_whole(operation):
                break
            self.apply(operation)

    def is_whole(self, program):
        """Whether the page of a program has reached the disk."""
        place = program.slot, program.place % self.layout.pages_per_block
        record = self.record(place)
        names = record and (number(record, 16, 19), number(record, 0, 3))
        return names == (program.place, program.checksum) and self.data(place) is not None

    def apply(self, operation):
        size, place = self.layout.pages_per_block, operation.place
        if operation.kind == PROGRAM:
            self.slots[place // size] = operation.slot
        if operation.kind in (PROGRAM, HEALTH):
            self.health[place] = operation.health
        elif operation.kind == ERASE:
            self.slots[place] = None
            self.health[place * size : (place + 1) * size] = bytes(size)
        elif operation.kind == DECAY:
            self.health = self.health.replace(bytes([UNSTABLE]), bytes([TORN]))

    def record(self, place):
        """The record at this place, a slot and the number of a page in its block, or None."""
        slot, page = place
        start, size = self.layout.slots + slot * self.layout.slot_bytes, self.layout.record_bytes
        record = self.image[start + page * size : start + (page + 1) * size]
        return record if number(record, 0, 3) == checksum(record[4:]) else None

    def data(self, place):
        """The data area at this place, or None. The record must be whole."""
        (slot, page), size = place, self.layout.page_bytes
        start = self.layout.slots + slot * self.layout.slot_bytes + self.layout.data_start
        data = self.image[start + page * size : start + (page + 1) * size]
        return data if number(self.record(place), 4, 7) == checksum(data) else None

    def metadata(self, page):
        """The metadata of the FTL in this page."""
        data, sectors = self.data(page.place), number(self.record(page.place), 24, 31)
        require(data is not None, f"page {page.ppn} of its flash, in the trim log, is damaged")
        starts = range(0, self.layout.page_bytes, SECTOR)
        return b"".join(data[at : at + SECTOR] for at in starts if sectors >> at // SECTOR & 1)

    def moves(self):
        """What the list of moves says: for each number that has moved, the block behind it."""
        size, newest = self.layout.pages_per_block, (0, {})
        for block in range(self.layout.pages // size, self.layout.blocks):
            erased = (at for at in range(size) if self.reads_as_erased(block * size + at))
            used = next(erased, size)
            pages = [self.page(block * size + at) for at in range(used)]
            if used and pages[0] and pages[0].kind != LIST:
                continue
            lists = [page and page.place and page.kind == LIST and self.metadata(page) for page in pages]
            for start in range(used):
                newest = max(newest, self.list_of_moves(lists[start:]), key=lambda found: found[0])
        return newest[1]

    def list_of_moves(self, pages):
        """The version and the moves of a list that begins here and has something behind it."""
        entries, parts = [], itertools.takewhile(bool, pages[:-1])
        for at, raw in enumerate(parts):
            magic, version, _, part, total, here = struct.unpack_from("<8sQQIII", raw)
            first = first_version if at else version
            if (magic, part, version) != (b"FTLMOVES", at, first):
                break
            first_version = version
            entries += struct.iter_unpack("<II", raw[36 : 36 + 8 * here])
            if len(entries) == total:
                return version, {number: block for block, number in entries if number < 0xFFFFFFF0}
        return 0, {}

    def place(self, ppn):
        """The page of the chip behind a page that the FTL names."""
        block, in_block = divmod(ppn, self.layout.pages_per_block)
        return self.behind.get(block, block) * self.layout.pages_per_block + in_block

    def reads_as_erased(self, ppn):
        return self.health[self.place(ppn)] in (ERASED, PARTIAL)

    def page(self, ppn):
        """What the spare area says, or None for a page that is unreadable."""
        of_chip = self.place(ppn)
        block, in_block = divmod(of_chip, self.layout.pages_per_block)
        place, health = (self.slots[block], in_block), self.health[of_chip]
        record = self.record(place) if health in (GOOD, UNSTABLE, DATA_LOST) else None
        if not record or number(record, 16, 19) != of_chip:
            return None
        header, scheme_bytes = record[32:52], record[52 : 52 + number(record, 20, 21)]
        crc = zlib.crc32(header[:16] + scheme_bytes + record[16:20])
        if number(header, 16, 19) != crc or header[15] & 0x7F != 2:
            return None
        fields = number(header, 0, 3), number(header, 4, 8), number(header, 9, 13), header[14]
        place = None if health == DATA_LOST else place
        return Page(place, ppn, scheme_bytes, *fields, header[15] > 0x7F)


class TrimLog:
    """What the believed segment of the trim log says."""

    def __init__(self, chip, pages, segments):
        self.chip = chip
        self.trimmed = {}  # LPN: copies with a lower version are dead
        self.void = {}  # PPN: pages with a lower sequence are void
        valid = [found for found in itertools.starmap(self.split, segments) if found]
        believed = max(valid, key=lambda found: found[0][0].sequence, default=([], []))
        proofs = believed[0][-1:] + [page for page in pages if not page.tentative]
        self.completed = max((page.sequence for page in proofs), default=-1)
        for page in believed[0] + believed[1]:
            self.read(page, self.chip.metadata(page))
        self.marks = [page for found in valid for page in found[0] + found[1] if self.counts(page)]

    def is_marked(self, page, shelter):
        """False if the page was programmed after the last mark of a chip with several dies."""
        mark = max((page.sequence for page in self.marks), default=0)
        return not self.chip.layout.further_dies or page.ppn >= shelter or page.sequence <= mark

    def split(self, places, pages):
        """The pages of the checkpoint and those behind it, or None for an invalid segment."""
        count = number(self.chip.metadata(pages[0]), 12, 15) if pages else 0
        if not pages or count >= len(places) or self.chip.reads_as_erased(places[count]):
            return None
        heads = [struct.unpack_from("<4I", self.chip.metadata(page)) for page in pages[:count]]
        numbers = [head[2] for head in heads if head[0] != RECORD and head[3] == count]
        return (pages[:count], pages[count:]) if numbers == [*range(count)] != [] else None

    def counts(self, page):
        """False if the page is void, or if its mount was never completed."""
        is_completed = not page.tentative or page.sequence <= self.completed
        return is_completed and self.void.get(page.ppn, 0) <= page.sequence

    def read(self, page, raw):
        kind, first, second, _ = struct.unpack_from("<4I", raw)
        if kind == BITMAP:
            for lpn in range(first, first + 8 * (len(raw) - 16)):
                bit = raw[16 + (lpn - first) // 8] >> (lpn - first) % 8 & 1
                self.add(self.trimmed, lpn, bit, page.version)
        elif kind == VOID_LIST:
            for void in struct.iter_unpack("<IIQ", raw[16 : 16 + 16 * first]):
                self.add(self.void, *void)
        else:
            ranges = struct.iter_unpack("<II", raw[16 : 16 + 8 * (first + second)])
            for i, (start, count) in enumerate(ranges):
                self.add(self.trimmed if i < first else self.void, start, count, page.sequence)

    @staticmethod
    def add(limits, first, count, limit):
        for page in range(first, first + count):
            limits[page] = max(limit, limits.get(page, 0))


def shelter_blocks(layout):
    """The number of blocks behind the trim log that hold copies of paired pages."""
    size, bits, distance = layout.pages_per_block, layout.bits_per_cell, layout.distance
    change = [0] * (size + 1)
    for page in range(size):
        for up in range(1, page % (bits * distance) // distance + 1):
            change[page - up * distance + 1] += 1
            change[page + 1] -= 1
    copies = max(itertools.accumulate(change))
    return 1 + -(-copies // (size // bits)) if copies else 0


class Disk:
    """The logical disk on a chip."""

    def __init__(self, chip):
        self.chip, self.layout, size = chip, chip.layout, chip.layout.pages_per_block
        found = map(chip.page, range(self.layout.pages))
        self.pages = {page.ppn: page for page in found if page}
        self.logical_pages = self.layout.capacity // self.layout.page_bytes
        room, usable = self.layout.page_bytes - 16, size // self.layout.bits_per_cell
        self.usable = usable
        windows = -(-self.logical_pages // (8 * room))
        void_pages = -(-2 * (self.logical_pages // size) // (room // 16))
        self.segment_pages = -(-2 * (windows + void_pages) // usable) * size
        self.shelter = self.layout.pages - shelter_blocks(self.layout) * size

    def readable(self, first, end):
        return [self.pages[ppn] for ppn in range(first, end) if ppn in self.pages]

    def log_places(self, start):
        """The pages of a segment that are used: with one bit per cell, a block has fewer."""
        size, usable = self.layout.pages_per_block, self.usable
        return [ppn for ppn in range(start, start + self.segment_pages) if ppn % size < usable]

    def valid_pages(self):
        """For each logical page that has data, the page that holds them."""
        starts = [self.shelter - i * self.segment_pages for i in (3, 2, 1)]
        segments = [(self.log_places(at), self.readable(at, at + self.segment_pages)) for at in starts]
        log = TrimLog(self.chip, self.pages.values(), segments)
        counts = lambda page: log.counts(page) and log.is_marked(page, self.shelter)
        self.pages = {ppn: page for ppn, page in self.pages.items() if counts(page)}
        copies = [*self.readable(0, starts[0]), *self.stand_ins()]
        copies.sort(key=lambda page: (page.version, page.sequence))
        alive = (copy for copy in copies if copy.version >= log.trimmed.get(copy.owner, 0))
        return {page.owner: page for page in alive if page.kind == DATA}  # the last one wins

    def stand_ins(self):
        """The copies in the shelter that stand in for their pages."""
        size, outside = self.layout.pages_per_block, self.readable(0, self.shelter)
        for copy in self.readable(self.shelter, self.layout.pages):
            ppn, sequence = number(copy.scheme_bytes, 0, 3), number(copy.scheme_bytes, 4, 8)
            others = (page.sequence for page in outside if page.ppn // size != ppn // size)
            if ppn not in self.pages and all(other <= copy.sequence for other in others):
                yield copy._replace(ppn=ppn, sequence=sequence)


def extract(image, layout, path):
    device = f"{layout.scheme} {layout.layers}".strip()
    require(device == "page", f"it is for `{device}`, not for `page` without layers")
    disk, zeroes, damaged = Disk(Chip(image, layout)), bytes(layout.page_bytes), []
    valid = disk.valid_pages()
    with open(sys.stdout.fileno() if path == "-" else path, "wb") as out:
        for lpn in range(disk.logical_pages):
            page = valid.get(lpn)
            data = page.place and disk.chip.data(page.place) if page else zeroes
            damaged += [] if data else [lpn]
            out.write(data or zeroes)
    require(not damaged, f"the data of these logical pages are damaged: {str(damaged)[1:-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", metavar="IMAGE")
    parser.add_argument("--out", metavar="RAW", help="write the disk to this file, or to `-`")
    parser.add_argument("--info", action="store_true", help="print the fields of the superblock")
    options = parser.parse_args()
    try:
        with open(options.image, "rb") as file:
            image = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        layout = superblock(image)
        if options.info:
            print(*(f"{name:16}{value}" for name, value in layout.fields.items()), sep="\n")
        if options.out:
            same = os.path.exists(options.out) and os.path.samefile(options.image, options.out)
            require(not same, "the disk would be written over it")
            extract(image, layout, options.out)
    except (OSError, ValueError) as why:
        sys.exit(f"{options.image} cannot be read: {why}")


if __name__ == "__main__":
    main()
