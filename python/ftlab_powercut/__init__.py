"""Power cuts under your own program: runs it on a disk of ``ftlab serve`` and cuts the power, again and again.

The command is ``ftlab-powercut``, the fixture of pytest ``powercut``; both are the function `campaign`.
"""

from ftlab_powercut.campaign import Campaign, Cut, Finding, campaign
from ftlab_powercut.mounts import Damaged, Trouble

__all__ = ["Campaign", "Cut", "Damaged", "Finding", "Trouble", "campaign"]
