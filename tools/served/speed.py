"""Speed against a reference server: both are measured in turns, and medians of the ratios are printed."""

import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from ftlab_powercut.mounts import ran
from served.server import Reference, Server, ftlab

# Sequential requests come first, while nothing makes the FTL collect garbage.
PATTERNS = {f"1 MiB {kind}": {"rw": kind, "bs": "1M", "iodepth": 4} for kind in ("read", "write")}
PATTERNS |= {f"4 KiB {kind}": {"rw": kind} for kind in ("randread", "randwrite", "randrw")}
DISK = "256MiB"


def job(name: str, socket: str, **options) -> str:
    """A section of a file of jobs for fio."""
    lines = [f"[{name}]", "ioengine=nbd", f"uri=nbd+unix:///?socket={socket}"]
    return "\n".join([*lines, *(f"{key}={value}" for key, value in options.items())]) + "\n"


def fio(folder: pathlib.Path, *sections: str) -> dict:
    """Results by the name of the section."""
    file = folder / "jobs.fio"
    file.write_text("[global]\ngroup_reporting=0\ntime_based=1\n" + "\n".join(sections))
    done = ran("fio", "--output-format=json", file, cwd=folder)
    return {one["jobname"]: one for one in json.loads(done.stdout[done.stdout.index("{") :])["jobs"]}


def iops(folder: pathlib.Path, socket: str, seconds: float, jobs: int, **more) -> float:
    """Reads and writes a second, of all jobs together. Each job is a connection."""
    options = {"bs": "4k", "size": DISK.removesuffix("iB"), "iodepth": 16, "runtime": seconds, **more}
    done = fio(folder, *(job(f"j{at}", socket, **options) for at in range(jobs)))
    return sum(one["read"]["iops"] + one["write"]["iops"] for one in done.values())


def filled(folder: pathlib.Path, socket: str) -> None:
    """Writes every page once."""
    options = {"rw": "write", "bs": "256k", "size": DISK.removesuffix("iB"), "iodepth": 4, "time_based": 0}
    fio(folder, job("fill", socket, **options))


def compared(folder: pathlib.Path, pair: list[Server], rounds: int, seconds: float, jobs: int, **more):
    """The medians of reference and ours, and the median, least and largest ratio."""
    measured = []
    for at in range(rounds):
        both = [iops(folder, server.socket, seconds, jobs, **more) for server in pair[:: 1 if at % 2 else -1]]
        measured.append(both if at % 2 else both[::-1])
    ratios = [ours / reference for reference, ours in measured]
    medians = [statistics.median(column) for column in zip(*measured)]
    return [*medians, statistics.median(ratios), min(ratios), max(ratios)]


def print_row(what: str, numbers: list[float]) -> None:
    reference, ours, ratio, least, most = numbers
    print(f"| {what} | {reference:,.0f} | {ours:,.0f} | {ratio:.2f} | {least:.2f}–{most:.2f} |", flush=True)


def speed(arguments) -> int:
    if not shutil.which("fio") or not shutil.which("nbdkit"):
        print("skipped: there is no fio, or no nbdkit")
        return 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ftlab-live-", dir=arguments.folder))
    print("| requests | reference IOPS | ftlab IOPS | median ratio | all ratios |", "|---" * 5 + "|", sep="\n")
    in_memory(folder, arguments)
    on_image(folder, arguments)
    latencies(folder, arguments)
    shutil.rmtree(folder)
    return 0


def in_memory(folder: pathlib.Path, arguments) -> None:
    reference = Reference(folder, ["memory", DISK.removesuffix("iB")], "reference").start()
    ours = Server(folder, ["--memory", *arguments.ftl.split(), "--capacity", DISK], "ours").start()
    for server in (reference, ours):
        filled(folder, server.socket)
    for pattern, options in PATTERNS.items():
        for jobs in (1, 4):
            numbers = compared(folder, [reference, ours], arguments.rounds, arguments.seconds, jobs, **options)
            print_row(f"{pattern}, {jobs} connections, memory", numbers)
    ours.kill()
    reference.kill()


def on_image(folder: pathlib.Path, arguments) -> None:
    """Flushes beside writes. fio flushes more often than every 32 writes if several requests are in flight."""
    reference, ours = on_files(folder, arguments)
    flushes = []
    for depth in (1, 16):
        before = ours.command({"stats": True})["ok"]
        more = {"rw": "randwrite", "fsync": 32, "iodepth": depth}
        numbers = compared(folder, [reference, ours], arguments.rounds, arguments.seconds, 1, **more)
        print_row(f"4 KiB randwrite, fsync=32, depth {depth}, file", numbers)
        flushes.append(since(before, ours.command({"stats": True})["ok"]))
    for server in (reference, ours):
        server.kill()
    print(*flushes, sep="\n")


