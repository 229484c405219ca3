#!/usr/bin/env python3
"""Makes the films that docs/gallery.md lists: each block of code in it is a command that writes one film.

    python3 tools/gallery.py target/release/ftlab target/gallery

Stops at a command that fails, and at a film of more than 2 MB.
"""

import pathlib
import re
import subprocess
import sys

BYTES_MAX = 2_000_000
GALLERY = pathlib.Path(__file__).resolve().parent.parent / "docs/gallery.md"
BLOCK = re.compile(r"```sh\n(.*?)```\n", re.DOTALL)


def words_of(block: re.Match) -> list[str]:
    """The command that makes a film, word by word."""
    return block[1].replace("\\\n", " ").split()


def name_of(block: re.Match) -> str:
    words = words_of(block)
    return words[words.index("--film") + 1]


def with_links(text: str, folder: str) -> str:
    """The gallery's text with a link to each film in the folder, behind its command."""
    return BLOCK.sub(lambda block: f"{block[0]}\n[▶ Play this film]({folder}/{name_of(block)})\n", text)


def main(ftlab: str, folder: str) -> None:
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(ftlab).resolve())
    for block in BLOCK.finditer(GALLERY.read_text()):
        name = name_of(block)
        subprocess.run([program, *words_of(block)[1:], "--quiet"], cwd=out, check=True)
        size = (out / name).stat().st_size
        if size > BYTES_MAX:
            sys.exit(f"{name} has {size:,} bytes, more than {BYTES_MAX:,}")
        print(f"{out / name}  {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
