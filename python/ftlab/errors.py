"""What can go wrong: one class for each kind of failure, as the exit codes of the command."""

from __future__ import annotations

from ftlab.given import in_python


class Error(Exception):
    """Any failure of ftlab. ``exit_code`` is what the command would end with."""

    exit_code: int = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(in_python(message))


class UsageError(Error, ValueError):
    """Wrong options, an impossible device, or a mistake in a plan (exit code 2)."""

    exit_code = 2


class RunError(Error, RuntimeError):
    """The run failed: a trace that cannot be read, an FTL that gave up (exit code 1)."""

    exit_code = 1


class ViolationError(Error):
    """An FTL returned wrong data or broke an invariant (exit code 3).

    ``replay`` is the command that shows it again; ``None`` if the command cannot, because the
    trace came from memory or the FTL is a class.
    """

    exit_code = 3

    def __init__(self, message: str, replay: str | None = None) -> None:
        super().__init__(message if replay is None else f"{message}\nReplay:  {replay}")
        self.replay = replay


class BugError(Error):
    """A bug in ftlab itself: please report it with its message (exit code 101)."""

    exit_code = 101
