"""Stands between a client and the server, and knows what each sector may contain after a power cut.

    nbdfuse ──NBD──▶ watcher ──NBD──▶ ftlab serve

It passes requests and replies on and decides nothing. So a loss is found where it happens, in the disk, and not only when
a file system or a data base notices it.
"""

import hashlib
import itertools
import select
import socket
import struct
import threading
import time

from served import wire
from served.ledger import SECTOR, ZERO, Request

OPTION_ABORT, OPTION_INFO = 2, 6
UNSUPPORTED = 0x80000001
FLAGS = 1 | 4 | 8 | 32 | 64 | 256


def digest(data: bytes) -> bytes:
    return b"" if data == ZERO else hashlib.blake2b(data, digest_size=8).digest()


class SectorLedger:
    """What each sector may contain. Requests that overlap in time have no order."""

    def __init__(self):
        self.clock = itertools.count(1)
        blank = Request(0, 0, answered=0, is_durable=True)
        self.blank, self.sectors, self.answered = (b"", blank), {}, []

    def sends(self, first: int, contents: list[bytes]) -> Request:
        request = Request(0, next(self.clock))
        for sector, content in enumerate(contents, first):
            self.sectors.setdefault(sector, [self.blank]).append((content, request))
        return request

    def was_answered(self, request: Request, is_forced: bool) -> None:
        request.answered, request.is_durable = next(self.clock), is_forced
        self.answered.append(request)

    def was_flushed(self, sent: int) -> None:
        for request in self.answered:
            request.is_durable |= request.answered < sent
        self.answered = [request for request in self.answered if not request.is_durable]

    def allowed(self, sector: int) -> set[bytes]:
        versions = self.sectors.get(sector, [self.blank])
        floor = max(request.sent for _, request in versions if request.is_durable)
        return {content for content, request in versions if request.answered is None or request.answered >= floor}

    def after_failure(self, first: int, data: bytes) -> list[str]:
        """Compares sectors with what they may contain. From now on they contain what was found."""
        wrong = []
        for at in range(0, len(data), SECTOR):
            sector, found = first + at // SECTOR, digest(data[at : at + SECTOR])
            if sector not in self.sectors and found == b"":
                continue
            if found not in self.allowed(sector):
                wrong.append(f"sector {sector} is wrong: {self.history(sector, found)}")
            now = next(self.clock)
            self.sectors[sector] = [(found, Request(0, now, answered=now, is_durable=True))]
        return wrong

    def history(self, sector: int, found: bytes) -> str:
        versions = self.sectors.get(sector, [self.blank])
        lines = [
            f"{content.hex() or 'zeros'} sent {request.sent} answered {request.answered} durable {request.is_durable}"
            for content, request in versions[-6:]
        ]
        return f"found {found.hex() or 'zeros'} among {'; '.join(lines)}"


class Pair:
    """A client and its own connection to the server."""

    def __init__(self, client: socket.socket, path: str):
        self.client, self.server = client, wire.Connection(path)
        self.cookies, self.inbox, self.outbox = {}, bytearray(), bytearray()

    def close(self) -> None:
        self.client.close()
        self.server.close()


