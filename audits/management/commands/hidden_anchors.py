"""Make a set of settled cases that lie hidden in later audits and measure each reviewer over time; without NAME list
the sets, and how reviewers answered."""

from collections.abc import Callable
from typing import Any

from adjudication.models import QueuePurpose
from audits.calibration import hidden_anchor_shares, sets_of, share_dict
from audits.management.sets import SetCommand, set_dict, set_line, share_line
from core.commands import Result
from core.models import Project


class Command(SetCommand):
    help = __doc__
    purpose = QueuePurpose.ANCHORS

    def listed(self, project: Project) -> tuple[Result, Callable[[], list[str]], bool]:
        sets, shares = sets_of(project, self.purpose), hidden_anchor_shares(project)
        result: dict[str, Any] = {
            "project": project.name,
            "sets": [set_dict(known) for known in sets],
            "reviewers": [share_dict(share) for share in shares],
        }
        return result, lambda: [*map(set_line, sets), *map(share_line, shares)], True
