from django.db import migrations, models
from django.db.models import OuterRef, Subquery

CHUNK = 2000


def fill(apps, editor):
    item, case = apps.get_model("adjudication", "Item"), apps.get_model("judges", "Case")
    inputs, last = case.objects.filter(pk=OuterRef("case")).values("input_hash"), 0
    items = item.objects.order_by("pk").values_list("pk", flat=True)
    while keys := list(items.filter(pk__gt=last)[:CHUNK]):
        item.objects.filter(pk__in=keys).update(question=Subquery(inputs))
        last = keys[-1]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("adjudication", "0006_calibration"),
        ("judges", "0010_operating_cost"),
    ]

    operations = [
        migrations.AddField("item", "question", models.CharField(max_length=64, default=""), preserve_default=False),
        migrations.AddIndex("item", models.Index(fields=["question"], name="item_by_question")),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddConstraint(
            "item",
            models.CheckConstraint(condition=~models.Q(question=""), name="an_item_has_the_question_of_its_case"),
        ),
    ]