class Watcher:
    """One thread that serves all clients, so that it sees all events in one order."""

    def __init__(self, listen: str, server: str, page_bytes: int):
        self.listens = listen
        self.server, self.page_bytes, self.ledger, self.pairs = server, page_bytes, SectorLedger(), []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(listen)
        self.listener.listen()
        self.lock = threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            ends = {}
            for pair in self.pairs:
                ends |= {pair.client: (pair, self.from_client), pair.server.socket: (pair, self.from_server)}
            full = [pair.server.socket for pair in self.pairs if pair.server.outbox]
            full += [pair.client for pair in self.pairs if pair.outbox]
            readable, writable, _ = select.select([self.listener, *ends], full, [], 1)
            with self.lock:
                for one in {*readable, *writable}:
                    self.accept() if one is self.listener else self.take(*ends[one])

    def take(self, pair: Pair, act) -> None:
        if pair not in self.pairs:
            return
        try:
            act(pair)
            pair.server.push()
            self.push(pair)
        except (wire.Lost, OSError):
            pair.close()
            self.pairs.remove(pair)

    def push(self, pair: Pair) -> None:
        try:
            while pair.outbox:
                del pair.outbox[: pair.client.send(pair.outbox)]
        except BlockingIOError:
            pass

    # ---- Connections -------------------------------------------------------------------------------------------------

    def accept(self) -> None:
        client, _ = self.listener.accept()
        try:
            pair = Pair(client, self.server)
            self.shake_hands(pair)
            client.setblocking(False)
            self.pairs.append(pair)
        except (wire.Lost, OSError):
            client.close()

    def shake_hands(self, pair: Pair) -> None:
        """Offers the export of the server. Everything that is not necessary is refused."""
        client = pair.client
        client.sendall(struct.pack(">QQH", wire.NBD_MAGIC, wire.OPTION_MAGIC, 3))
        wire.received(client, 4)
        while True:
            _, option, length = struct.unpack(">QII", wire.received(client, 16))
            wire.received(client, length)
            if option in (wire.OPTION_GO, OPTION_INFO):
                info = struct.pack(">HQH", wire.INFO_EXPORT, pair.server.size, FLAGS)
                client.sendall(self.option_reply(option, wire.REPLY_INFO, info))
            known = option in (wire.OPTION_GO, OPTION_INFO, OPTION_ABORT)
            client.sendall(self.option_reply(option, wire.REPLY_ACK if known else UNSUPPORTED))
            if option == wire.OPTION_GO:
                return

    def option_reply(self, option: int, kind: int, data: bytes = b"") -> bytes:
        return struct.pack(">QIII", wire.OPTION_REPLY_MAGIC, option, kind, len(data)) + data

    # ---- Requests ----------------------------------------------------------------------------------------------------

    def from_client(self, pair: Pair) -> None:
        try:
            while part := pair.client.recv(1 << 20):
                pair.inbox += part
            raise wire.Lost("the client hung up")
        except BlockingIOError:
            pass
        while len(pair.inbox) >= 28:
            _, flags, kind, cookie, offset, length = struct.unpack_from(">IHHQQI", pair.inbox)
            end = 28 + (length if kind == wire.WRITE else 0)
            if kind == wire.DISCONNECT:
                raise wire.Lost("the client ends")
            if len(pair.inbox) < end:
                return
            data = bytes(pair.inbox[28:end])
            del pair.inbox[:end]
            pair.cookies[cookie] = self.note(kind, offset, length, data), bool(flags & wire.FUA)
            pair.server.send(kind, cookie, offset, length, flags, data)

    def note(self, kind: int, offset: int, length: int, data: bytes) -> Request | int | None:
        first, sectors = offset // SECTOR, range(0, length, SECTOR)
        match kind:
            case wire.WRITE:
                return self.ledger.sends(first, [digest(data[at : at + SECTOR]) for at in sectors])
            case wire.TRIM:
                # Only whole pages are trimmed.
                start, end = -(-offset // self.page_bytes), (offset + length) // self.page_bytes
                per_page = self.page_bytes // SECTOR
                return self.ledger.sends(start * per_page, [b""] * (max(end - start, 0) * per_page))
            case wire.ZERO:
                return self.ledger.sends(first, [b"" for _ in sectors])
            case wire.FLUSH:
                return next(self.ledger.clock)

    def from_server(self, pair: Pair) -> None:
        for cookie, error, data in pair.server.replies():
            what, is_forced = pair.cookies.pop(cookie)
            if not error and isinstance(what, Request):
                self.ledger.was_answered(what, is_forced)
            elif not error and what is not None:
                self.ledger.was_flushed(what)
            pair.outbox += struct.pack(">IIQ", wire.REPLY_MAGIC, error, cookie) + data

    # ---- Failures ----------------------------------------------------------------------------------------------------

    def after_failure(self) -> list[str]:
        """Compares the whole disk. No client may be connected."""
        connection, size = wire.connected(self.server)
        connection.settimeout(60)
        wrong, step = [], 1 << 20
        end = time.monotonic() + 10
        while self.pairs and time.monotonic() < end:
            time.sleep(0.01)
        with connection, self.lock:
            for offset in range(0, size, step):
                connection.sendall(wire.request(wire.READ, offset, offset, min(step, size - offset)))
                wire.received(connection, 16)
                wrong += self.ledger.after_failure(offset // SECTOR, wire.received(connection, min(step, size - offset)))
            self.ledger.answered.clear()
        return wrong
