"""A disk of ``ftlab serve`` whose power fails on command."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Any

from ftlab_powercut.mounts import Trouble

SECONDS_TO_START = 60


def command() -> str:
    """The command ftlab: that of the environment variable FTLAB, or else the first on the path."""
    found = os.environ.get("FTLAB") or shutil.which("ftlab")
    if not found:
        raise Trouble("there is no command ftlab on the path: install it, or set FTLAB to where it is")
    return found


def connected(path: str) -> socket.socket:
    """A connection to a Unix socket."""
    user = socket.socket(socket.AF_UNIX)
    try:
        user.connect(path)
    except OSError:
        user.close()
        raise
    return user


class Disk:
    """A server in memory, with its sockets in `folder`."""

    def __init__(self, folder: pathlib.Path, options: list[str]) -> None:
        self.socket, self.control = str(folder / "nbd.sock"), str(folder / "ctl.sock")
        self.log = folder / "serve.log"
        words = [command(), "serve", "--memory", *options, "--quiet", "--stay-down"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*words, "--socket", self.socket, "--control", self.control],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Trouble(f"ftlab serve ended with {self.process.returncode}: {self.log.read_text()}")
            try:
                for path in (self.control, self.socket):
                    connected(path).close()
                return
            except OSError:
                time.sleep(0.01)
        raise Trouble(f"ftlab serve does not serve after {SECONDS_TO_START} s: {self.log.read_text()}")

    def connect(self) -> socket.socket:
        """A connection for commands."""
        return connected(self.control)

    def order(self, wanted: dict[str, Any]) -> socket.socket:
        """Sends a command; the answer comes on the connection when it is done."""
        user = self.connect()
        user.sendall(json.dumps(wanted).encode() + b"\n")
        return user

    def ask(self, wanted: dict[str, Any]) -> Any:
        """Sends a command and waits for its answer."""
        with self.order(wanted) as user, user.makefile() as lines:
            answer = json.loads(lines.readline())
        if "ok" not in answer:
            raise Trouble(f"ftlab serve refuses {json.dumps(wanted)}: {answer.get('error')}")
        return answer["ok"]

    def is_up(self) -> bool:
        """Whether the disk has power."""
        return bool(self.ask({"stats": True})["power"] == "on")

    def cancel_cut(self) -> None:
        """Cancels a cut that was ordered, unless it has just happened."""
        with self.order({"cut": None}) as user, user.makefile() as lines:
            lines.readline()

    def end(self) -> None:
        """Ends the server; the disk is gone."""
        self.process.kill()
        self.process.wait()
