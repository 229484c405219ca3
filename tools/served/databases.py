"""Data bases on the served disk. What was committed before a power cut must be there after it."""

import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from ftlab_powercut.campaign import OUTCOMES
from ftlab_powercut.mounts import Damaged, Mount, missing, ran
from served.server import Reference, Server
from served.watcher import Watcher

# Of the default chip.
PAGE_BYTES = 2048
# A program of its own, so that it can be ended while the disk is gone. It prints each row that was committed.
SQLITE_WRITER = """
import random, sqlite3, sys
path, journal, seed, row = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draws = random.Random(seed)
base = sqlite3.connect(path, isolation_level=None)
base.execute("PRAGMA journal_mode=" + journal)
# With FULL, a commit in journal mode DELETE may be lost: the folder is not synced when the journal is removed.
base.execute("PRAGMA synchronous=EXTRA")
while True:
    base.execute("BEGIN")
    rows = draws.randrange(1, 6)
    for _ in range(rows):
        row += 1
        base.execute("INSERT INTO rows VALUES (?, ?)", (row, (str(row) + " ") * draws.randrange(1, 400)))
    if row > 400 and draws.random() < 0.3:
        base.execute("UPDATE rows SET text = text || '!' WHERE id = ?", (draws.randrange(1, row - 10),))
    base.execute("COMMIT")
    print(row, flush=True)
"""


def serve_options(arguments, capacity: str) -> list[str]:
    return ["--memory", *arguments.ftl.split(), "--capacity", capacity]


class Disk:
    """The server, the file system on it, and how its power is cut."""

    def __init__(self, arguments, kind: str, capacity: str):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ftlab-live-", dir=arguments.folder))
        self.folder.chmod(0o755)
        self.draws = random.Random(arguments.seed)
        self.is_reference, self.last_cut = arguments.server == "file", None
        self.server = self.reference(capacity) if self.is_reference else self.ours(arguments, capacity)
        self.server.start()
        self.watcher = self.watched() if arguments.watch else None
        self.mount = Mount(self.folder, self.watcher.listens if self.watcher else self.server.socket, kind)

    def ours(self, arguments, capacity: str) -> Server:
        return Server(self.folder, serve_options(arguments, capacity))

    def reference(self, capacity: str) -> Server:
        ran("truncate", "-s", capacity.removesuffix("iB"), self.folder / "disk.raw")
        return Reference(self.folder, ["file", self.folder / "disk.raw"])

    def watched(self) -> Watcher:
        return Watcher(str(self.folder / "watched.sock"), self.server.socket, PAGE_BYTES)

    def first(self) -> None:
        self.mount.attach()
        self.mount.format()
        self.mount.mount()

    def cut(self) -> None:
        """Cuts the power at a random operation of the flash."""
        if self.is_reference:
            self.server.kill()
            self.server.start()
            return
        outcome = self.draws.choice(OUTCOMES)
        self.last_cut = {"cut": {"after": self.draws.randrange(60)}, "outcome": outcome}
        self.server.command(self.last_cut)

    def again(self) -> None:
        """Boots the machine after a cut."""
        self.mount.detach()
        if self.watcher and (wrong := self.watcher.after_failure()):
            raise Damaged(f"{len(wrong)} sectors: " + "\n".join(wrong[:8]))
        self.mount.attach()
        self.mount.repair()
        self.mount.mount()

    def save(self) -> None:
        """Keeps the files of the file system, and the disk as the server reads it."""
        ended = {"server": self.server.process.poll(), "nbdfuse": self.mount.process.poll()}
        print(f"exit codes, none for a process that runs: {ended}")
        ran("cp", "-r", self.mount.root, self.folder / "files", check=False)
        uri = f"nbd+unix:///?socket={self.server.socket}"
        ran("nbdcopy", uri, self.folder / "disk.raw", check=False)

    def end(self, keep: bool) -> None:
        if keep:
            self.save()
        self.mount.detach()
        self.server.end()
        if keep:
            print(f"the files are in {self.folder}")
        else:
            shutil.rmtree(self.folder)


