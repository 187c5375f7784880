"""Cancel an intake that somebody asked for on a page. It ends within a chunk, and leaves nothing."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.models import Job
from audits.services.uploads import intake_cancel
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.services import operator_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=int, metavar="JOB", help="its number: the last part of the address of its page")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        job = Job.objects.select_related("project").filter(pk=options["job"]).first()
        if job is None:
            raise InputError(Problem("there is no such job", key="JOB", value=str(options["job"])))
        intake_cancel(job=job, actor=operator_of(job.project), now=timezone.now())
        return {"job": job.pk, "state": "cancelled"}, lambda: [f"{job} is cancelled"], True
