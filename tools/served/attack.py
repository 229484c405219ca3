"""Failures under load: the server is killed, or the power of its device is cut."""

import json
import pathlib
import random
import shutil
import socket
import tempfile
import time

from ftlab_powercut.campaign import OUTCOMES
from served import wire
from served.ledger import Ledger
from served.load import Load, whole_disk
from served.server import Reference, Server, ftlab

# The devices that are attacked, by their names in the tables.
DEVICES = {
    "page": ["--ftl", "page"],
    "fast": ["--ftl", "fast"],
    "lsb": ["--ftl", "lsb", "--chip", "slc-lsb"],
    "dftl": ["--ftl", "dftl:cmt=16KiB", "--chip", "slc-fast2010:page=4KiB"],
    "page, buffer": ["--ftl", "page", "--buffer", "256KiB", "--chip", "mlc-k9gag"],
    "dac, sector log": ["--ftl", "dac", "--sector-log", "1MiB", "--chip", "slc-fast2010:page=4KiB"],
}
# What a cut can leave of a program or an erase. One that does not fit the operation leaves it done or not begun.
CAPACITY = 16 << 20


class Campaign:
    """Failures of one device, one after the other."""

    def __init__(self, device: str, seed: int, arguments):
        self.device, self.seed, self.kind = device, seed, arguments.server
        self.draws = random.Random(f"{device} {seed}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ftlab-live-", dir=arguments.folder))
        self.server, page_bytes = self.made()
        has_log = "--sector-log" in DEVICES[device] and self.kind == "ftlab"
        self.ledger = Ledger(CAPACITY // page_bytes, page_bytes, keeps_pages_whole=not has_log)
        self.load = Load(self.draws, self.ledger)
        self.counts = {"rounds": 0, "in starts": 0, "answers": 0, "pages": 0, "mixed": 0, "violations": 0}

    def made(self) -> tuple[Server, int]:
        """The server, and the size of a page."""
        if self.kind == "ftlab":
            image = self.folder / "disk.img"
            options = [*DEVICES[self.device], "--extra", "15%", "--capacity", CAPACITY, "--seed", self.seed]
            ftlab("image", "create", image, *options, "--quiet")
            info = json.loads(ftlab("image", "info", image, "--json").stdout)
            return Server(self.folder, ["--image", image]), info["page_bytes"]
        disk = self.folder / "disk.raw"
        disk.write_bytes(bytes(CAPACITY))
        return Reference(self.folder, ["file", disk] if self.kind == "file" else ["memory", str(CAPACITY)]), 4096

    def run(self, rounds: int, fail) -> dict:
        started = time.monotonic()
        self.server.start()
        for _ in range(rounds):
            wrong = fail(self)
            wrong += whole_disk(self.server.socket, self.ledger)
            self.counts["rounds"] += 1
            if wrong:
                self.counts["violations"] += len(wrong)
                self.report(wrong)
                break
        self.counts |= {"answers": self.load.answers, "pages": self.ledger.compared, "mixed": self.ledger.mixed}
        return self.finished(started)

    def report(self, wrong: list[str]) -> None:
        print(f"{self.device}, seed {self.seed}, round {self.counts['rounds']}: {len(wrong)} violations")
        print(*wrong[:8], f"the files are in {self.folder}", self.server.last_words(), sep="\n", flush=True)

    def finished(self, started: float) -> dict:
        """Ends the server in order. Everything that was answered must be there when it starts again."""
        self.load.close()
        if self.kind == "ftlab" and not self.counts["violations"]:
            self.server.terminate()
            self.server.expect_order()
            self.counts["violations"] += self.damages()
        self.server.end()
        if not self.counts["violations"]:
            shutil.rmtree(self.folder)
        return {**self.counts, "seconds": round(time.monotonic() - started)}

    def damages(self) -> int:
        done = ftlab("image", "check", self.folder / "disk.img", check=False)
        if done.returncode:
            self.report([f"image check: {done.stdout}{done.stderr}"])
        return int(done.returncode != 0)


# ---- Kills --------------------------------------------------------------------------------------------------------------


def kill(campaign: Campaign) -> list[str]:
    """Kills the server under load, and sometimes again while it starts. Now and then it is ended in order."""
    server, load, draws = campaign.server, campaign.load, campaign.draws
    load.connect(server.socket)
    wrong, lost = load.run(draws.random() ** 2 * 1.5)
    if lost:
        wrong.append(f"a client lost the server before it was killed: {lost}")
    if campaign.kind == "ftlab" and draws.random() < 0.1:
        wrong += stopped(campaign)
    else:
        server.kill()
        wrong += load.drain()
    load.close()
    while draws.random() < 0.25:
        campaign.counts["in starts"] += 1
        server.spawn()
        time.sleep(draws.random() * 0.03)
        server.kill()
    server.start()
    return wrong


def stopped(campaign: Campaign) -> list[str]:
    """Ends the server in order. Answers that come before its end count."""
    campaign.server.terminate()
    wrong = campaign.load.drain()
    campaign.server.expect_order()
    campaign.ledger.after_order()
    return wrong


# ---- Cuts ---------------------------------------------------------------------------------------------------------------


def cut(campaign: Campaign) -> list[str]:
    """Cuts the power of the device under load. All clients must lose their connections."""
    server, load, draws = campaign.server, campaign.load, campaign.draws
    load.connect(server.socket)
    wrong, lost = load.run(draws.random() * 0.2)
    if lost:
        wrong.append(f"a client lost the server before the cut: {lost}")
    with server.control() as control:
        control.sendall(json.dumps(drawn_cut(draws)).encode() + b"\n")
        found, _ = load.run(20, control)
        wrong += found + load.drain()
        answer = answered(control)
    load.close()
    if "error" in answer:
        wrong.append(f"the cut was answered with {answer}")
    return wrong


def answered(control: socket.socket) -> dict:
    """The answer to a command. It comes when the device serves again."""
    control.settimeout(30)
    try:
        return json.loads(control.makefile().readline())
    except (TimeoutError, ValueError) as error:
        return {"error": f"no answer: {error}"}


def drawn_cut(draws: random.Random) -> dict:
    if draws.random() < 0.1:
        return {"cut": draws.choice(["now", "flush"])}
    outcome = draws.choice(OUTCOMES)
    return {"cut": {"after": int(draws.random() ** 2 * 400)}, "outcome": outcome}


def attack(arguments) -> int:
    """Attacks the devices. Returns the number of violations."""
    fail = {"kill": kill, "cuts": cut}[arguments.what]
    print("| device | rounds | in starts | answers | pages compared | mixed pages | violations | s |")
    print("|---" * 8 + "|")
    violations = 0
    for device in arguments.device or DEVICES:
        campaign = Campaign(device, arguments.seed, arguments)
        try:
            counts = campaign.run(arguments.rounds, fail)
        except wire.Lost as lost:
            raise SystemExit(f"{device}, seed {arguments.seed}: {lost}; files: {campaign.folder}") from lost
        finally:
            campaign.server.end()
        violations += counts["violations"]
        print(f"| {device} |", " | ".join(f"{count:,}" for count in counts.values()), "|", flush=True)
    return violations
