"""A small NBD client that never blocks once it is connected, so that one loop can drive several of them.

It speaks the fixed newstyle handshake and simple replies. It tells exactly what was sent and what was answered when a
server dies, which libraries hide.
"""

import socket
import struct

NBD_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC = 0x4E42444D41474943, 0x49484156454F5054, 0x3E889045565A9
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698
OPTION_GO, REPLY_ACK, REPLY_INFO, INFO_EXPORT = 7, 1, 3, 0
READ, WRITE, DISCONNECT, FLUSH, TRIM, ZERO = 0, 1, 2, 3, 4, 6
FUA, NO_HOLE = 1, 2


class Lost(Exception):
    """The connection is gone."""


def request(kind: int, cookie: int, offset: int, length: int, flags: int = 0) -> bytes:
    return struct.pack(">IHHQQI", REQUEST_MAGIC, flags, kind, cookie, offset, length)


def received(connection: socket.socket, count: int) -> bytes:
    """Exactly this many bytes."""
    bytes_ = bytearray()
    while len(bytes_) < count:
        part = connection.recv(count - len(bytes_))
        if not part:
            raise Lost("the server hung up")
        bytes_ += part
    return bytes(bytes_)


def connected(path: str, export: str = "", seconds: float = 20) -> tuple[socket.socket, int]:
    """A socket on which requests can be sent, and the size of the export in bytes."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    try:
        connection.connect(path)
        return connection, shaken_hands(connection, export.encode())
    except OSError as error:
        connection.close()
        raise Lost(str(error)) from error
    except Lost:
        connection.close()
        raise


def shaken_hands(connection: socket.socket, export: bytes) -> int:
    magics = struct.unpack(">QQ", received(connection, 18)[:16])
    if magics != (NBD_MAGIC, OPTION_MAGIC):
        raise Lost(f"not an NBD server: {magics}")
    go = struct.pack(">I", len(export)) + export + struct.pack(">H", 0)
    connection.sendall(struct.pack(">I", 3) + struct.pack(">QII", OPTION_MAGIC, OPTION_GO, len(go)) + go)
    size = 0
    while True:
        magic, _, kind, length = struct.unpack(">QIII", received(connection, 20))
        data = received(connection, length)
        if magic != OPTION_REPLY_MAGIC or kind not in (REPLY_ACK, REPLY_INFO):
            raise Lost(f"the server refused the export: reply {kind:#x} {data!r}")
        if kind == REPLY_ACK:
            return size
        if struct.unpack(">H", data[:2])[0] == INFO_EXPORT:
            size = struct.unpack(">Q", data[2:10])[0]


class Connection:
    """Requests out, replies in, in any order."""

    def __init__(self, path: str, export: str = ""):
        self.socket, self.size = connected(path, export)
        self.socket.setblocking(False)
        self.outbox, self.inbox = bytearray(), bytearray()
        # Bytes that the reply to a request brings, by its cookie.
        self.waiting: dict[int, int] = {}

    def send(self, kind: int, cookie: int, offset: int, length: int, flags: int = 0, data: bytes = b"") -> None:
        self.waiting[cookie] = length if kind == READ else 0
        self.outbox += request(kind, cookie, offset, length, flags) + data
        self.push()

    def push(self) -> None:
        """Sends what the socket takes."""
        try:
            while self.outbox:
                del self.outbox[: self.socket.send(self.outbox)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise Lost(str(error)) from error

    def replies(self) -> list[tuple[int, int, bytes]]:
        """Cookie, error and data of the replies that have arrived."""
        gone = self.pull()
        found = []
        while (reply := self.next_reply()) is not None:
            found.append(reply)
        if gone and not found:
            raise Lost("the server hung up")
        return found

    def pull(self) -> bool:
        """Takes what has arrived. Returns whether the server hung up."""
        try:
            while part := self.socket.recv(1 << 20):
                self.inbox += part
            return True
        except BlockingIOError:
            return False
        except OSError:
            return True

    def next_reply(self) -> tuple[int, int, bytes] | None:
        if len(self.inbox) < 16:
            return None
        magic, error, cookie = struct.unpack_from(">IIQ", self.inbox)
        if magic != REPLY_MAGIC or cookie not in self.waiting:
            raise Lost(f"not a reply: magic {magic:#x}, cookie {cookie}")
        length = 0 if error else self.waiting[cookie]
        if len(self.inbox) < 16 + length:
            return None
        data = bytes(self.inbox[16 : 16 + length])
        del self.inbox[: 16 + length], self.waiting[cookie]
        return cookie, error, data

    def close(self) -> None:
        self.socket.close()
