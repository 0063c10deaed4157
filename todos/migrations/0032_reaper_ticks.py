from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("todos", "0031_interrupted_at")]

    operations = [
        # Unlogged: it is written at each tick and worth nothing after a crash, so it costs no WAL.
        # A crash empties it, and then the next tick simply runs.
        migrations.RunSQL(
            "CREATE UNLOGGED TABLE IF NOT EXISTS reaper_ticks"
            " (id smallint NOT NULL PRIMARY KEY, last_success_at timestamptz NOT NULL)",
            "DROP TABLE IF EXISTS reaper_ticks",
            state_operations=[
                migrations.CreateModel(
                    name="ReaperTick",
                    fields=[
                        (
                            "id",
                            models.SmallIntegerField(default=1, primary_key=True, serialize=False),
                        ),
                        ("last_success_at", models.DateTimeField()),
                    ],
                    options={"db_table": "reaper_ticks"},
                ),
            ],
        ),
    ]
