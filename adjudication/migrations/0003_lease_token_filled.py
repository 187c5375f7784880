import uuid

from django.db import migrations


def fill(apps, schema_editor):
    """Each lease a token of its own: a default in the schema would give one to all of them."""
    leases = apps.get_model("adjudication", "Lease").objects.filter(token=None)
    for pk in list(leases.values_list("pk", flat=True)):
        leases.model.objects.filter(pk=pk).update(token=uuid.uuid4())


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0002_desk_records")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
