from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("todos", "0001_initial")]
    operations: list[migrations.operations.base.Operation] = []