def on_files(folder: pathlib.Path, arguments) -> list[Server]:
    """The reference on a file and ours on an image, each written once."""
    image, raw = folder / "disk.img", folder / "disk.raw"
    image.unlink(missing_ok=True)
    raw.unlink(missing_ok=True)
    ftlab("image", "create", image, *arguments.ftl.split(), "--capacity", DISK, "--quiet")
    ran("truncate", "-s", DISK.removesuffix("iB"), raw)
    ours = Server(folder, ["--image", str(image)], "image")
    pair = [Reference(folder, ["file", str(raw)], "file").start(), ours.start()]
    for server in pair:
        filled(folder, server.socket)
    return pair


def since(before: dict, after: dict) -> str:
    """What the flash did for what the host wrote between two statistics."""
    def grown(group: str, name: str) -> int:
        return after[group][name] - before[group][name]

    writes, flushes = grown("requests", "writes"), grown("requests", "flushes")
    written = after["written_bytes"] - before["written_bytes"]
    page_bytes = after["written_bytes"] * after["write_amplification_bytes"] / after["flash"]["programs"]
    amplification = grown("flash", "programs") * page_bytes / written
    return (f"{writes:,} writes, {flushes:,} flushes, {grown('flash', 'programs'):,} programs, "
            f"{grown('flash', 'erases'):,} erases, write amplification {amplification:.3f}")


# ---- Latencies ----------------------------------------------------------------------------------------------------------


def latencies(folder: pathlib.Path, arguments) -> None:
    """The slowest reads of one client, alone and beside others that flush, or write and flush, all the time."""
    print("\n| reads of one client | server | reads a second | p50, µs | p99, µs | p99.9, µs |", "|---" * 6 + "|", sep="\n")
    pair = on_files(folder, arguments)
    for what, beside in BESIDE.items():
        for name, server in zip(("nbdkit", "ftlab"), pair):
            processes = [beside_process(server.socket, text) for text in beside]
            read = reader(folder, server.socket, arguments.seconds * 2)
            for process in processes:
                process.kill()
                process.wait()
            times = read["clat_ns"]["percentile"]
            row = [read["iops"], *(times[share] / 1000 for share in ("50.000000", "99.000000", "99.900000"))]
            print(f"| {what} | {name} |", " | ".join(f"{number:,.0f}" for number in row), "|", flush=True)
    for server in pair:
        server.kill()


def reader(folder: pathlib.Path, socket: str, seconds: float) -> dict:
    size = DISK.removesuffix("iB")
    options = {"rw": "randread", "bs": "4k", "size": size, "iodepth": 1, "runtime": seconds}
    return fio(folder, job("reader", socket, **options))["reader"]["read"]


# Programs of clients beside the reader: what each sends again and again.
BESIDE = {
    "alone": [],
    "one other flushes": ["command(wire.FLUSH, 0, 0)"],
    "one other writes 4 KiB and flushes": [
        "command(wire.WRITE, 4096 * draws.randrange(65536), 4096, bytes(4096)); command(wire.FLUSH, 0, 0)"
    ],
    "one other trims 128 MiB and writes it again": [
        "command(wire.TRIM, 1 << 27, 1 << 27); "
        "[command(wire.WRITE, (1 << 27) + (at << 16), 1 << 16, bytes(1 << 16)) for at in range(2048)]"
    ],
    "one other writes 64 MiB of zeroes": ["command(wire.ZERO, 1 << 27, 1 << 26, flags=wire.NO_HOLE)"],
    "one other writes 4 KiB with FUA": ["command(wire.WRITE, 4096 * draws.randrange(65536), 4096, bytes(4096), wire.FUA)"],
}
PROGRAM = """
import random, sys
sys.path.insert(0, {tools!r})
from served import wire
draws = random.Random(1)
connection = wire.connected({socket!r})[0]
def command(kind, offset, length, data=b"", flags=0):
    connection.sendall(wire.request(kind, 1, offset, length, flags) + data)
    wire.received(connection, 16)
while True:
    {text}
"""


def beside_process(socket: str, text: str) -> subprocess.Popen:
    tools = str(pathlib.Path(__file__).resolve().parent.parent)
    program = PROGRAM.format(tools=tools, socket=socket, text=text)
    return subprocess.Popen(["python3", "-c", program], stdin=subprocess.DEVNULL)
