"""The pages of the site and the links between them."""

import html.parser
import os
import pathlib
import re
import urllib.parse

REPOSITORY = "https://github.com/ftlab/ftlab"
SUMMARY = "docs/SUMMARY.md"
MARK = "<!-- Pages that tools/build_site.py makes from the command stand here. -->\n"
FENCE = re.compile(r"^( {0,3})(```+|~~~+)(.*)$")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)\)")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
PERCENT = re.compile(r"(?<=\d) (?=%)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def titled_pages(root: pathlib.Path) -> list[tuple[str, str]]:
    """The pages that the summary lists, in their order: paths in the repository, and titles."""
    text = (root / SUMMARY).read_text()
    return [(os.path.normpath(f"docs/{target}"), title[1:-1]) for title, target in LINK.findall(text)]


def pages_of(root: pathlib.Path) -> list[str]:
    return [page for page, _ in titled_pages(root)]


def orphans(root: pathlib.Path, pages: list[str]) -> list[str]:
    """Pages of docs/ and of the root that the summary lacks."""
    here = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
    names = {str(path.relative_to(root)) for path in here}
    return sorted(names - set(pages) - {SUMMARY})


def prose(text: str) -> list[tuple[int, str]]:
    """The lines outside of code blocks, with their numbers from 1 and without code in the line."""
    lines, fence = [], None
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if found and (fence is None or found[2].startswith(fence) and not found[3].strip()):
            fence = found[2] if fence is None else None
        elif fence is None:
            lines.append((number, line))
    return lines


def anchors(text: str) -> set[str]:
    """The anchors of headings, as forges and mdBook make them: the same twice gets a number."""
    seen: dict[str, int] = {}
    for _, line in prose(text):
        if found := HEADING.match(line):
            words = LINK.sub(lambda link: link[1].strip("![]"), found[1])
            slug = "".join(c for c in words.lower().replace(" ", "-") if c.isalnum() or c in "-_")
            seen[slug] = seen.get(slug, -1) + 1
            if seen[slug]:
                seen[f"{slug}-{seen[slug]}"] = 0
    return set(seen)


def wrong_links(root: pathlib.Path, page: str) -> list[str]:
    """Links of a page that lead nowhere. Outside links are only judged by their form."""
    text = (root / page).read_text()
    wrong = []
    for number, line in prose(text):
        for _, target in LINK.findall(CODE.sub("", line)):
            if why := trouble(root, page, target):
                wrong.append(f"{page}:{number}: {target} {why}")
    return wrong


def trouble(root: pathlib.Path, page: str, target: str) -> str | None:
    """Why a link leads nowhere, if so."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme:
        return None if parts.scheme in ("https", "mailto") and "." in parts.netloc + parts.path else "is no address"
    path = root / os.path.normpath((pathlib.Path(page).parent / parts.path) if parts.path else page)
    if not path.exists():
        return "does not exist"
    if parts.fragment and parts.fragment not in anchors(path.read_text()):
        return "has no such heading"
    return None


def for_the_site(root: pathlib.Path, page: str, titles: dict[str, str]) -> str:
    """The text of a page for mdBook: links to other files lead to the repository, blocks without a language are text.
    A number and its % stay on one line."""
    lines, fence = [], None
    for line in (root / page).read_text().splitlines():
        found = FENCE.match(line)
        if found and fence is None:
            # What stands behind a language tells the tests something; mdBook would take it for classes.
            fence, line = found[2], f"{found[1]}{found[2]}{(found[3].split() or ['text'])[0]}"
        elif found and found[2].startswith(fence) and not found[3].strip():
            fence = None
        elif fence is None:
            line = outside_of_code(line, lambda text: LINK.sub(lambda link: of_the_site(page, titles, link), text))
            line = outside_of_code(line, lambda text: PERCENT.sub("\u00a0", text))
        lines.append(line)
    return "\n".join(lines) + "\n"


def outside_of_code(line: str, change) -> str:
    """The line with its text changed, but not the code in it. Links around code are text."""
    spans = [] if LINK.search(line) else [found.span() for found in CODE.finditer(line)]
    done, at = "", 0
    for begin, end in spans:
        done, at = done + change(line[at:begin]) + line[begin:end], end
    return done + change(line[at:])


def of_the_site(page: str, titles: dict[str, str], link: re.Match) -> str:
    parts = urllib.parse.urlsplit(link[2])
    path = os.path.normpath(pathlib.Path(page).parent / parts.path)
    if parts.scheme or not parts.path:
        return link[0]
    if path not in titles:
        return f"{link[1]}({REPOSITORY}/blob/main/{path})"
    # Readers of the repository know a page by its file, those of the site by its title.
    return f"[*{titles[path]}*]({link[2]})" if link[1].endswith(".md]") else link[0]


def summary(root: pathlib.Path, made: dict[str, str]) -> str:
    """The summary for mdBook, whose pages begin at the root of the repository."""
    text = (root / SUMMARY).read_text()
    assert MARK in text, f"{SUMMARY} lost the mark for the pages that are made"
    moved = LINK.sub(lambda link: f"{link[1]}({os.path.normpath('docs/' + link[2])})", text)
    return moved.replace(MARK, "".join(f"- [{title}]({name})\n" for name, title in made.items()))


class Html(html.parser.HTMLParser):
    """The links and anchors of a page of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and tag != "base" and value:
                self.links.add(value)
            if name == "id" and value:
                self.ids.add(value)


def wrong_links_of_html(site: pathlib.Path, apart: str) -> list[str]:
    """Links of the site's HTML that lead nowhere. The folder `apart` is only linked to: its maker checks it."""
    files = [path for path in site.rglob("*.html") if apart not in path.relative_to(site).parts]
    read = {path.resolve(): Html(path.read_text()) for path in files}
    wrong = []
    for path, page in read.items():
        for link in sorted(page.links):
            parts = urllib.parse.urlsplit(link)
            # mdBook links from 404.html as from the root of a server.
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            fragment = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link} does not exist")
            elif fragment and target in read and fragment not in read[target].ids:
                wrong.append(f"{path.relative_to(site)}: {link} has no such place")
    return wrong
