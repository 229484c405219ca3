"""Clients that read, write, trim and zero at the same time, and know what they may find.

Each client owns a part of the pages, on which it never has two requests at a time, so their order is known. All clients
also write a shared part, whole pages at a time and with no regard for each other.
"""

import random
import select
import time

from served import wire
from served.ledger import SECTOR, Ledger, Request

KINDS = ["write", "read", "zero", "trim", "flush"]
# Shares of the kinds, and the share of changes that are forced. A connection has one of them.
MIXES = [([56, 22, 8, 6, 8], 0.12), ([80, 10, 5, 4, 1], 0.01), ([50, 10, 15, 24, 1], 0.02), ([60, 9, 8, 8, 15], 0.6)]
DEPTH = 8
MOST_PAGES = 16


class Client:
    """A connection with several requests in flight."""

    def __init__(self, draws: random.Random, ledger: Ledger, own: range, shared: range):
        self.draws, self.ledger, self.own, self.shared = draws, ledger, own, shared
        self.connection: wire.Connection | None = None
        self.cookies, self.answers = 0, 0

    def connect(self, path: str, export: str = "") -> None:
        self.connection = wire.Connection(path, export)
        self.shares, self.forced = self.draws.choice(MIXES)
        self.in_flight: dict[int, tuple] = {}
        self.busy: set[int] = set()

    def close(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection = None

    # ---- Asking ------------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Sends requests until enough are in flight."""
        while len(self.in_flight) < DEPTH:
            self.ask()

    def ask(self) -> None:
        kind = self.draws.choices(KINDS, self.shares)[0]
        self.cookies += 1
        if kind == "flush":
            self.in_flight[self.cookies] = (kind, self.ledger.now())
            self.connection.send(wire.FLUSH, self.cookies, 0, 0)
            return
        first, sectors = self.place(kind)
        pages = self.ledger.pages_of(first, sectors)
        if pages[0] in self.own:
            if any(page in self.busy for page in pages):
                return
            self.busy.update(pages)
        if kind == "read":
            self.in_flight[self.cookies] = (kind, self.ledger.sends_read(), first, pages)
            self.connection.send(wire.READ, self.cookies, first * SECTOR, sectors * SECTOR)
        else:
            self.change(kind, first, sectors)

    def place(self, kind: str) -> tuple[int, int]:
        """First sector and number of sectors. Trims and requests on shared pages cover whole pages."""
        area = self.own if self.draws.random() < 0.7 else self.shared
        per_page = self.ledger.sectors_per_page
        pages = self.draws.choice([1, 1, 1, 1, 2, 4, MOST_PAGES])
        start = area.start + int((len(area) - pages) * self.draws.random() ** self.draws.choice([1, 4]))
        if area is self.shared or kind == "trim" or self.draws.random() < 0.6:
            return start * per_page, pages * per_page
        before, after = self.draws.randrange(per_page), self.draws.randrange(per_page)
        sectors = pages * per_page - before - after
        return (start * per_page + before, sectors) if sectors > 0 else (start * per_page + before, 1)

    def change(self, kind: str, first: int, sectors: int) -> None:
        is_forced = self.draws.random() < self.forced
        flags = wire.FUA if is_forced else 0
        request = self.ledger.sends(first, sectors, kind == "write")
        data = self.ledger.data(request, first, sectors) if kind == "write" else b""
        if kind == "zero" and self.draws.random() < 0.5:
            flags |= wire.NO_HOLE
        self.in_flight[self.cookies] = (kind, request, is_forced, self.ledger.pages_of(first, sectors))
        command = {"write": wire.WRITE, "trim": wire.TRIM, "zero": wire.ZERO}[kind]
        self.connection.send(command, self.cookies, first * SECTOR, sectors * SECTOR, flags, data)

    # ---- Answers -----------------------------------------------------------------------------------------------------

    def take(self) -> list[str]:
        """What is wrong with the answers that have arrived. An error counts as the loss of the connection."""
        wrong, failed = [], None
        for cookie, error, data in self.connection.replies():
            what = self.in_flight.pop(cookie)
            self.answers += 1
            if error:
                failed = f"{what[0]} was answered with error {error}"
                continue
            match what:
                case "flush", sent:
                    self.ledger.was_flushed(sent)
                case "read", sent, first, pages:
                    wrong += self.compare(sent, first, pages, data)
                    self.ledger.reads.discard(sent)
                    self.busy.difference_update(pages)
                case _, Request() as request, is_forced, pages:
                    self.ledger.was_answered(request, is_forced)
                    self.busy.difference_update(pages)
        if failed:
            raise wire.Lost(failed)
        return wrong

    def compare(self, sent: int, first: int, pages: range, data: bytes) -> list[str]:
        """What is wrong with the pages of a read. Pages that are read in part are left out."""
        wrong, page_bytes = [], self.ledger.page_bytes
        for page in pages:
            start = page * page_bytes - first * SECTOR
            part = data[start : start + page_bytes] if start >= 0 else b""
            if len(part) == page_bytes:
                wrong.append(self.ledger.differs(page, part, self.ledger.readable(page, sent)))
        return [f"a read found that {said}" for said in wrong if said]


class Load:
    """Several clients on one export, driven by one loop."""

    def __init__(self, draws: random.Random, ledger: Ledger, clients: int = 2):
        pages = len(ledger.pages)
        shared = range(pages * 9 // 10, pages)
        bounds = [shared.start * at // clients for at in range(clients + 1)]
        own = [range(bounds[at], bounds[at + 1]) for at in range(clients)]
        self.ledger, self.clients = ledger, [Client(draws, ledger, one, shared) for one in own]

    def connect(self, path: str, export: str = "") -> None:
        for client in self.clients:
            client.connect(path, export)

    def close(self) -> None:
        for client in self.clients:
            client.close()

    @property
    def answers(self) -> int:
        return sum(client.answers for client in self.clients)

    def run(self, seconds: float, also=None) -> tuple[list[str], str | None]:
        """Keeps all clients busy for a time, or until `also`, a socket, can be read.

        Returns what was wrong with answers, and why the load ended early, if it did.
        """
        wrong, end = [], time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                for client in self.clients:
                    client.fill()
                if also in (ready := self.ready(left, also)):
                    break
                for client in ready:
                    wrong += client.take()
        except wire.Lost as lost:
            return wrong, str(lost)
        return wrong, None

    def ready(self, seconds: float, also) -> list:
        """The clients that have answers, after sending what can be sent."""
        by_socket = {client.connection.socket: client for client in self.clients}
        full = [one for one, client in by_socket.items() if client.connection.outbox]
        others = [also] if also else []
        readable, writable, _ = select.select([*by_socket, *others], full, [], seconds)
        for one in writable:
            by_socket[one].connection.push()
        return [by_socket.get(one, also) for one in readable]

    def drain(self, seconds: float = 20) -> list[str]:
        """Waits for the answers to all requests, or for the loss of each connection."""
        wrong, end = [], time.monotonic() + seconds
        for client in self.clients:
            try:
                while client.in_flight and time.monotonic() < end:
                    if select.select([client.connection.socket], [], [], 0.2)[0]:
                        wrong += client.take()
            except wire.Lost:
                continue
            if client.in_flight:
                wrong.append(f"{len(client.in_flight)} requests got no answer for {seconds} s")
        return wrong


def whole_disk(path: str, ledger: Ledger, export: str = "") -> list[str]:
    """Compares every page with what it may contain after a failure."""
    connection, size = wire.connected(path, export)
    connection.settimeout(60)
    wrong, step = [], 256 * ledger.page_bytes
    if size < len(ledger.pages) * ledger.page_bytes:
        wrong.append(f"the disk has {size} bytes")
    with connection:
        for offset in range(0, len(ledger.pages) * ledger.page_bytes, step):
            length = min(step, len(ledger.pages) * ledger.page_bytes - offset)
            connection.sendall(wire.request(wire.READ, offset, offset, length))
            error = int.from_bytes(wire.received(connection, 16)[4:8], "big")
            if error:
                wrong.append(f"{length} bytes at {offset} cannot be read: error {error}")
            else:
                wrong += ledger.after_failure(offset // ledger.page_bytes, wire.received(connection, length))
        connection.sendall(wire.request(wire.DISCONNECT, 0, 0, 0))
    ledger.forget_answers()
    return wrong
