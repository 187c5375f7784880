from django.db import migrations, transaction

# As `adjudication/reasons.py` was when this migration was written.
FIRST = [
    ('rubric boundary', 'the answer lies between two grades', 'desk', 'rubric', False),
    ('rubric insufficient', 'the guideline does not say', 'desk', 'rubric', False),
    ('evidence interpretation', 'the evidence can be read in two ways', 'desk', 'rubric', False),
    ('evidence missing', 'what would decide it is not here', 'desk', 'packaging', False),
    ('ambiguous task', 'the question can be read in two ways', 'desk', 'policy', False),
    ('policy priority', 'two rules point in different directions', 'desk', 'policy', False),
    ('gold-label dispute', 'the label on record seems wrong', 'calibration', 'rubric', True),
    ('other', 'said in the rationale', 'desk', 'policy', True),
    ('output-order sensitivity', 'the verdict follows the order of the outputs', 'diagnosis', 'evaluator platform', False),
    ('parser invalid', 'the parser read the reply wrongly or not at all', 'diagnosis', 'evaluator platform', False),
    ('mapping gap', "the judge's label is not mapped, or mapped wrongly", 'diagnosis', 'mapping', False),
    ('judge nondeterminism', 'the same judge says something else when it runs again', 'diagnosis', 'evaluator platform', False),
    ('evidence packaging', 'the judge was given other evidence, or in another form', 'diagnosis', 'packaging', False),
    ('cache', 'the verdict belongs to an earlier artifact', 'diagnosis', 'evaluator platform', False),
    ('policy change', 'the rule itself has changed', 'diagnosis', 'policy', False),
    ('judge error', 'the judge had all it needed, and is wrong', 'diagnosis', 'evaluator platform', False),
]


def seed(apps, schema_editor):
    """Projects that were there before begin with the same codes as new ones."""
    Author, Project = apps.get_model('core', 'Author'), apps.get_model('core', 'Project')
    ReasonCode = apps.get_model('adjudication', 'ReasonCode')
    ReasonPlacement = apps.get_model('adjudication', 'ReasonPlacement')
    for project in Project.objects.filter(reason_codes=None).order_by('pk'):
        actor, _ = Author.objects.get_or_create(project=project, pseudonym='operator', defaults={'kind': 'operator'})
        stated = {'actor': actor, 'at': project.created_at}
        with transaction.atomic():  # a project has all of them or none, so that a broken run is simply run again
            for code, meaning, stage, owner, needs_text in FIRST:
                row = ReasonCode.objects.create(project=project, code=code, meaning=meaning, needs_text=needs_text, **stated)
                ReasonPlacement.objects.create(code=row, stage=stage, owner=owner, **stated)


class Migration(migrations.Migration):

    atomic = False  # project by project

    dependencies = [
        ('adjudication', '0004_reason_codes'),
    ]

    operations = [
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
