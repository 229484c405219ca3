"""What has a report: a page of HTML that needs no network, or figures for a paper."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path


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


def write_files(folder: str | os.PathLike[str], files: Iterable[tuple[str, str]]) -> None:
    """Write files, given by name and content, to a folder, which is made if there is none."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8", newline="")
