#!/usr/bin/env python3
"""Guests that die at a random call. Whatever uses them must go on, or end with a sentence.

    python3 tools/guest_deaths.py run|check|serve|python [--deaths 1000] [--seed 1]

A guest is page mapping in C that does one of these deeds at the n-th call of its life; both are drawn:

    abort segv fpe kill exit leave      it ends its process
    smash wild                          it overwrites its stack, or memory of others
    close fork thread                   it closes all files, copies its process, calls the chip from another thread
    illegal nonsense forever busy       it breaks a rule of flash, answers with no status, does not return

    run, check   each death is a command of its own
    serve        one disk, whose power is switched on after each death. What was flushed must still be there
    python       one interpreter, in which `ftlab.run` fails again and again

`serve` needs libnbd for Python, `python` the package, in the interpreter that runs this tool. All need `make build`.
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FTLAB = pathlib.Path(os.environ.get("FTLAB", ROOT / "target/release/ftlab"))
# Seconds after which a call is taken for a hang, and after which a command must have ended.
PATIENCE, LATEST = 1, 60

DEEDS = {
    "abort": "abort();",
    "segv": "*(volatile int *)8 = 1;",
    "fpe": "raise(SIGFPE);",
    "kill": "kill(getpid(), SIGKILL);",
    "exit": "exit(0);",
    "leave": "_exit(3);",
    "smash": "memset(__builtin_frame_address(0), 0x41, 4096);",
    "wild": "for (uintptr_t at = 0; at < 64; at++) *(volatile char *)(0x10000 * random()) = 1;",
    "close": "for (int file = 3; file < 64; file++) close(file);",
    "fork": "fork();",
    "thread": "pthread_t other; pthread_create(&other, NULL, elsewhere, self); pthread_join(other, NULL);",
    "illegal": "CHIP->erase(CHIP, 99999999, FTLAB_GC);",
    "nonsense": "return 4711;",
    "forever": "for (;;) ;",
    "busy": "for (;;) CHIP->barrier(CHIP);",
}
# Each takes as long as the patience.
SLOW = ["forever", "busy"]

SOURCE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "{root}/examples/guests/broken/page_with.h"
#define CHIP (((struct page_ftl *)self)->chip)
static int deed = -1;
static long left = -1;
static void *elsewhere(void *self) {{ CHIP->erase(CHIP, 0, FTLAB_GC); return NULL; }}
static ftlab_status live(void *self)
{{
    if (left < 0 || --left != 0)
        return FTLAB_OK;
    switch (deed) {{ {cases} }}
    return FTLAB_OK;
}}
static ftlab_status mount_and_plan(const ftlab_chip *chip, const ftlab_device *device, void **self)
{{
    FILE *plan = fopen("{plan}", "r");
    if (plan) {{ if (fscanf(plan, "%d %ld", &deed, &left) != 2) left = -1; fclose(plan); }}
    ftlab_status status = page_mount(chip, device, self);
    return status ? status : live(*self);
}}
static ftlab_status write_alive(void *self, uint32_t first, uint32_t pages, const void *data)
{{
    ftlab_status status = live(self);
    return status ? status : page_write(self, first, pages, data);
}}
static ftlab_status read_alive(void *self, uint32_t first, uint32_t pages, void *data)
{{
    ftlab_status status = live(self);
    return status ? status : page_read(self, first, pages, data);
}}
static ftlab_status flush_alive(void *self) {{ return live(self); }}
GUEST_WITH("mortal", guest.mount = mount_and_plan; guest.write = write_alive; guest.read = read_alive;
           guest.flush = flush_alive)
"""


class Guest:
    """The shared object, and the file from which it learns how it dies."""

    def __init__(self, folder, rng):
        self.plan, self.rng = folder / "plan", rng
        cases = " ".join(f"case {at}: {{ {deed} }} break;" for at, deed in enumerate(DEEDS.values()))
        (folder / "mortal.c").write_text(SOURCE.format(root=ROOT, cases=cases, plan=self.plan))
        self.lib = folder / "mortal.so"
        options = ["-std=gnu11", "-O1", "-w", "-shared", "-fPIC", "-pthread", "-I", ROOT / "include"]
        subprocess.run(["cc", *options, "-o", self.lib, folder / "mortal.c"], check=True)

    def draw(self, calls_max):
        """Plans the next death, and returns its name."""
        names = [name for name in DEEDS if name not in SLOW or self.rng.random() < 0.15]
        deed = self.rng.choice(names)
        self.plan.write_text(f"{list(DEEDS).index(deed)} {self.rng.randint(1, calls_max)}\n")
        return deed

    def spare(self):
        """The next guest lives for ever."""
        self.plan.write_text("-1 -1\n")

    @property
    def spec(self):
        return f"guest:lib={self.lib}"


