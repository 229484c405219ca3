"""What a disk may contain after a failure, kept outside of the disk.

    versions of a page     v1 ── v2 ── v3 ── v4          v2 was answered, then a flush was sent and answered
                                 ▲ durable      ▲ in flight
    after a failure        v2, v3 or v4, nothing older; a part of v4 is allowed while it is in flight

A sector log collects sectors, not pages. Under one, a part of v3 is allowed, too, until it is flushed.

Every sector that a request writes contains its own address and the number of the request. So each sector tells who wrote
it. Requests on one page may overlap in time; then their order is not known. A version is out of date only if a durable
request was sent after this version had been answered.
"""

import dataclasses
import itertools
import struct
from typing import NamedTuple

SECTOR = 512
ZERO = bytes(SECTOR)


@dataclasses.dataclass(slots=True, eq=False)
class Request:
    """A request that changes pages. Times count the events that this process has seen."""

    number: int
    sent: int
    answered: int | None = None
    is_durable: bool = False


class Version(NamedTuple):
    """Contents of a page: for each sector the number of the request that wrote it, 0 for zeros."""

    contents: tuple[int, ...]
    request: Request


def sector_bytes(sector: int, number: int) -> bytes:
    return struct.pack("<QQ", sector, number) * (SECTOR // 16) if number else ZERO


def author(sector: int, data: bytes) -> int | str:
    """The number of the request that wrote these bytes, or what they are instead."""
    if data == ZERO:
        return 0
    address, number = struct.unpack_from("<QQ", data)
    if data != sector_bytes(address, number):
        return "garbage"
    return number if address == sector else f"data of sector {address}"


def current(versions: list[Version], settled) -> list[Version]:
    """The versions that are not out of date, if a request counts once it is `settled`."""
    return since(versions, max(one.request.sent for one in versions if settled(one.request)))


def since(versions: list[Version], floor: int) -> list[Version]:
    """The versions that were not answered before this time."""
    return [one for one in versions if one.request.answered is None or one.request.answered >= floor]


class Ledger:
    """All versions of all pages that may still appear."""

    def __init__(self, pages: int, page_bytes: int, keeps_pages_whole: bool = True):
        self.page_bytes, self.sectors_per_page = page_bytes, page_bytes // SECTOR
        blank = Version((0,) * self.sectors_per_page, Request(0, 0, answered=0, is_durable=True))
        self.pages = [[blank] for _ in range(pages)]
        self.answered: list[Request] = []
        # When the reads in flight were sent.
        self.reads: set[int] = set()
        self.keeps_pages_whole = keeps_pages_whole
        # Pages that were compared, and those of them that mixed versions as they may.
        self.clock, self.compared, self.mixed = itertools.count(1), 0, 0

    def now(self) -> int:
        return next(self.clock)

    # ---- Requests ----------------------------------------------------------------------------------------------------

    def sends(self, first: int, sectors: int, is_data: bool) -> Request:
        """A request on these sectors is about to be sent."""
        now = self.now()
        request = Request(now, now)
        for page in self.pages_of(first, sectors):
            start = page * self.sectors_per_page
            versions = self.pages[page]
            contents = list(versions[-1].contents)
            for sector in range(max(first, start), min(first + sectors, start + self.sectors_per_page)):
                contents[sector - start] = now if is_data else 0
            versions.append(Version(tuple(contents), request))
            if len(versions) > 12:
                self.prune(page)
        return request

    def prune(self, page: int) -> None:
        """Forgets versions that neither a failure nor a read in flight can bring back."""
        oldest = min(self.reads, default=float("inf"))
        settled = [one for one in self.pages[page] if one.request.is_durable and one.request.answered < oldest]
        if settled:
            floor = max(one.request.sent for one in settled)
            self.pages[page] = since(self.pages[page], floor)

    def pages_of(self, first: int, sectors: int) -> range:
        per_page = self.sectors_per_page
        return range(first // per_page, (first + sectors - 1) // per_page + 1)

    def data(self, request: Request, first: int, sectors: int) -> bytes:
        return b"".join(sector_bytes(sector, request.number) for sector in range(first, first + sectors))

    def sends_read(self) -> int:
        now = self.now()
        self.reads.add(now)
        return now

    def was_answered(self, request: Request, is_forced: bool) -> None:
        request.answered, request.is_durable = self.now(), is_forced
        if not is_forced:
            self.answered.append(request)

    def was_flushed(self, sent: int) -> None:
        """A flush that was sent at this time was answered."""
        for request in self.answered:
            request.is_durable = request.answered < sent
        self.answered = [request for request in self.answered if not request.is_durable]

    # ---- Comparison --------------------------------------------------------------------------------------------------

    def durable(self, page: int) -> list[Version]:
        return current(self.pages[page], lambda request: request.is_durable)

    def readable(self, page: int, sent: int) -> list[Version]:
        """What a read that was sent at this time may return."""
        return current(self.pages[page], lambda request: request.answered is not None and request.answered < sent)

    def differs(self, page: int, data: bytes, allowed: list[Version]) -> str | None:
        """What is wrong with the contents of a page. The first sector of `data` is that of the page."""
        start = page * self.sectors_per_page
        self.compared += 1
        if data == self.bytes_of(start, allowed[-1].contents):
            return None
        found = self.authors(page, data)
        if any(found == version.contents for version in allowed):
            return None
        apart = zip(*[version.contents for version in allowed])
        is_known = all(author in sector for author, sector in zip(found, apart))
        in_flight = any(version.request.answered is None for version in allowed)
        if is_known and (in_flight or not self.keeps_pages_whole):
            self.mixed += 1
            return None
        what = "mixes versions" if is_known else "is wrong"
        expected = " or ".join(str(list(version.contents)) for version in allowed[-4:])
        return f"page {page} (sector {start}) {what}: {list(found)}, not {expected}"

    def bytes_of(self, start: int, contents: tuple[int, ...]) -> bytes:
        return b"".join(sector_bytes(start + at, number) for at, number in enumerate(contents))

    def authors(self, page: int, data: bytes) -> tuple:
        start = page * self.sectors_per_page
        parts = [data[at : at + SECTOR] for at in range(0, self.page_bytes, SECTOR)]
        return tuple(author(start + at, part) for at, part in enumerate(parts))

    # ---- Failures ----------------------------------------------------------------------------------------------------

    def after_failure(self, first_page: int, data: bytes) -> list[str]:
        """Compares pages with what they may contain after a failure. From now on they contain what was found."""
        wrong = []
        for at in range(len(data) // self.page_bytes):
            page, found = first_page + at, data[at * self.page_bytes : (at + 1) * self.page_bytes]
            said = self.differs(page, found, self.durable(page))
            wrong += [said] if said else []
            self.settle(page, found)
        return wrong

    def settle(self, page: int, data: bytes) -> None:
        contents = self.authors(page, data)
        known = tuple(number if isinstance(number, int) else -1 for number in contents)
        now = self.now()
        self.pages[page] = [Version(known, Request(now, now, answered=now, is_durable=True))]

    def forget_answers(self) -> None:
        """The requests that were answered but not flushed are settled now, either way. No read is in flight."""
        self.answered.clear()
        self.reads.clear()

    def after_order(self) -> None:
        """The server ended in order: everything that was answered is durable."""
        self.was_flushed(self.now())