def skipped(*programs: str) -> bool:
    if absent := missing(*programs):
        print(f"skipped: there is no {', no '.join(absent)}")
    return bool(absent)


# ---- SQLite -------------------------------------------------------------------------------------------------------------


def sqlite(arguments) -> int:
    """Cuts the power under SQLite. Returns the number of failures."""
    if skipped("mkfs.ext4", "e2fsck"):
        return 0
    disk, row, started = Disk(arguments, "ext4", "64MiB"), 0, time.monotonic()
    path, rounds, failed = disk.mount.root / "rows.db", 0, 1
    try:
        disk.first()
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")
        base.close()
        ran("sync", "-f", path)
        for rounds in range(1, arguments.rounds + 1):
            known = written_until_cut(disk, path, ["DELETE", "WAL", "TRUNCATE"][rounds % 3], row)
            disk.again()
            row = compared_rows(path, known)
        failed = 0
    except (Damaged, sqlite3.DatabaseError) as damaged:
        print(f"round {rounds}, {disk.last_cut}: {damaged}")
    finally:
        disk.end(keep=failed > 0)
    print(f"SQLite on ext4: {rounds} cuts, {row:,} rows committed and found, {failed} failures, "
          f"{time.monotonic() - started:.0f} s")
    return failed


def written_until_cut(disk: Disk, path: pathlib.Path, journal: str, row: int) -> int:
    """Writes rows until the power is cut. Returns the last row that was committed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", SQLITE_WRITER, str(path), journal, str(disk.draws.randrange(1 << 30)), str(row)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    time.sleep(disk.draws.random() * 0.7)
    disk.cut()
    try:
        said, _ = writer.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        writer.kill()
        said, _ = writer.communicate()
    lines = said.split()
    return int(lines[-1]) if lines else row


def compared_rows(path: pathlib.Path, known: int) -> int:
    """Compares the rows with those known to be committed. Returns the last row, which may be a later one."""
    base = sqlite3.connect(path)
    whole = base.execute("PRAGMA integrity_check").fetchone()[0]
    if whole != "ok":
        raise Damaged(f"integrity_check: {whole[:800]}")
    count, last = base.execute("SELECT count(*), coalesce(max(id), 0) FROM rows").fetchone()
    texts = base.execute("SELECT id, text FROM rows")
    wrong = [row for row, text in texts if set(text.rstrip("!").split()) != {str(row)}]
    base.close()
    if last < known or count != last or wrong:
        raise Damaged(f"row {known} was committed, {count} rows up to {last}, wrong: {wrong[:5]}")
    return last


# ---- PostgreSQL ---------------------------------------------------------------------------------------------------------


class Postgres:
    """A cluster of PostgreSQL in the file system."""

    def __init__(self, disk: Disk):
        self.data, self.sockets, self.log = disk.mount.root / "data", disk.folder / "pg", disk.folder / "pg.log"
        self.process = None
        self.sockets.mkdir()
        shutil.chown(self.sockets, "postgres")
        self.log.touch()
        shutil.chown(self.log, "postgres")

    def ran(self, *words, **options) -> subprocess.CompletedProcess:
        return ran(*words, user="postgres", cwd="/tmp", **options)

    def create(self) -> None:
        self.data.mkdir()
        shutil.chown(self.data, "postgres")
        self.ran("initdb", "-k", "-D", self.data, "-A", "trust")
        self.start()
        self.ran("pgbench", "-h", self.sockets, "-i", "-q", "-s", "2", "postgres")
        self.sql("CREATE TABLE seen (id BIGINT PRIMARY KEY)")

    def start(self) -> None:
        options = ["-c", "listen_addresses=", "-k", str(self.sockets), "-c", "checkpoint_timeout=30s"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [shutil.which("postgres"), "-D", str(self.data), *options],
                stdout=log, stderr=log, user="postgres", cwd="/tmp",
            )
        end = time.monotonic() + 60
        while self.ran("pg_isready", "-q", "-h", self.sockets, check=False).returncode:
            if time.monotonic() > end or self.process.poll() is not None:
                raise Damaged(f"PostgreSQL does not start: {self.log.read_text()[-800:]}")
            time.sleep(0.05)

    def stop(self, how: int) -> None:
        """Ends all processes, also if the disk is gone and the file with their number cannot be read."""
        self.process.send_signal(how)
        self.process.wait(60)

    def sql(self, text: str) -> str:
        done = self.ran("psql", "-h", self.sockets, "-qAt", "-c", text, "postgres", check=False)
        if done.returncode:
            raise Damaged(f"{text}: {done.stderr} {self.log.read_text()[-800:]}")
        return done.stdout.strip()

    def client(self, *words, **options) -> subprocess.Popen:
        command = [words[0], "-h", str(self.sockets), *words[1:], "postgres"]
        quiet = {"stderr": subprocess.DEVNULL, "text": True, "user": "postgres", "cwd": "/tmp"}
        return subprocess.Popen(command, **quiet, **options)


def postgres(arguments) -> int:
    """Cuts the power under PostgreSQL. Returns the number of failures."""
    if skipped("mkfs." + arguments.filesystem, "initdb", "pgbench", "pg_checksums", "pg_amcheck"):
        return 0
    disk, started = Disk(arguments, arguments.filesystem, "512MiB"), time.monotonic()
    base, rounds, last, failed = Postgres(disk), 0, 0, 1
    try:
        disk.first()
        base.create()
        for rounds in range(1, arguments.rounds + 1):
            known = worked_until_cut(disk, base, last)
            disk.again()
            base.start()
            last = compared_base(base, known)
        check_at_rest(disk, base)
        failed = 0
    except Damaged as damaged:
        print(f"round {rounds}, {disk.last_cut}: {damaged}")
    finally:
        if base.process:
            base.stop(signal.SIGQUIT)
        disk.end(keep=failed > 0)
    print(f"PostgreSQL on {arguments.filesystem}: {rounds} cuts, {last:,} transactions answered and found, "
          f"{failed} failures, {time.monotonic() - started:.0f} s")
    return failed


def worked_until_cut(disk: Disk, base: Postgres, last: int) -> int:
    """Runs pgbench, and a client that inserts numbers, until a cut. Returns the last number that was answered."""
    bench = base.client("pgbench", "-n", "-c", "4", "-T", "60", stdout=subprocess.DEVNULL)
    script = disk.folder / "seen.sql"
    lines = [f"INSERT INTO seen VALUES ({number}) RETURNING id;" for number in range(last + 1, last + 50_000)]
    script.write_text("\n".join(lines))
    numbers = base.client("psql", "-qAt", "-f", str(script), stdout=subprocess.PIPE)
    time.sleep(0.5 + disk.draws.random() * 2)
    disk.cut()
    time.sleep(0.3)
    base.stop(signal.SIGQUIT)
    bench.wait(60)
    said = numbers.communicate(timeout=60)[0].split()
    return int(said[-1]) if said else last


def compared_base(base: Postgres, known: int) -> int:
    """Compares numbers and the sums of pgbench after a recovery. Returns the last number."""
    count, last = map(int, base.sql("SELECT count(*), coalesce(max(id), 0) FROM seen").split("|"))
    if last < known or count != last:
        raise Damaged(f"number {known} was answered, {count} numbers up to {last}")
    tables = {"pgbench_accounts": "abalance", "pgbench_branches": "bbalance", "pgbench_tellers": "tbalance"}
    sums = {base.sql(f"SELECT sum({balance}) FROM {table}") for table, balance in tables.items()}
    sums.add(base.sql("SELECT coalesce(sum(delta), 0) FROM pgbench_history"))
    if len(sums) != 1:
        raise Damaged(f"the sums of pgbench differ: {sums}")
    return last


def check_at_rest(disk: Disk, base: Postgres) -> None:
    checked = base.ran("pg_amcheck", "-h", base.sockets, "--install-missing", "--heapallindexed", "postgres", check=False)
    disk.mount.expect_clean(checked, {0})
    base.stop(signal.SIGINT)
    disk.mount.expect_clean(base.ran("pg_checksums", "--check", "-D", base.data, check=False), {0})
    disk.mount.check_unmounted()
