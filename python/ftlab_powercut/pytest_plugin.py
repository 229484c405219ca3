"""The fixture ``powercut`` of pytest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ftlab_powercut.campaign import Campaign, Check, Words


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that repeats a failure."""
    group = parser.getgroup("ftlab", "power cuts")
    group.addoption("--powercut-seed", type=int, default=1, metavar="S", help="seed of all power cuts (default 1)")


@pytest.fixture
def powercut(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Cuts the power under a command; the test fails with all findings, and is skipped where no disk can be mounted.

    ``powercut(command, check, setup=…, cuts=10, filesystem="ext4")``: `check` is a command, or a function that gets
    the folder of the file system and what the command printed, and asserts. The options are those of `Campaign`.
    """

    def run(command: Words, check: Words | Check, **options: object) -> None:
        options.setdefault("seed", request.config.getoption("--powercut-seed"))
        campaign = Campaign(command, check, **options)  # type: ignore[arg-type]
        if absent := campaign.absent():
            pytest.skip(f"power cuts need {', '.join(absent)}")
        findings = [str(finding) for _, finding in campaign.rounds() if finding]
        if findings:
            pytest.fail("\n\n".join([*findings, f"repeat with --powercut-seed {campaign.seed}"]), pytrace=False)

    return run
