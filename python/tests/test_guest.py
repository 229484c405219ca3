"""FTLs in Python: run, checked, and what goes wrong in them."""

import shutil
import subprocess

import pytest
from conftest import ROOT

import ftlab
from ftlab.guest import Ftl, IllegalCommand, ReadOnly, Unreadable


class Page(Ftl):
    """Page mapping. Every write is durable, and torn pages are left behind."""

    durability = "write"
    cuts = ("torn",)
    spare_bytes = 16

    def mount(self, chip, device):
        self.chip, self.pages, self.room = chip, device.logical_pages, 0
        found = [] if device.is_new else list(self.scan())
        self.next_version = max((version for version, _, _ in found), default=0) + 1
        self.adopt(found)
        if not self.free:
            # The newest block has nothing but copies, whose originals are still there.
            newest = max(found)[2] // chip.pages_per_block
            self.adopt([it for it in found if it[2] // chip.pages_per_block != newest])
        self.dirty = set() if device.is_new else set(self.free)

    def scan(self):
        for page in range(self.chip.blocks * self.chip.pages_per_block):
            try:
                spare = self.chip.read_spare(page)
            except Unreadable:
                continue
            if spare is not None:
                version = int.from_bytes(spare[4:], "little")
                yield version, int.from_bytes(spare[:4], "little"), page

    def adopt(self, found):
        self.map = {lpn: page for _, lpn, page in sorted(found)}
        self.owner = {page: lpn for lpn, page in self.map.items()}
        used = {page // self.chip.pages_per_block for page in self.owner}
        self.free = [block for block in range(self.chip.blocks) if block not in used]

    def read(self, first, pages):
        size = self.chip.page_bytes
        found = (self.map.get(lpn) for lpn in range(first, first + pages))
        return b"".join(bytes(size) if at is None else self.chip.read(at, cause="host") for at in found)

    def write(self, first, pages, data):
        size = self.chip.page_bytes
        for index in range(pages):
            while self.room == 0:
                if len(self.free) > 1:
                    self.take_block()
                else:
                    self.collect()
            self.program(first + index, data[index * size : (index + 1) * size], "host")

    def take_block(self):
        block = self.free.pop(0)
        if block in self.dirty:
            self.chip.erase(block)
            self.dirty.discard(block)
        self.open, self.room = block * self.chip.pages_per_block, self.chip.pages_per_block

    def program(self, lpn, data, cause):
        spare = lpn.to_bytes(4, "little") + self.next_version.to_bytes(12, "little")
        self.chip.program(self.open, data, spare, cause=cause)
        self.owner.pop(self.map.get(lpn), None)
        self.map[lpn], self.owner[self.open] = self.open, lpn
        self.open, self.room, self.next_version = self.open + 1, self.room - 1, self.next_version + 1

    def collect(self):
        per_block = self.chip.pages_per_block
        blocks = set(range(self.chip.blocks)) - set(self.free)
        valid = {block: [] for block in blocks}
        for page, lpn in self.owner.items():
            valid[page // per_block].append((page, lpn))
        victim = min(blocks, key=lambda block: (len(valid[block]), block))
        if len(valid[victim]) == per_block:
            raise ReadOnly("no block has a dead page")
        for page, lpn in sorted(valid[victim]):
            if self.room == 0:
                self.take_block()
            self.program(lpn, self.chip.read(page), "gc")
        self.chip.erase(victim)
        self.free.append(victim)

    def ram(self):
        return 4 * self.pages

    def figures(self):
        return {"mapped": len(self.map)}


class Forgetful(Page):
    """The bug: a mount on flash that is in use finds nothing."""

    def mount(self, chip, device):
        super().mount(chip, device)
        if not device.is_new:
            self.map, self.owner = {}, {}
            self.free = list(range(chip.blocks))
            self.dirty = set(self.free)


class Twice(Page):
    """The bug: every eighth program is done twice."""

    def program(self, lpn, data, cause):
        super().program(lpn, data, cause)
        if self.next_version % 8 == 0:
            self.chip.program(self.open - 1, data, cause=cause)


class Early(Page):
    """The bug: a victim is erased while its valid pages are in RAM alone."""

    held = None

    def collect(self):
        self.held = []
        super().collect()
        held, self.held = self.held, None
        for lpn, data in held:
            if self.room == 0:
                self.take_block()
            self.program(lpn, data, "gc")

    def program(self, lpn, data, cause):
        if self.held is None:
            super().program(lpn, data, cause)
        else:
            self.held.append((lpn, data))


class Wrong(Page):
    """The bug: a mistake in Python."""

    def write(self, first, pages, data):
        if self.next_version > 20:
            raise KeyError(first)
        super().write(first, pages, data)


LIFE = {"capacity": "2MiB", "extra": "20%"}
SMALL = {**LIFE, "warmup": 0}


def test_a_class_is_run_and_counts_as_page_does():
    result = ftlab.run("uniform:requests=3K", ftl=Page, verify=True, **SMALL)
    ours = ftlab.run("uniform:requests=3K", ftl="page", **SMALL)
    assert result["programs"]["host"] == ours["programs"]["host"]
    assert result.write_amplification == pytest.approx(ours.write_amplification, rel=0.02)
    assert result["scheme"]["guest"] == "Page"
    assert result["scheme"]["mapped"] > 1000


@pytest.mark.parametrize(("named", "counted"), [({"cause": "host"}, "host"), ({}, "gc")])
def test_the_cause_of_an_operation_is_the_one_that_is_named(named, counted):
    class Once(Ftl):
        def mount(self, chip, device):
            self.chip = chip

        def read(self, first, pages):
            return self.chip.read(first, **named) * pages

        def write(self, first, pages, data):
            self.chip.program(first, data, **named)

    requests = {"op": ["w"] * 8 + ["r"], "offset": [*range(0, 8 * 2048, 2048), 0], "bytes": [2048] * 9}
    result = ftlab.run(requests, capacity="4MiB", ftl=Once, warmup=0, precondition="none")
    for kind, count in (("programs", 8), ("reads", 1)):
        assert result[kind][counted] == result[kind]["total"] == count


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_areas_are_bytes_of_any_kind(kind):
    class Kinds(Page):
        def read(self, first, pages):
            return kind(super().read(first, pages))

        def program(self, lpn, data, cause):
            super().program(lpn, kind(data), cause)

    result = ftlab.run("uniform:writes=200", capacity="1MiB", ftl=Kinds, verify=True)
    assert result["programs"]["host"] == 200


@pytest.mark.parametrize("wrong", [5, [0] * 2048, "x" * 2048])
def test_other_areas_are_refused(wrong):
    class Wrongly(Page):
        def program(self, lpn, data, cause):
            super().program(lpn, wrong, cause)

    kind = type(wrong).__name__
    with pytest.raises(TypeError, match=f"an area of a page must be bytes, not a value of {kind}"):
        ftlab.run("uniform:writes=20", capacity="1MiB", ftl=Wrongly)


def test_a_correct_class_survives():
    checked = ftlab.check(Page, workload=["random", "hot", "fill-random"], second_cuts=256)
    assert checked, str(checked)
    assert checked.cuts > 100 and checked.second_cuts > 10
    assert "nothing found" in str(checked)


@pytest.mark.parametrize(
    ("ftl", "verdict"),
    [(Forgetful, "data lost"), (Twice, "illegal command"), (Wrong, "contract broken")],
)
def test_a_broken_class_gets_its_verdict(ftl, verdict):
    checked = ftlab.check(ftl, workload="random", second_cuts=0)
    assert not checked
    assert set(checked.verdicts) == {verdict}, str(checked)
    assert checked.findings[0].verdict == verdict


@pytest.mark.parametrize(("ftl", "is_cut"), [(Forgetful, False), (Early, True)])
def test_a_finding_is_replayed_and_shrunk(ftl, is_cut):
    checked = ftlab.check(ftl, workload="random", second_cuts=0, shrink=True)
    found, smallest = checked.findings[0], checked.smallest[0]
    assert [it.verdict for it in checked.smallest] == list(checked.verdicts) == ["data lost"]
    assert smallest.workload.startswith("steps-") and len(smallest.workload) < 120
    assert bool(found.cuts) == is_cut
    for it in (found, smallest):
        again = eval(it.replay, {"ftlab": ftlab, ftl.__name__: ftl})
        assert not again and (again.cases, again.cuts, again.second_cuts) == (1, is_cut, 0)
        assert again.findings == [it]
        assert any("power lost at" in step for step in again.steps) == is_cut
        assert again.steps[-1] in str(again) and it.sentence in str(again)
    # The class without the bug survives the same.
    for it in (found, smallest):
        again = ftlab.check(Page, geometry=it.geometry, workload=it.workload, cuts=it.cuts)
        assert again and again.steps and not again.findings


def test_a_replay_of_what_never_happens_is_refused():
    with pytest.raises(ftlab.UsageError, match="name one `geometry` and one `workload`"):
        ftlab.check(Page, cuts=["3:torn"])
    with pytest.raises(ftlab.UsageError, match="9999:torn never happens: the run ends before it"):
        ftlab.check(Page, workload="random", cuts="9999:torn")
    with pytest.raises(ftlab.UsageError, match="promises nothing after the cut 3:half"):
        ftlab.check(Page, workload="random", cuts=["3:half"])
    with pytest.raises(ftlab.UsageError, match="half-open"):
        ftlab.check(Page, workload="random", cuts=["3:half-open"])
    uncut = ftlab.check(Page, workload="random", cuts=[])
    assert uncut and uncut.cuts == 0 and len(uncut.steps) > 10


def test_what_a_method_raises_is_raised_by_a_run_with_its_traceback():
    with pytest.raises(KeyError) as raised:
        ftlab.run("uniform:requests=100", ftl=Wrong, **SMALL)
    assert raised.traceback[-1].name == "write"
    with pytest.raises(ftlab.RunError, match="illegal command in write: it programmed page"):
        ftlab.run("uniform:requests=1K", ftl=Twice, **SMALL)


def test_what_was_raised_in_a_check_is_not_raised_by_a_later_run():
    assert not ftlab.check(Wrong, workload="random", second_cuts=0)
    with pytest.raises(ftlab.RunError, match="illegal command in write: it programmed page"):
        ftlab.run("uniform:requests=1K", ftl=Twice, **SMALL)


def test_what_no_class_can_be_is_refused():
    with pytest.raises(TypeError, match="takes a class of ftlab.guest.Ftl, not an object"):
        ftlab.run("uniform:requests=10", ftl=Page(), **SMALL)
    with pytest.raises(TypeError, match="takes a class of ftlab.guest.Ftl, and int is none"):
        ftlab.run("uniform:requests=10", ftl=int, **SMALL)

    class Torm(Page):
        cuts = ("torm",)

    with pytest.raises(ftlab.UsageError, match="did you mean `torn`"):
        ftlab.check(Torm)

    class Maybe(Page):
        durability = "maybe"

    with pytest.raises(ftlab.UsageError, match="unknown promise `maybe`"):
        ftlab.check(Maybe)


def test_the_chip_is_lent_for_the_time_of_a_call():
    chips = []

    class Keeps(Page):
        def mount(self, chip, device):
            chips.append(chip)
            super().mount(chip, device)

    ftlab.run("uniform:requests=10", ftl=Keeps, **SMALL)
    with pytest.raises(IllegalCommand, match="outside of a call"):
        chips[0].erase(0)


@pytest.mark.parametrize("answer", [None, b"", 7])
def test_a_read_must_return_its_pages(answer):
    class Short(Page):
        def read(self, first, pages):
            return answer

    with pytest.raises((TypeError, ValueError), match="`read`"):
        ftlab.run("uniform:requests=10,reads=100%", ftl=Short, verify=True, **SMALL)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_guest_in_c_runs_in_a_process_of_its_own(tmp_path):
    def compiled(name, text):
        source, library = tmp_path / f"{name}.c", tmp_path / f"{name}.so"
        source.write_text(text)
        flags = ["-std=c11", "-shared", "-fPIC", "-I", ROOT / "include"]
        subprocess.run(["cc", *flags, "-o", library, source], check=True)
        return f"guest:lib={library}"

    example = ROOT / "examples/guests/page.c"
    page = compiled("page", f'#include "{example}"\n')
    theirs = ftlab.run("uniform:requests=1K", ftl=page, **SMALL)
    ours = ftlab.run("uniform:requests=1K", ftl="page", **SMALL)
    assert theirs["programs"] == ours["programs"]
    with_a_bug = f'#include "{ROOT / "examples/guests/broken/page_with.h"}"\n' + (
        "static ftlab_status dies(void *self, uint32_t first, uint32_t pages, const void *data) {\n"
        "    static int calls; if (++calls == 300) abort();\n"
        "    return page_write(self, first, pages, data); }\n"
        'GUEST_WITH("dies", guest.write = dies)\n'
    )
    with pytest.raises(ftlab.RunError, match=r"guest `dies` crashed in write: abort \(SIGABRT\)"):
        ftlab.run("uniform:requests=1K", ftl=compiled("dies", with_a_bug), **SMALL)


def test_a_violation_of_a_class_has_no_command_that_shows_it():
    class Forgets(Page):
        def write(self, first, pages, data):
            super().write(first, pages, bytes(len(data)))

    with pytest.raises(ftlab.ViolationError) as raised:
        ftlab.run("mixed:requests=500", ftl=Forgets, verify=True, **SMALL)
    assert raised.value.replay is None and "Replay" not in str(raised.value)


@pytest.mark.parametrize(
    "name, meant", [("tirm", "trim"), ("flsh", "flush"), ("spare_byte", "spare_bytes"), ("wrtie", "write")]
)
def test_a_slip_in_the_name_of_a_method_is_refused(name, meant):
    with pytest.raises(TypeError, match=f"no FTL has `{name}`; did you mean `{meant}`"):
        type("Mine", (Page,), {name: None})


def test_helpers_of_a_class_have_names_like_those_of_methods():
    helpers = ["_write", "writes", "rewrite", "head", "ready", "read_page", "raw", "adopt", "scan"]
    assert type("Mine", (Page,), dict.fromkeys(helpers))


def test_a_replay_tells_its_flash_operations_as_the_command_does(command):
    case = {"geometry": "tiny", "workload": "random"}
    for cuts, words in [(["9:torn"], ["--cut", "9", "--outcome", "torn"]), ([], ["--cut", "none"])]:
        words = ["--ftl", "page", "--geometry", "tiny", "--workload", "random", *words]
        done = command("check", *words, "--operations")
        assert done.returncode == 0, done.stderr
        # The command line and the device come first, and the verdict last.
        told = [line[2:] for line in done.stdout.splitlines()[2:-1]]
        assert ftlab.check("page", **case, cuts=cuts, operations=True).steps == told
        steps = [line for line in told if not line.startswith(" ")]
        assert ftlab.check("page", **case, cuts=cuts).steps == steps != told
    of_class = ftlab.check(Page, **case, cuts=["9:torn"], operations=True).steps
    assert any(line.startswith("  9 program ") for line in of_class)
    with pytest.raises(ftlab.UsageError, match="`operations` are those of a replay: give its `cuts`"):
        ftlab.check(Page, operations=True)


class Once(Page):
    """The bug comes once, because the class remembers it."""

    has_failed = False

    def write(self, first, pages, data):
        if self.next_version > 20 and not Once.has_failed:
            Once.has_failed = True
            raise KeyError(first)
        super().write(first, pages, data)


def test_a_finding_that_does_not_come_again_says_so():
    checked = ftlab.check(Once, workload="random", second_cuts=0)
    (found,) = checked.findings
    sentence = "A second run of this case did not find it: guest `Once` does not do the same twice."
    assert found.note.startswith(sentence) and found.note in str(checked)
    again = ftlab.check(Wrong, workload="random", second_cuts=0)
    assert again.findings and not any(it.note for it in again.findings)


def test_readers_know_a_class_by_its_name():
    trace = "uniform:requests=3K"
    both = ftlab.compare(trace, ["page", Page], **SMALL)
    assert both.labels == list(both.frame()["label"]) == ["page", "Page"]
    for text in (str(both), both.to_html(), both.to_latex(), both.headline, repr(both)):
        assert "class:Page" not in text
    assert both["Page"].ftl == "Page" and repr(both["Page"]).startswith("<ftlab.Result: Page on ")
    assert "Page" in str(both["Page"]) and "class:Page" not in str(both["Page"])
    assert [figure.id for figure in ftlab.figures.of(list(both))]
    # Its results still name it as runs do.
    assert both["Page"]["ftl"]["params"]["lib"] == "class:Page"
    lives = ftlab.life("uniform:requests=9K", [Page], media="real:endurance=9", **LIFE)
    assert lives.labels == ["Page"] and "class:Page" not in str(lives)
    film = ftlab.film(trace, ["page", Page], **SMALL)
    assert film.labels == ["page", "Page"] and film.results["Page"].ftl == "Page"
    # Another class of the same name is another FTL.
    again = type("Page", (Page,), {"spare_bytes": 17})
    assert ftlab.compare(trace, [Page, again], **SMALL).labels == ["Page", "Page-2"]
    assert ftlab.film(trace, [Page, again], **SMALL).labels == ["Page", "Page-2"]
    lives = ftlab.life("uniform:requests=9K", [Page, again], media="real:endurance=9", **LIFE)
    assert lives.labels == ["Page", "Page-2"]
    # Alone it has its own name, as when a cell of a notebook runs twice.
    alone = ftlab.compare(trace, ["page", again], **SMALL)
    assert alone.labels == ["page", "Page"] and alone["Page"].ftl == "Page"
    same = type("Page", (Page,), {})
    one, other = (ftlab.run(trace, ftl=ftl, **SMALL) for ftl in (Page, same))
    assert one == other and "Page-" not in str(other) and other.ftl == "Page"
    like_a_scheme = type("fast", (Page,), {})
    labels = ftlab.compare(trace, ["fast", like_a_scheme], **SMALL).labels
    assert labels == ["fast", "guest:lib=class:fast"]
