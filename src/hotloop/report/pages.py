"""Pages: a profile's record written out for people, beside the record itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hotloop.records.files import write_atomically
from hotloop.report.profile_html import profile_html
from hotloop.report.profile_markdown import profile_markdown

PAGES = {"report.md": profile_markdown, "report.html": profile_html}


def write_pages(record: Mapping[str, Any], folder: Path) -> list[Path]:
    """Every page, and where each was written."""
    paths = [folder / name for name in PAGES]
    for path, page in zip(paths, PAGES.values()):
        write_atomically(path, page(record).encode())
    return paths
