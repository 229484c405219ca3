"""What has a report: a page of HTML that needs no network."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod


class Reported(ABC):
    """Something with a report, as ``--report`` of the command writes it."""

    @abstractmethod
    def to_html(self) -> str:
        """The report: a page that needs no network."""

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, which is replaced if it exists."""
        page = self.to_html()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
