"""What a row costs that an intake writes. Indexes that a unique constraint begins with anyway are dropped; and lists of
allowed values become alternatives, because for a list SQLite fills a table for every row that is written."""

from functools import reduce
from operator import or_

import django.db.models.deletion
from django.db import migrations, models


def _parent(model: str, name: str, to: str, related_name: str, on_delete: object) -> migrations.AlterField:
    key = models.ForeignKey(db_index=False, on_delete=on_delete, related_name=related_name, to=to)
    return migrations.AlterField(model, name, key)


def _one_of(model: str, field: str, values: list[str], name: str) -> list[migrations.operations.base.Operation]:
    condition = reduce(or_, (models.Q(**{field: value}) for value in values))
    return [
        migrations.RemoveConstraint(model, name),
        migrations.AddConstraint(model, models.CheckConstraint(condition=condition, name=name)),
    ]


class Migration(migrations.Migration):
    dependencies = [("judges", "0008_case_by_input")]

    operations = [
        _parent("blob", "project", "core.project", "blobs", django.db.models.deletion.PROTECT),
        _parent("case", "case_set", "judges.caseset", "cases", django.db.models.deletion.CASCADE),
        *_one_of("case", "partition", ["development", "holdout", "smoke"], "case_partition_is_known"),
        *_one_of("judgment", "cache", ["fresh", "cached", "unrecorded"], "cache_state_is_known"),
        *_one_of(
            "judgment",
            "provenance",
            ["verified", "legacy", "unverified", "contradicted"],
            "provenance_mark_is_known",
        ),
    ]
