"""The server under test: starting, killing, commanding it. A reference server can stand in for it."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from served import wire

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FTLAB = pathlib.Path(os.environ.get("FTLAB", ROOT / "target/release/ftlab"))
SECONDS_TO_START = 60


class Server:
    """A process that serves one export on a socket in `folder`."""

    def __init__(self, folder: pathlib.Path, serve: list[str], name: str = "nbd"):
        self.socket, self.control_path = str(folder / f"{name}.sock"), str(folder / f"{name}.ctl")
        self.log = folder / f"{name}.log"
        self.serve, self.process = [str(word) for word in serve], None

    def spawn(self) -> None:
        command = [str(FTLAB), "serve", *self.serve, "--socket", self.socket, "--control", self.control_path]
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self) -> "Server":
        self.spawn()
        self.wait()
        return self

    def wait(self) -> None:
        """Waits until it serves."""
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with {self.process.returncode}: {self.last_words()}")
            try:
                wire.connected(self.socket)[0].close()
                return
            except wire.Lost:
                time.sleep(0.005)
        raise SystemExit(f"the server does not serve after {SECONDS_TO_START} s: {self.last_words()}")

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> None:
        """Asks it to end in order."""
        self.process.send_signal(signal.SIGTERM)

    def expect_order(self) -> None:
        """Waits for its end, which must leave nothing behind."""
        code = self.process.wait(SECONDS_TO_START)
        if code != 0:
            raise SystemExit(f"SIGTERM ended the server with {code}: {self.last_words()}")
        if pathlib.Path(self.socket).exists():
            raise SystemExit(f"SIGTERM left the socket {self.socket}")

    def end(self) -> None:
        """Kills it if it runs."""
        if self.process and self.is_alive():
            self.kill()

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def resident_bytes(self) -> int:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def control(self) -> socket.socket:
        """A connection for commands: a line of JSON in, a line of JSON out."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.control_path)
        return connection

    def command(self, what: dict, seconds: float = 60) -> dict:
        with self.control() as connection:
            connection.settimeout(seconds)
            connection.sendall(json.dumps(what).encode() + b"\n")
            answer = json.loads(connection.makefile().readline())
        if "error" in answer:
            raise SystemExit(f"{json.dumps(what)} was answered with {json.dumps(answer)}")
        return answer


class Reference(Server):
    """nbdkit on a file or on memory, to try the tools themselves: a kill loses nothing of a file and all of a memory."""

    def spawn(self) -> None:
        pathlib.Path(self.socket).unlink(missing_ok=True)
        command = ["nbdkit", "-f", "-U", self.socket, *self.serve]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def ftlab(*words, check: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run([str(FTLAB), *map(str, words)], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise SystemExit(f"ftlab {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return done
