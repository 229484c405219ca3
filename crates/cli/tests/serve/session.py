"""A session with every command and flag of libnbd. Prints `all right`, or raises what is wrong.

    /usr/bin/python3 session.py URI
"""

import errno
import sys

import nbd

PAGE = 4096
CONTEXTS = ["base:allocation", "ftlab:block", "ftlab:wear"]
HOLE_AND_ZERO = nbd.STATE_HOLE | nbd.STATE_ZERO


def connected(uri: str) -> nbd.NBD:
    handle = nbd.NBD()
    for context in CONTEXTS:
        handle.add_meta_context(context)
    handle.connect_uri(uri)
    # The server must answer also what the library would refuse to send.
    handle.set_strict_mode(0)
    return handle


def status(handle: nbd.NBD, length: int, offset: int, context: str, flags: int = 0) -> list:
    """Pairs of length and state."""
    found = {}
    handle.block_status(length, offset, lambda name, _, entries, __: found.update({name: entries}), flags)
    entries = found[context]
    return list(zip(entries[::2], entries[1::2]))


def chunks(handle: nbd.NBD, length: int, offset: int, flags: int = 0) -> list:
    """Offset, length and kind of the parts of a structured read."""
    found = []
    handle.pread_structured(length, offset, lambda data, at, kind, _: found.append((at, len(data), kind)), flags)
    return found