class Tally:
    """What the deaths led to, and what must not be."""

    def __init__(self):
        self.counts, self.wrong = collections.Counter(), []

    def add(self, deed, outcome, wrong=None):
        self.counts[deed, outcome] += 1
        if wrong:
            self.wrong.append((deed, outcome, wrong))

    def report(self):
        for (deed, outcome), count in sorted(self.counts.items(), key=str):
            print(f"{deed:10} {outcome!s:40} {count}")
        print(f"{sum(self.counts.values())} deaths, {len(self.wrong)} of them wrong")
        for wrong in self.wrong[:10]:
            print("wrong:", *wrong)
        return 1 if self.wrong else 0


def commands(args, guest, tally):
    """Each death is a command of its own."""
    if args.what == "run":
        line, calls, codes = "run oltp:requests=2K --capacity 4MiB --extra 10%", 3000, (0, 1)
    else:
        line = "check --geometry least --workload random --second-cuts 0 --short-programs 0 --first-cuts 16"
        calls, codes = 250, (0, 1, 3)
    for _ in range(args.deaths):
        deed = guest.draw(calls)
        command = [FTLAB, *line.split(), "--ftl", guest.spec]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LATEST)
        except subprocess.TimeoutExpired:
            tally.add(deed, "does not end", "it does not end")
            continue
        has_sentence = done.returncode in codes and (done.stdout or done.stderr)
        # A thread of ours may notice that its files are closed; it says that a guest may have done it.
        is_ours = "panicked" in done.stderr and "A guest runs in this process" not in done.stderr
        fine = has_sentence and not is_ours
        tally.add(deed, done.returncode, None if fine else done.stderr[-300:])


def served(args, guest, tally):
    """One disk. A write that was flushed must be there after each death."""
    import nbd

    folder = guest.plan.parent
    guest.spare()
    options = f"serve --memory --ftl {guest.spec} --capacity 4MiB --extra 10% --stay-down"
    sockets = ["--socket", folder / "s", "--control", folder / "c"]
    log = (folder / "log").open("w+")
    server = subprocess.Popen([FTLAB, *options.split(), *sockets], stderr=log)
    while not (folder / "s").exists():
        time.sleep(0.01)
    page, pages, rng = 4096, 1000, guest.rng
    # What each page may hold: the newest value last.
    values = [[0] for _ in range(pages)]

    def control(command):
        line = [FTLAB, "ctl", folder / "c", command]
        return subprocess.run(line, capture_output=True, text=True, timeout=LATEST)

    def content(number):
        return number.to_bytes(8, "little") * (page // 8)

    for number in range(1, args.deaths + 1):
        deed, outcome, wrong = guest.draw(200), "lived", None
        control('{"cut":"now"}')
        told = control('{"power":"on"}')
        try:
            client = nbd.NBD()
            client.connect_unix(str(folder / "s"))
            written = set()
            for step in range(300):
                at = rng.randrange(pages)
                values[at].append(number * 1000 + step)
                client.pwrite(content(number * 1000 + step), at * page)
                written.add(at)
                if step % 8 == 7:
                    client.flush()
                    for at in written:
                        del values[at][:-1]
                    written.clear()
        except nbd.Error as error:
            outcome = error.errno or "refused"
        guest.spare()
        control('{"cut":"now"}')
        told = control('{"power":"on"}')
        try:
            client = nbd.NBD()
            client.connect_unix(str(folder / "s"))
            for at in rng.sample(range(pages), 40):
                found = client.pread(page, at * page)
                value = int.from_bytes(found[:8], "little")
                if value not in values[at] or found != content(value):
                    wrong = f"page {at} has {value}, not one of {values[at]}"
                values[at] = [value]
        except nbd.Error as error:
            wrong = f"after power-on: {error}; {told.stdout} {told.stderr}"
        tally.add(deed, outcome, wrong)
        if server.poll() is not None:
            tally.add(deed, "the server ended", (folder / "log").read_text()[-500:])
            return
    server.send_signal(signal.SIGTERM)
    server.wait(LATEST)


def in_python(args, guest, tally):
    """One interpreter."""
    import ftlab

    for _ in range(args.deaths):
        deed = guest.draw(3000)
        begun = time.monotonic()
        try:
            ftlab.run("oltp:requests=2K", capacity="4MiB", extra="10%", ftl=guest.spec)
            outcome, wrong = "lived", None
        except ftlab.Error as error:
            outcome, wrong = type(error).__name__, None if str(error) else "no sentence"
        if time.monotonic() - begun > LATEST:
            wrong = "it took too long"
        tally.add(deed, outcome, wrong)
    guest.spare()
    ftlab.run("oltp:requests=2K", capacity="4MiB", extra="10%", ftl=guest.spec)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "check", "serve", "python"])
    parser.add_argument("--deaths", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ["FTLAB_GUEST_PATIENCE"] = str(PATIENCE)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        guest = Guest(pathlib.Path(folder), random.Random(args.seed))
        {"serve": served, "python": in_python}.get(args.what, commands)(args, guest, tally)
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
