"""Files that are written, but never over the trace that was read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from ftlab import _native
from ftlab._plan_text import plan_text
from ftlab.errors import UsageError

Files = tuple[str, ...]
"""The absolute paths of the files that a trace was read from; none for a workload or columns."""


def files_of(trace: object, loads: Sequence[str] | str | None = None) -> Files:
    """The files behind the name of a trace, or behind loads, as the command finds them.

    A name is that of a file, of a folder, of a file in an archive, a pattern, or what files of
    blktrace have in common.
    """
    base: dict[str, object] = {"trace": trace}
    if loads:
        base = {"load": loads if isinstance(loads, str) else list(loads)}
    elif trace is None:
        return ()
    return files_of_plan(_native.NativePlan.parse(plan_text({"base": base})))


def files_of_plan(plan: _native.NativePlan) -> Files:
    """The files behind the traces of a plan."""
    found = plan.trace_files(range(len(plan)))
    return tuple(os.path.abspath(file) for _, files in found for file in files)


def refuse_read(path: str | os.PathLike[str], read: Iterable[str]) -> None:
    """Refuse to write a file that was read. A link to such a file counts as the same file.

    Raises
    ------
    UsageError
        The trace would be overwritten.
    """
    if not os.path.exists(path):
        return
    for file in read:
        if os.path.exists(file) and os.path.samefile(path, file):
            raise UsageError(
                f"{os.fspath(path)} belongs to the trace, which would be overwritten; name "
                "another file"
            )


def refuse_no_file(path: str | os.PathLike[str]) -> None:
    """Refuse what is not the name of a file: an empty text, and a folder.

    Raises
    ------
    UsageError
        No file can have this name.
    """
    name = os.fspath(path)
    if not name:
        raise UsageError("the name of the file is empty: give it one")
    if os.path.isdir(name):
        raise UsageError(f"{name} is a folder: name a file in it")


def refuse_missing_folder(path: str | os.PathLike[str]) -> None:
    """Refuse to write a file in a folder that does not exist.

    Raises
    ------
    FileNotFoundError
        There is no such folder; the message has the call that makes it.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"cannot write {os.fspath(path)}: there is no folder {folder}; make it first, with "
            f"os.makedirs({str(folder)!r})"
        )


def write_file(path: str | os.PathLike[str], content: str | bytes, read: Iterable[str]) -> None:
    """Write a file, which is replaced if it exists, unless it is one that was read."""
    refuse_no_file(path)
    refuse_read(path, read)
    refuse_missing_folder(path)
    try:
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        # A full disk does not name the file.
        error.filename = error.filename or os.fspath(path)
        raise


def write_page(path: str | os.PathLike[str], html: str, read: Iterable[str]) -> None:
    """Write a page of HTML as :func:`write_file` does, under no name of another format.

    Raises
    ------
    UsageError
        The name ends in something else than ``.html`` or ``.htm``.
    """
    refuse_read(path, read)
    _native.refuse_other_format(os.fspath(path))
    write_file(path, html, ())


def write_files(
    folder: str | os.PathLike[str], files: Iterable[tuple[str, str]], read: Iterable[str]
) -> None:
    """Write files, given by name and content, to a folder, which is made if there is none.

    Raises
    ------
    UsageError
        It is no folder, or a file of the trace would be overwritten.
    """
    if not os.fspath(folder):
        raise UsageError("the name of the folder is empty: give it one, such as '.'")
    contents = {Path(folder, name): text for name, text in files}
    read = list(read)
    for path in (folder, *contents):
        refuse_read(path, read)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{error.filename} is no folder: name another one") from None
    for path, text in contents.items():
        write_file(path, text, ())


def write_trace(
    trace: _native.NativeTrace, path: str | os.PathLike[str], format: str | None, read: Files
) -> None:
    """Write a trace to a file, which appears when it is complete. Warns of names that it changes."""
    refuse_no_file(path)
    format = _format_of(os.fspath(path), format)
    refuse_read(path, read)
    refuse_missing_folder(path)
    unfinished = f"{os.fspath(path)}.unfinished-{os.getpid()}"
    try:
        changes = trace.write(unfinished, format)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)
    if changes:
        warnings.warn(changes, stacklevel=3)


FORMATS = ("csv", "fio", "blkparse")
"""The formats in which traces are written."""


def _format_of(path: str, given: str | None) -> str:
    """The format of a file that is to be written."""
    ending = Path(path).suffix[1:]
    if ending in ("gz", "zst", "xz"):
        raise UsageError(f"{path}: traces are written, but not compressed; leave out .{ending}")
    if given is None and ending not in FORMATS:
        raise UsageError(
            f"{path}: its ending tells no format; give one, such as format='csv', or end the name "
            f"in {', '.join(f'.{one}' for one in FORMATS)}"
        )
    return ending if given is None else given
