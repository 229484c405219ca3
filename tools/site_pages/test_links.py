"""The checker of pages must find each kind of mistake. In `tools`: `python3 -m unittest site_pages.test_links`"""

import pathlib
import tempfile
import unittest

from . import links

PAGE = """# A page

[same](#a-page) [other](other.md#its-heading) [outside](https://example.org/x) `[code](nowhere.md)`

```text
[in a block](nowhere.md)
```
"""


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/SUMMARY.md", f"[ftlab](../README.md)\n{links.MARK}- [A page](page.md)\n- [Other](other.md)\n")
        self.write("README.md", "# ftlab\n[page](docs/page.md)\n[program](tools/x.py)\n")
        self.write("tools/x.py", "")
        self.write("docs/page.md", PAGE)
        self.write("docs/other.md", "# Other\n## Its heading\n## `Its` heading!\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def wrong(self, line: str) -> list[str]:
        self.write("docs/page.md", PAGE + line + "\n")
        return links.wrong_links(self.root, "docs/page.md")

    def test_right_pages_have_no_complaint(self) -> None:
        pages = links.pages_of(self.root)
        self.assertEqual(pages, ["README.md", "docs/page.md", "docs/other.md"])
        self.assertEqual(links.orphans(self.root, pages), [])
        self.assertEqual([wrong for page in pages for wrong in links.wrong_links(self.root, page)], [])

    def test_a_page_that_the_summary_lacks_is_an_orphan(self) -> None:
        self.write("docs/new/lost.md", "# Lost\n")
        self.assertEqual(links.orphans(self.root, links.pages_of(self.root)), ["docs/new/lost.md"])

    def test_a_dead_link_is_found_with_its_line(self) -> None:
        self.assertEqual(self.wrong("[dead](nowhere.md)"), ["docs/page.md:8: nowhere.md does not exist"])

    def test_a_dead_anchor_is_found(self) -> None:
        self.assertEqual(self.wrong("[dead](other.md#no)"), ["docs/page.md:8: other.md#no has no such heading"])
        self.assertEqual(self.wrong("[second](other.md#its-heading-1)"), [])

    def test_an_address_needs_a_form(self) -> None:
        self.assertEqual(self.wrong("[bad](http:/x)"), ["docs/page.md:8: http:/x is no address"])

    def test_links_to_programs_lead_to_the_repository(self) -> None:
        text = links.for_the_site(self.root, "README.md", dict(links.titled_pages(self.root)))
        self.assertIn(f"[program]({links.REPOSITORY}/blob/main/tools/x.py)", text)
        self.assertIn("[page](docs/page.md)", text)

    def test_the_site_names_pages_by_their_titles(self) -> None:
        self.write("docs/page.md", "# A page\n[other.md](other.md#its-heading) [other](other.md)\n")
        text = links.for_the_site(self.root, "docs/page.md", dict(links.titled_pages(self.root)))
        self.assertIn("[*Other*](other.md#its-heading) [other](other.md)", text)

    def test_dead_links_of_html_are_found(self) -> None:
        self.write("site/a.html", '<a href="b.html#there">b</a> <a href="#me" id="me">a</a> <img src="api/x.svg">')
        self.write("site/b.html", '<h1 id="there">b</h1> <a href="c.html">c</a> <a href="a.html#no">a</a>')
        wrong = links.wrong_links_of_html(self.root / "site", apart="api")
        self.assertEqual(sorted(wrong), [
            "a.html: api/x.svg does not exist", "b.html: a.html#no has no such place", "b.html: c.html does not exist",
        ])
