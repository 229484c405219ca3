#!/usr/bin/env python3
"""What the interface for guests costs: instructions a flash operation, in ftlab and in a loop of the guest's own.

    python3 tools/guest_price.py [--ftlab target/release/ftlab] [--guest examples/guests/page.c]

Random whole requests on 64 MiB, 7 % extra blocks, from a full device on. Three programs serve them, and cachegrind counts:

    idle   a loop around the guest, with a chip that counts its operations and does nothing else
    array  the same, with the least chip that a guest can be mounted on again: arrays of spare areas and causes, and a program
           of a page that is programmed already is refused
    ftlab  `ftlab run` with the guest as a shared object

Each is the difference of two runs, so the time before the first request does not count. Needs valgrind and cc.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Bytes of requests, and the numbers of requests of the two runs.
REQUESTS = [(64 << 10, 4_000, 8_000), (2 << 10, 40_000, 120_000)]

LOOP = """
#include GUEST
#include <stdio.h>
#include <string.h>
#define SMALL __attribute__((noinline)) static ftlab_status
enum { BLOCKS = 548, PAGES = 64, BYTES = 2048, LOGICAL = 512 * PAGES };
static uint64_t operations;
static uint64_t of_cause[3][8];
static uint8_t spares[BLOCKS * PAGES][SPARE_BYTES], programmed[BLOCKS * PAGES], data[PAGES * BYTES];

SMALL read_page(const ftlab_chip *chip, uint32_t page, uint32_t offset, uint32_t bytes, void *to, void *spare, ftlab_cause cause)
{
    return FTLAB_OK;
}

SMALL program_page(const ftlab_chip *chip, uint32_t page, const void *from, const void *spare, ftlab_cause cause)
{
    operations++;
#ifdef ARRAYS
    if (programmed[page])
        return FTLAB_ILLEGAL;
    programmed[page] = 1;
    memcpy(spares[page], spare, SPARE_BYTES);
    of_cause[0][cause]++;
#endif
    return FTLAB_OK;
}

SMALL copy_page(const ftlab_chip *chip, uint32_t from, uint32_t to, const void *spare, ftlab_cause cause)
{
    operations++;
#ifdef ARRAYS
    if (!programmed[from] || programmed[to])
        return FTLAB_ILLEGAL;
    programmed[to] = 1;
    memcpy(spares[to], spare, SPARE_BYTES);
    of_cause[1][cause]++;
#endif
    return FTLAB_OK;
}

SMALL erase_a_block(const ftlab_chip *chip, uint32_t block, ftlab_cause cause)
{
    operations++;
#ifdef ARRAYS
    memset(programmed + block * PAGES, 0, PAGES);
    of_cause[2][cause]++;
#endif
    return FTLAB_OK;
}

SMALL nothing(const ftlab_chip *chip) { return FTLAB_OK; }
SMALL mark(const ftlab_chip *chip, uint32_t block) { return FTLAB_OK; }
static int good(const ftlab_chip *chip, uint32_t block) { return 0; }
static void silence(const ftlab_chip *chip, const char *sentence) {}

int main(int words, char **word)
{
    uint32_t requests = atoi(word[1]), pages = atoi(word[2]);
    ftlab_chip chip = { FTLAB_VERSION, sizeof chip, NULL, BLOCKS, PAGES, BYTES, SPARE_BYTES, 1, 1, 0, 0, read_page, program_page,
                        copy_page, erase_a_block, nothing, good, mark, silence };
    ftlab_device device = { sizeof device, 1, LOGICAL, BYTES, 1, 0, NULL, NULL };
    void *ftl;
    if (ftlab_get_guest()->mount(&chip, &device, &ftl))
        return 1;
    uint64_t state = 88172645463325252u;
    for (uint32_t request = 0; request < requests; request++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint32_t place = ((state >> 32) * (LOGICAL / pages)) >> 32;
        if (ftlab_get_guest()->write(ftl, place * pages, pages, data))
            return 2;
    }
    printf("%llu\\n", (unsigned long long)operations);
}
"""


def compile_c(source: pathlib.Path, to: pathlib.Path, *options: str) -> pathlib.Path:
    """What cc makes of a source, optimised as the Makefile of the examples does."""
    subprocess.run(["cc", "-O2", "-g", "-std=gnu11", "-w", f"-I{ROOT / 'include'}", *options, "-o", to, source], check=True)
    return to


def counted(command: list, folder: pathlib.Path) -> tuple[int, str]:
    """The instructions of a command and its children, and what it printed."""
    for old in folder.glob("cachegrind.*"):
        old.unlink()
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes",
                f"--cachegrind-out-file={folder}/cachegrind.%p"]
    said = subprocess.run([*valgrind, *map(str, command)], capture_output=True, text=True, check=True).stdout
    summaries = (re.search(r"^summary: (\d+)", out.read_text(), re.M) for out in folder.glob("cachegrind.*"))
    return sum(int(summary[1]) for summary in summaries if summary), said


def price(runs: list[tuple[int, int]]) -> float:
    """Instructions an operation, from the instructions and the operations of two runs."""
    (few, few_operations), (many, many_operations) = runs
    return (many - few) / (many_operations - few_operations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ftlab", type=pathlib.Path, default=ROOT / "target/release/ftlab")
    of_guest = "a guest in one file of C that defines SPARE_BYTES"
    parser.add_argument("--guest", type=pathlib.Path, default=ROOT / "examples/guests/page.c", help=of_guest)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        loop = folder / "loop.c"
        loop.write_text(LOOP.replace("GUEST", f'"{chosen.guest.resolve()}"'))
        loops = {"idle": compile_c(loop, folder / "idle"), "array": compile_c(loop, folder / "array", "-DARRAYS")}
        library = compile_c(chosen.guest, folder / "guest.so", "-shared", "-fPIC")

        def in_loop(program: pathlib.Path, request: int, requests: int) -> tuple[int, int]:
            instructions, said = counted([program, requests, request // 2048], folder)
            return instructions, int(said)

        def in_ftlab(request: int, requests: int) -> tuple[int, int]:
            load = f"uniform:writes={requests},request={request}"
            options = ["--capacity=64MiB", "--warmup=0", "--extra=7%", "--quiet", "--json=-", f"--ftl=guest:lib={library}"]
            instructions, said = counted([chosen.ftlab, "run", load, *options], folder)
            result = json.loads(said)
            return instructions, result["programs"]["total"] + result["erases"]["total"]

        for request, *numbers in REQUESTS:
            print(f"requests of {request >> 10} KiB, instructions a flash operation")
            for label, program in loops.items():
                print(f"  {label:6} {price([in_loop(program, request, number) for number in numbers]):6.1f}", flush=True)
            print(f"  ftlab  {price([in_ftlab(request, number) for number in numbers]):6.1f}", flush=True)


if __name__ == "__main__":
    main()
