"""Clients that behave badly: they hang up anywhere, say nothing, or do not read what they asked for."""

import pathlib
import shutil
import socket
import struct
import tempfile
import time

from served import wire
from served.server import Reference, Server

PAYLOAD = 64 << 10
HEADER = 28
CROWD = 200
RESIDENT_MAX = 256 << 20


class Violation(Exception):
    """The server served a client badly because of another one."""


def ask(connection: socket.socket, kind: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> bytes:
    """A request and its answer."""
    connection.sendall(wire.request(kind, 7, offset, length, flags) + data)
    error = int.from_bytes(wire.received(connection, 16)[4:8], "big")
    if error:
        raise Violation(f"request {kind} at {offset} was answered with error {error}")
    return wire.received(connection, length) if kind == wire.READ else b""


def expect_served(server: Server, seconds: float = 2) -> None:
    """Another client is served within this time."""
    started = time.monotonic()
    connection, _ = wire.connected(server.socket)
    with connection:
        connection.settimeout(30)
        ask(connection, wire.WRITE, 1 << 20, 4096, b"s" * 4096)
        if ask(connection, wire.READ, 1 << 20, 4096) != b"s" * 4096:
            raise Violation("another client does not read what it wrote")
        ask(connection, wire.FLUSH, 0, 0)
    if time.monotonic() - started > seconds:
        raise Violation(f"another client waited {time.monotonic() - started:.1f} s")


def hang_ups(server: Server, arguments) -> str:
    """Hangs up within the header, at each byte, and within the payload of a write. Nothing of it may be applied."""
    old, new = b"o" * PAYLOAD, wire.request(wire.WRITE, 9, 0, PAYLOAD) + b"n" * PAYLOAD
    watcher, _ = wire.connected(server.socket)
    ask(watcher, wire.WRITE, 0, PAYLOAD, old)
    open_before = server.open_files()
    ends = [*range(1, HEADER + 64), *range(HEADER + 64, len(new), arguments.step), len(new) - 1]
    for end in ends:
        connection, _ = wire.connected(server.socket)
        with connection:
            connection.sendall(new[:end])
        if end % 16 == 0 and ask(watcher, wire.READ, 0, PAYLOAD) != old:
            raise Violation(f"a write of which {end} of {len(new)} bytes arrived was applied")
    time.sleep(0.2)
    if ask(watcher, wire.READ, 0, PAYLOAD) != old:
        raise Violation("a write of which only a part arrived was applied")
    if server.open_files() > open_before:
        raise Violation(f"{server.open_files() - open_before} connections that were broken off are still open")
    watcher.close()
    return f"{len(ends):,} writes broken off, none applied"


def handshakes(server: Server, _) -> str:
    """Hangs up within the handshake."""
    go = struct.pack(">IQIIIH", 3, wire.OPTION_MAGIC, wire.OPTION_GO, 6, 0, 0)
    for end in range(len(go)):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(server.socket)
        with connection:
            connection.sendall(go[:end])
    expect_served(server)
    return f"{len(go)} handshakes broken off"


def crowd(server: Server, what: str, begun: bytes) -> str:
    """Many clients that are silent, or stop within a request."""
    silent = [wire.connected(server.socket)[0] for _ in range(CROWD)]
    for connection in silent:
        connection.sendall(begun)
    expect_served(server)
    resident = server.resident_bytes()
    for connection in silent:
        connection.close()
    if resident > RESIDENT_MAX:
        raise Violation(f"{CROWD} {what} connections: the server has {resident >> 20} MiB in memory")
    return f"{CROWD} {what} connections: {resident >> 20} MiB in memory"


def idle(server: Server, _) -> str:
    return crowd(server, "idle", b"")


def half_sent(server: Server, _) -> str:
    return crowd(server, "half-sent", wire.request(wire.WRITE, 1, 0, 64 << 20) + bytes(100_000))


def slow_reader(server: Server, _) -> str:
    """Asks for much and reads nothing."""
    connection, size = wire.connected(server.socket)
    length = min(size, 1 << 20)
    connection.setblocking(False)
    asked = 0
    try:
        for asked in range(2000):
            connection.sendall(wire.request(wire.READ, asked, 0, length))
    except BlockingIOError:
        pass
    for _ in range(20):
        expect_served(server)
    resident = server.resident_bytes()
    connection.close()
    if resident > RESIDENT_MAX:
        raise Violation(f"a slow reader made the server keep {resident >> 20} MiB")
    return f"{asked:,} MiB asked for and not read: {resident >> 20} MiB in memory, others are served"


CASES = {one.__name__: one for one in (hang_ups, handshakes, idle, half_sent, slow_reader)}


def clients(arguments) -> int:
    """Returns the number of failures."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ftlab-live-", dir=arguments.folder))
    serve = ["--memory", *arguments.ftl.split(), "--capacity", "64MiB"]
    server = (Reference(folder, ["memory", "64M"]) if arguments.server == "memory" else Server(folder, serve)).start()
    failed = 0
    for name, case in CASES.items():
        try:
            said = case(server, arguments)
            expect_served(server)
        except (Violation, wire.Lost, OSError) as error:
            failed += 1
            said = f"FAILED: {error}"
        print(f"| {name} | {said} |", flush=True)
    if server.is_alive():
        server.kill()
    else:
        failed += 1
        print("the server ended:", server.last_words())
    shutil.rmtree(folder)
    return failed
