"""Starts a server with sockets that are open already. Prints `all right`, or raises what is wrong.

    /usr/bin/python3 activation.py FTLAB
"""

import os
import socket
import subprocess
import sys
import tempfile

import nbd

DEVICE = ["serve", "--memory", "--capacity", "16MiB"]


def by_libnbd(ftlab: str) -> None:
    handle = nbd.NBD()
    handle.connect_systemd_socket_activation([ftlab, *DEVICE, "--quiet"])
    handle.pwrite(b"x" * 512, 0)
    assert handle.pread(512, 0) == b"x" * 512
    handle.shutdown()


def started(ftlab: str, sockets: list, more: list, **variables: str) -> subprocess.Popen:
    """A server that finds the sockets at descriptor 3 and further. A shell knows its own number."""

    def places_them() -> None:
        for number, one in enumerate([os.dup(one.fileno()) for one in sockets]):
            os.dup2(one, 3 + number)
            os.set_inheritable(3 + number, True)

    line = 'LISTEN_PID=${FOR:-$$} exec "$0" "$@"'
    environment = {**os.environ, "LISTEN_FDS": str(len(sockets)), **variables}
    return subprocess.Popen(
        ["/bin/sh", "-c", line, ftlab, *DEVICE, *more],
        env=environment,
        close_fds=False,
        preexec_fn=places_them,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def several_sockets(ftlab: str) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
        path = os.path.join(folder, "s")
        unix.bind(path)
        tcp.bind(("127.0.0.1", 0))
        unix.listen()
        tcp.listen()
        server = started(ftlab, [unix, tcp], [])
        one, other = nbd.NBD(), nbd.NBD()
        one.connect_unix(path)
        other.connect_tcp("127.0.0.1", str(tcp.getsockname()[1]))
        one.pwrite(b"y" * 512, 512)
        assert other.pread(512, 512) == b"y" * 512
        server.terminate()
        said, complaints = server.communicate(timeout=30)
        assert server.returncode == 0, complaints
        assert f"socket={path}" in said and "127.0.0.1:" in said, said
        assert os.path.exists(path), "the socket belongs to whoever opened it"


def what_cannot_be_taken(ftlab: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, tempfile.TemporaryFile() as file:
        for what, sockets, more, variables, code, sentence in [
            ("a datagram socket", [other], [], {}, 1, "socket 0 of LISTEN_FDS"),
            ("a file", [file], [], {}, 1, "socket 0 of LISTEN_FDS"),
            ("too many", [other], [], {"LISTEN_FDS": "2000000000"}, 2, "32 sockets at most"),
            ("for another process", [other], [], {"FOR": "1"}, 2, "nobody could find this server"),
            ("beside a pipe", [socket.create_server(("127.0.0.1", 0))], ["--stdin"], {}, 2, "`--stdin` serves one"),
        ]:
            server = started(ftlab, sockets, more, **variables)
            _, complaints = server.communicate(timeout=30)
            assert server.returncode == code and sentence in complaints, (what, server.returncode, complaints)


if __name__ == "__main__":
    by_libnbd(sys.argv[1])
    several_sockets(sys.argv[1])
    what_cannot_be_taken(sys.argv[1])
    print("all right")
