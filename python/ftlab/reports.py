"""What has a report: a page of HTML that needs no network."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from ftlab.written import Files, write_page


class Reported(ABC):
    """Something with a report, as ``--report`` of the command writes it."""

    _read: Files
    """The files of the trace."""

    @abstractmethod
    def to_html(self) -> str:
        """The report: a page that needs no network."""

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, which is replaced if it exists.

        Figures along the trace need ``interval="auto"``.

        Raises
        ------
        UsageError
            The trace would be overwritten, or the name is that of another format than HTML.
        FileNotFoundError
            There is no such folder.
        """
        write_page(path, self.to_html(), self._read)
