#!/usr/bin/env python3
"""Builds the site of the documentation, or checks that its pages are complete and their links right.

    python3 tools/build_site.py --check                        orphans and links of the pages in the repository
    python3 tools/build_site.py --mdbook M --ftlab F --api D    the site in target/site, with the reference that F prints

docs/SUMMARY.md says which pages there are, and in which order. They are copied to target/site-pages, where mdBook finds
them. Links to files that are no pages lead to the repository. The films of the gallery are made beside its page.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

import gallery
from site_pages import links, reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "tools/site_pages"
FILMS = "docs/gallery"
STAGE = ROOT / "target/site-pages"
SITE = ROOT / "target/site"
SHORT_CODE = re.compile("<code>([^<>]{1,24})</code>")


def complaints_of_pages() -> list[str]:
    """What is wrong with the pages in the repository."""
    pages = links.pages_of(ROOT)
    found = [f"{page}: no page of the site" for page in links.orphans(ROOT, pages)]
    found += [f"docs/SUMMARY.md: {page} is listed twice" for page in {p for p in pages if pages.count(p) > 1}]
    return found + [wrong for page in pages for wrong in links.wrong_links(ROOT, page)]


def stage(ftlab: str) -> None:
    """Lays the pages out for mdBook, with those that the command writes."""
    shutil.rmtree(STAGE, ignore_errors=True)
    source = STAGE / "src"
    titles = dict(links.titled_pages(ROOT))
    for page in titles:
        text = links.for_the_site(ROOT, page, titles)
        write(source / page, gallery.with_links(text, "gallery") if page == f"{FILMS}.md" else text)
    gallery.main(ftlab, str(source / FILMS))
    made = reference.pages(ROOT, ftlab)
    for name, (_, text) in made.items():
        write(source / name, text)
    write(source / "SUMMARY.md", links.summary(ROOT, {name: title for name, (title, _) in made.items()}))
    shutil.copy(CONFIG / "book.toml", STAGE)
    shutil.copy(CONFIG / "site.css", STAGE)


def write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(mdbook: str, ftlab: str, api: pathlib.Path) -> list[str]:
    """Builds the site; returns what is wrong with the links of its HTML."""
    stage(ftlab)
    subprocess.run([mdbook, "build", STAGE], check=True)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(STAGE / "html", SITE)
    for page in SITE.rglob("*.html"):
        page.write_text(SHORT_CODE.sub(r'<code class="short">\1</code>', page.read_text()))
    shutil.copytree(api, SITE / "api")
    return links.wrong_links_of_html(SITE, apart="api")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only check the pages in the repository")
    parser.add_argument("--mdbook", default="mdbook", help="the program mdBook")
    parser.add_argument("--ftlab", default="ftlab", help="the command that writes the reference")
    parser.add_argument("--api", type=pathlib.Path, help="the folder of cargo's documentation")
    asked = parser.parse_args()
    if not asked.check and asked.api is None:
        parser.error("--api must say where cargo wrote the documentation of the crates; or use --check")
    wrong = complaints_of_pages()
    if not wrong and not asked.check:
        wrong = build(asked.mdbook, asked.ftlab, asked.api)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(links.pages_of(ROOT))} pages, no orphan, no broken link")


if __name__ == "__main__":
    main()
