from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("todos", "0017_dead_letter_revoked_waits")]

    operations = [
        migrations.AddField(
            model_name="todo",
            name="interrupted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="todo",
            index=models.Index(
                condition=models.Q(("state__in", ("input-required", "auth-required"))),
                fields=["interrupted_at"],
                name="todos_interrupted_idx",
            ),
        ),
    ]
