"""The form behind the *Settings* page (the domain: Settings)."""

from hashlib import sha256
from typing import Any

from django import forms
from django.db import connection
from django.utils.functional import cached_property

from settings_app import effects, seen
from settings_app.effects import Effect
from settings_app.models import Setting
from settings_app.registry import TUNABLES, Tunable
from settings_app.values import Verdict, accepted, bounds, interpret, meaning, shown, typed

_MAX_LENGTH = 40
_LOCK_TIMEOUT = "5s"


class SettingForm(forms.ModelForm):  # type: ignore[type-arg]
    """One value, or nothing for the default; it refuses what a reader would have to reinterpret.

    What SQL may write is lenient for the sake of the sweeps; a person at a form can be asked.
    A preview is never valid, nor is a change whose effect has to be confirmed and was not.
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
        self._typed: str | None = None
        self._legible = False
        field = self.fields["value"]
        field.label = f"New value ({self.tunable.unit})"
        field.help_text = (
            f"Accepted: {accepted(self.tunable)}. {bounds(self.tunable)}. Leave empty to restore "
            "the default."
        )
        field.widget.attrs["placeholder"] = f"{self.tunable.default} (default)"
        # Cut, so that junk saved unseen is refused rather than stored again.
        self.initial["value"] = "" if stored is None else _editable(stored)
        self.initial["opened_with"] = _mark(stored)

    @property
    def tunable(self) -> Tunable:
        return TUNABLES[self.instance.key]

    @property
    def wanted(self) -> str | None:
        """The text to store, None for no row; what is stored, unless something legible is typed."""
        return self._typed if self._legible else self.instance.stored

    @property
    def previewing(self) -> bool:
        return "_preview" in self.data

    @cached_property
    def effect(self) -> Effect | None:
        """What saving this form would do now."""
        return effects.foresee(self.tunable.key, self.instance.stored, self.wanted)

    @property
    def seen(self) -> str:
        """The mark of the effect, for the next request to hand back."""
        summary = self.effect.summary if self.effect else ""
        return seen.mark(self.tunable.key, self.instance.stored, self.wanted, summary)

    @property
    def seen_before(self) -> str | None:
        """What the page that sent this form said of this change, if it spoke of it."""
        return self._seen_within(None)

    @property
    def unconfirmed(self) -> bool:
        """Whether the change has to be confirmed and was not, or too long ago."""
        if self.effect is None or not self.effect.asks:
            return False
        return "_confirm" not in self.data or self._seen_within(seen.VALID_SECONDS) is None

    @property
    def late(self) -> bool:
        """Whether the confirmation came too long after its numbers were shown."""
        return self.unconfirmed and "_confirm" in self.data

    @property
    def stored_mark(self) -> str:
        return _mark(self.instance.stored)

    @property
    def change_in_words(self) -> str:
        old, new = (_named(self.tunable, text) for text in (self.instance.stored, self.wanted))
        return f"from {old} to {new}: {meaning(self.tunable, self.wanted)}"

    def is_valid(self) -> bool:
        return super().is_valid() and not self.previewing and not self.unconfirmed

    def clean_value(self) -> str:
        """The text to store, empty for no row."""
        value: str = self.cleaned_data["value"]
        if "value" not in self.data:
            # To be distinguished from an empty one, which deletes the row.
            raise forms.ValidationError("No value was sent.")
        if not value:
            self._legible = True
            return value
        allowed = f"Allowed: {bounds(self.tunable)}."
        wanted = typed(self.tunable, value)
        if wanted is None:
            raise forms.ValidationError(f"Not {accepted(self.tunable)}. {allowed}")
        if len(value) > _MAX_LENGTH:
            raise forms.ValidationError(f"More than {_MAX_LENGTH} digits. {allowed}")
        self._typed, self._legible = wanted, True
        if interpret(self.tunable, wanted).verdict in (Verdict.RAISED, Verdict.LOWERED):
            raise forms.ValidationError(
                f"Out of bounds: it would be {meaning(self.tunable, wanted)}. {allowed}"
            )
        return wanted

    def _seen_within(self, max_age: int | None) -> str | None:
        key, stored = self.tunable.key, self.instance.stored
        mark = self.data.get("seen", "")
        return seen.summary_of(mark, key, stored, self.wanted, max_age=max_age)

    def clean(self) -> dict[str, Any]:
        """Locks the row until the save; refuses if it is not what the page was opened with.

        Needs a transaction. Raises OperationalError if the lock is not to be had within 5 s.
        """
        if self.previewing:
            return self.cleaned_data
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
        before, after = self.instance.stored, self.wanted
        if after == before:
            return
        change = f"Changed {self.change_in_words}"
        if after is None:
            Setting.objects.filter(pk=self.instance.pk).delete()
        else:
            self.instance.value = after
            self.instance.save(force_insert=before is None, force_update=before is not None)
        self.change = change


def _named(tunable: Tunable, stored: str | None) -> str:
    return f"the default {tunable.default}" if stored is None else shown(stored)


def _editable(stored: str) -> str:
    return stored if len(stored) <= _MAX_LENGTH else shown(stored)


def _mark(stored: str | None) -> str:
    # Not the value itself: browsers rewrite newlines in a form, and it may be of any length.
    return "none" if stored is None else sha256(stored.encode()).hexdigest()
