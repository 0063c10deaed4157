from django.db import models

from settings_app.registry import TUNABLES


class Setting(models.Model):
    """A row that operators edit (the domain: Settings); an absent row means the default.

    Keys are not restricted in the database: a row that an older or a newer process knows must
    survive a rolling deploy.
    """

    key = models.TextField(primary_key=True)
    value = models.TextField()

    class Meta:
        db_table = "settings"
        verbose_name = "setting"
        verbose_name_plural = "settings"
        # The registry makes keys, nobody adds or deletes one.
        default_permissions = ("view", "change")

    def __str__(self) -> str:
        return self.key

    @property
    def stored(self) -> str | None:
        """The stored text; None: there is no row, so the default counts."""
        return None if self._state.adding else self.value

    @classmethod
    def of(cls, key: str, *, lock: bool = False) -> "Setting":
        """The row of a known key, or an unsaved one where there is none; KeyError if unknown.

        `lock` needs a transaction; a row that is not there yet cannot be locked.
        """
        rows = cls.objects.select_for_update() if lock else cls.objects.all()
        return rows.filter(pk=TUNABLES[key].key).first() or cls(key=key)
