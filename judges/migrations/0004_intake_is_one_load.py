"""Generators, mappings, readers and readings of a load become visible with it. Indexes that a unique constraint
begins with anyway are dropped: each cost a load a page per few rows."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

STATES = [("loading", "Loading"), ("complete", "Complete")]


def _loaded(model: str) -> list[migrations.operations.base.Operation]:
    return [
        # What is there was published whole.
        migrations.AddField(
            model, "state", models.CharField(choices=STATES, default="complete", max_length=10), preserve_default=False
        ),
        migrations.AddField(
            model, "touched_at", models.DateTimeField(default=django.utils.timezone.now), preserve_default=False
        ),
        migrations.AlterField(model, "state", models.CharField(choices=STATES, default="loading", max_length=10)),
    ]


def _parent(model: str, name: str, to: str, related_name: str, on_delete: object) -> migrations.AlterField:
    key = models.ForeignKey(db_index=False, on_delete=on_delete, related_name=related_name, to=to)
    return migrations.AlterField(model, name, key)


class Migration(migrations.Migration):
    dependencies = [("judges", "0003_reader_setting")]

    operations = [
        *_loaded("generator"),
        *_loaded("mapping"),
        *_loaded("reader"),
        _parent("artifact", "case", "judges.case", "artifacts", django.db.models.deletion.PROTECT),
        _parent("judgment", "run", "judges.run", "judgments", django.db.models.deletion.CASCADE),
        _parent("reading", "judgment", "judges.judgment", "readings", django.db.models.deletion.CASCADE),
    ]
