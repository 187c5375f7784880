"""Make a set of settled cases for new reviewers to practise on, with feedback; without NAME list the sets."""

from collections.abc import Callable
from typing import Any

from adjudication.models import QueuePurpose
from audits.calibration import sets_of
from audits.management.sets import SetCommand, set_dict, set_line, share_line
from core.commands import Result
from core.models import Project


class Command(SetCommand):
    help = __doc__
    purpose = QueuePurpose.PRACTICE

    def listed(self, project: Project) -> tuple[Result, Callable[[], list[str]], bool]:
        sets = sets_of(project, self.purpose)
        result: dict[str, Any] = {"project": project.name, "sets": [set_dict(known) for known in sets]}
        return (
            result,
            lambda: [line for known in sets for line in (set_line(known), *map(share_line, known.people))],
            True,
        )