def the_largest_request_is_served(handle: nbd.NBD) -> None:
    largest = handle.get_block_size(nbd.SIZE_MAXIMUM)
    assert largest == 64 << 20, largest
    data = bytes(range(256)) * (largest // 256)
    handle.pwrite(data, 0)
    assert handle.pread(largest, 0) == data


def refused(what, *arguments) -> int:
    try:
        what(*arguments)
    except nbd.Error as error:
        return error.errnum
    raise AssertionError(f"{what.__name__}{arguments} was not refused")


def writes_and_reads(handle: nbd.NBD) -> None:
    handle.pwrite(b"a" * PAGE, 0, nbd.CMD_FLAG_FUA)
    handle.pwrite(b"b" * 100, 1000)
    assert handle.pread(PAGE, 0) == b"a" * 1000 + b"b" * 100 + b"a" * (PAGE - 1100)
    handle.pwrite(b"c" * 3 * PAGE, PAGE - 1)
    assert handle.pread(5, PAGE - 3) == b"aaccc" and handle.pread(3, 4 * PAGE - 2) == b"c\0\0"
    handle.flush()
    handle.cache(PAGE, 0)


def trims_and_zeroes(handle: nbd.NBD) -> None:
    base = 1 << 20
    for flags in (0, nbd.CMD_FLAG_FUA):
        handle.pwrite(b"d" * 8 * PAGE, base)
        handle.trim(2 * PAGE, base, flags)
        assert handle.pread(3 * PAGE, base) == bytes(2 * PAGE) + b"d" * PAGE
    for flags in (0, nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FUA, nbd.CMD_FLAG_FAST_ZERO):
        handle.pwrite(b"e" * 8 * PAGE, base)
        handle.zero(2 * PAGE, base + PAGE, flags)
        assert handle.pread(4 * PAGE, base) == b"e" * PAGE + bytes(2 * PAGE) + b"e" * PAGE, flags
    handle.zero(700, base + 100)
    assert handle.pread(1000, base) == b"e" * 100 + bytes(700) + b"e" * 200


def states(handle: nbd.NBD) -> None:
    base = 2 << 20
    handle.pwrite(b"f" * 4 * PAGE, base)
    handle.trim(PAGE, base + PAGE)
    parts = [(PAGE, 0), (PAGE, HOLE_AND_ZERO), (2 * PAGE, 0), (4 * PAGE, HOLE_AND_ZERO)]
    assert status(handle, 8 * PAGE, base, CONTEXTS[0]) == parts
    assert status(handle, 8 * PAGE, base, CONTEXTS[0], nbd.CMD_FLAG_REQ_ONE) == parts[:1]
    handle.zero(PAGE, base, nbd.CMD_FLAG_NO_HOLE)
    assert status(handle, PAGE, base, CONTEXTS[0])[0][1] & nbd.STATE_HOLE == 0
    for context in CONTEXTS[1:]:
        assert sum(length for length, _ in status(handle, 8 * PAGE, base, context)) >= 8 * PAGE


def structured_reads(handle: nbd.NBD) -> None:
    base = 2 << 20
    found = chunks(handle, 8 * PAGE, base)
    assert sum(length for _, length, _ in found) == 8 * PAGE, found
    whole = chunks(handle, 2 * PAGE, base + 2 * PAGE, nbd.CMD_FLAG_DF)
    assert [(at, length) for at, length, _ in whole] == [(base + 2 * PAGE, 2 * PAGE)], whole


def refusals(handle: nbd.NBD) -> None:
    end = handle.get_size()
    assert refused(handle.pread, PAGE, end - 1) == errno.EINVAL
    assert refused(handle.pwrite, bytes(PAGE), end - 1) == errno.ENOSPC
    assert refused(handle.trim, PAGE, end) == errno.EINVAL
    assert refused(handle.zero, PAGE, end) == errno.ENOSPC
    assert refused(handle.flush, 1 << 9) == errno.EINVAL
    assert refused(handle.pread, 0, 0) == errno.EINVAL
    assert handle.pread(PAGE, 0)[:1] == b"a", "the connection stays in step"


def several_connections(uri: str) -> None:
    """A flush on one connection covers what another one has written."""
    one, other = connected(uri), connected(uri)
    assert one.can_multi_conn()
    one.pwrite(b"g" * PAGE, 3 << 20)
    assert other.pread(PAGE, 3 << 20) == b"g" * PAGE
    other.flush()
    one.shutdown()
    other.shutdown()


def named(handle: nbd.NBD, context: str) -> list:
    """Contexts that the server names to whoever asks for these."""
    handle.clear_meta_contexts()
    handle.add_meta_context(context)
    found = []
    handle.opt_list_meta_context(found.append)
    return found


def options(uri: str) -> None:
    """The client asks many questions before it chooses an export."""
    handle = nbd.NBD()
    handle.set_opt_mode(True)
    handle.connect_uri(uri)
    exports = []
    handle.opt_list(lambda name, _: exports.append(name))
    for name in ["", *exports]:
        handle.set_export_name(name)
        handle.opt_info()
        assert handle.get_size() > 0 and handle.can_df(), name
        handle.set_export_name("none")
        assert refused(handle.opt_info) == errno.ENOENT
        assert refused(handle.opt_go) == errno.ENOENT
    handle.set_export_name(exports[0])
    assert named(handle, "ftlab:") == CONTEXTS[1:] and named(handle, CONTEXTS[0]) == CONTEXTS[:1]
    # What this server does not have is not an error.
    bitmap = "qemu:dirty-bitmap:b"
    assert named(handle, bitmap) == named(handle, "qemu:") == named(handle, "base:alloc") == []
    handle.clear_meta_contexts()
    for context in (bitmap, CONTEXTS[0]):
        handle.add_meta_context(context)
    handle.opt_go()
    assert handle.can_meta_context(CONTEXTS[0]) and not handle.can_meta_context(bitmap)
    assert len(handle.pread(PAGE, 0)) == PAGE
    handle.shutdown()


def simpler_clients(uri: str) -> None:
    """Who knows fewer parts of the protocol is served without them."""
    handle = nbd.NBD()
    handle.add_meta_context(CONTEXTS[0])
    handle.set_request_structured_replies(False)
    handle.set_request_block_size(False)
    handle.connect_uri(uri)
    assert not handle.get_structured_replies_negotiated() and not handle.can_meta_context(CONTEXTS[0])
    handle.set_strict_mode(0)
    handle.trim(PAGE, 4 << 20)
    handle.pwrite(b"h" * 700, 4 << 20)
    assert handle.pread(701, 4 << 20) == b"h" * 700 + b"\0"
    assert refused(handle.pread, 1, 0, nbd.CMD_FLAG_DF) == errno.EINVAL
    assert refused(handle.block_status, PAGE, 0, lambda *_: 0) == errno.EINVAL
    handle.shutdown()


def main(uri: str) -> None:
    handle = connected(uri)
    assert all(handle.can_meta_context(context) for context in CONTEXTS)
    for step in (writes_and_reads, trims_and_zeroes, states, structured_reads, refusals, the_largest_request_is_served):
        step(handle)
    handle.shutdown()
    several_connections(uri)
    options(uri)
    simpler_clients(uri)
    print("all right")


main(sys.argv[1])
