import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from settings_app.models import Setting

pytestmark = pytest.mark.django_db


def test_the_table_is_the_one_that_operators_query() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type, is_nullable, column_default"
            " FROM information_schema.columns WHERE table_name = 'settings' ORDER BY 1"
        )
        assert cursor.fetchall() == [("key", "text", "NO", None), ("value", "text", "NO", None)]
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'settings'::regclass AND contype = 'p'"
        )
        assert cursor.fetchall() == [("PRIMARY KEY (key)",)]


def test_nobody_can_be_allowed_to_add_or_delete() -> None:
    codenames = Permission.objects.filter(content_type__app_label="settings_app")
    assert set(codenames.values_list("codename", flat=True)) == {"view_setting", "change_setting"}


def test_of_is_the_row_or_a_blank_one() -> None:
    assert Setting.of("sse_retry_ms").stored is None
    Setting.objects.create(key="sse_retry_ms", value="")
    assert Setting.of("sse_retry_ms").stored == ""
    with pytest.raises(KeyError):
        Setting.of("no_such_key")
