from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Setting",
            fields=[
                ("key", models.TextField(primary_key=True, serialize=False)),
                ("value", models.TextField()),
            ],
            options={
                "verbose_name": "setting",
                "verbose_name_plural": "settings",
                "db_table": "settings",
                "default_permissions": ("view", "change"),
            },
        ),
    ]
