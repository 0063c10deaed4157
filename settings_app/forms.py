"""The form behind the *Settings* page (the domain: Settings)."""

from hashlib import sha256
from typing import Any

from django import forms
from django.db import connection

from settings_app.models import Setting
from settings_app.registry import TUNABLES, Tunable
from settings_app.values import Verdict, bounds, interpret, meaning, shown

_MAX_LENGTH = 40
_LOCK_TIMEOUT = "5s"


class SettingForm(forms.ModelForm):  # type: ignore[type-arg]
    """One value, or nothing for the default; it refuses what a reader would have to reinterpret.

    What SQL may write is lenient for the sake of the sweeps; a person at a form can be asked.
    """

    value = forms.CharField(
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    opened_with = forms.CharField(required=False, widget=forms.HiddenInput)
    """What was stored when the page was opened, so that a later save cannot silently undo an
    earlier one. A request without it has seen no value and overwrites knowingly."""

    class Meta:
        model = Setting
        # The instance keeps what is stored until the save, so that a refused form still shows
        # that and not what was typed.
        exclude = ("key", "value")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.change = ""
        stored = self.instance.stored
        field = self.fields["value"]
        field.label = f"New value ({self.tunable.unit})"
        field.help_text = f"{bounds(self.tunable)}. Leave empty to restore the default."
        field.widget.attrs["placeholder"] = f"{self.tunable.default} (default)"
        # Cut, so that junk saved unseen is refused rather than stored again.
        self.initial["value"] = "" if stored is None else _editable(stored)
        self.initial["opened_with"] = _mark(stored)

    @property
    def tunable(self) -> Tunable:
        return TUNABLES[self.instance.key]

    def clean_value(self) -> str:
        value: str = self.cleaned_data["value"]
        if "value" not in self.data:
            # To be distinguished from an empty one, which deletes the row.
            raise forms.ValidationError("No value was sent.")
        if not value:
            return value
        verdict = interpret(self.tunable, value).verdict
        allowed = f"Allowed: {bounds(self.tunable)}."
        if verdict is Verdict.NOT_A_NUMBER:
            example = self.tunable.default
            raise forms.ValidationError(
                f"Not a whole number in plain digits, such as {example}. {allowed}"
            )
        if verdict in (Verdict.RAISED, Verdict.LOWERED):
            raise forms.ValidationError(f"Out of bounds. {allowed}")
        if len(value) > _MAX_LENGTH:
            raise forms.ValidationError(f"More than {_MAX_LENGTH} digits. {allowed}")
        return value

    def clean(self) -> dict[str, Any]:
        """Locks the row until the save; refuses if it is not what the page was opened with.

        Needs a transaction. Raises OperationalError if the lock is not to be had within 5 s.
        """
        with connection.cursor() as cursor:
            # A transaction forgotten in psql must not hold the page, and its thread, for ever.
            cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        self.instance = Setting.of(self.instance.key, lock=True)
        stored = self.instance.stored
        opened_with = self.data.get("opened_with")
        if opened_with is not None and opened_with != _mark(stored):
            # The page that is shown again has seen the newer value: its next save may replace it.
            self.data = {**dict(self.data.items()), "opened_with": _mark(stored)}
            raise forms.ValidationError(
                "Not saved: someone else changed this setting while the page was open. It was "
                f"set to {_named(self.tunable, stored)}; see its history. Save again to replace "
                "that with the value below."
            )
        return self.cleaned_data

    def apply(self) -> None:
        """Writes the row, or deletes it for the default; `change` then says what changed.

        Raises IntegrityError if a row that was not there to be locked has appeared meanwhile.
        """
        before, after = self.instance.stored, self.cleaned_data["value"] or None
        if after == before:
            return
        if after is None:
            Setting.objects.filter(pk=self.instance.pk).delete()
        else:
            self.instance.value = after
            self.instance.save(force_insert=before is None, force_update=before is not None)
        old, new = _named(self.tunable, before), _named(self.tunable, after)
        self.change = f"Changed from {old} to {new}: {meaning(self.tunable, after)}"


def _named(tunable: Tunable, stored: str | None) -> str:
    return f"the default {tunable.default}" if stored is None else shown(stored)


def _editable(stored: str) -> str:
    return stored if len(stored) <= _MAX_LENGTH else shown(stored)


def _mark(stored: str | None) -> str:
    # Not the value itself: browsers rewrite newlines in a form, and it may be of any length.
    return "none" if stored is None else sha256(stored.encode()).hexdigest()
