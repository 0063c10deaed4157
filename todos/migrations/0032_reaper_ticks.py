from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("todos", "0031_interrupted_at")]

    operations = [
        migrations.CreateModel(
            name="ReaperTick",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("last_success_at", models.DateTimeField()),
            ],
            options={"db_table": "reaper_ticks"},
        ),
        # Written at every tick and worth nothing after a crash: unlogged, it costs no WAL. A crash
        # empties it, and the next tick then simply runs.
        migrations.RunSQL("ALTER TABLE reaper_ticks SET UNLOGGED", migrations.RunSQL.noop),
    ]
