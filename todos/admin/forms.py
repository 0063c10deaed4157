"""What operators type: an answer, and what an endpoint is to be."""

import json
from datetime import datetime
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.auth import get_user_model

from todos import inputs, lease, selectors
from todos.errors import InvalidInput
from todos.verbs import DRAIN, Verb


class AnswerForm(forms.Form):
    answer = forms.CharField(
        label="Answer",
        required=False,
        max_length=inputs.MAX_JSON_BYTES,
        widget=forms.Textarea(attrs={"rows": 6, "class": "vLargeTextField"}),
        help_text=(
            'JSON, such as {"answer": "blue"}, or plain text, which the worker gets as a JSON '
            "string. Empty: the todo goes on without an answer, what was asked stays its result."
        ),
    )

    def clean_answer(self) -> Any:
        text = self.cleaned_data["answer"].strip()
        if not text:
            return None
        try:
            answer = json.loads(text, parse_constant=_refuse)
        except RecursionError:
            raise forms.ValidationError("Is nested too deeply.") from None
        except ValueError:
            # What begins as a document was meant as one: a slip must not reach the worker as text.
            if text[0] in '{["':
                raise forms.ValidationError(
                    "Begins like JSON but is none. Mend it, or begin with another character."
                ) from None
            answer = text
        try:
            inputs.json_text("answer", answer)
        except InvalidInput as error:
            raise forms.ValidationError(f"The answer {error.problem}.") from None
        return answer


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class VendForm(forms.Form):
    """The fields have the names that InvalidInput gives them."""

    endpoint_id = forms.UUIDField(widget=forms.HiddenInput)
    """Chosen when the page is opened, so that sending it twice vends one endpoint."""

    name = forms.CharField(
        max_length=inputs.MAX_LABEL_LENGTH, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
    owner = forms.CharField(
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text="The username of the person who answers for it.",
    )
    queues = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4, "class": "vLargeTextField"}),
        help_text="One per line. They cannot be changed afterwards.",
    )
    verbs = forms.MultipleChoiceField(
        choices=[(str(verb), str(verb)) for verb in Verb],
        initial=[str(verb) for verb in DRAIN],
        widget=forms.CheckboxSelectMultiple,
        help_text=(
            "What it may do over HTTP. Those checked at first drain a queue; create, cancel and "
            "reject are for clients, and whoever may retry can undo the attempt cap. They cannot "
            "be changed afterwards."
        ),
    )
    default_lease_ttl_seconds = forms.IntegerField(
        label="Default lease (s)",
        required=False,
        min_value=lease.MIN_DEFAULT,
        max_value=lease.MAX_TTL,
        help_text=(
            f"{lease.MIN_DEFAULT} to {lease.MAX_TTL:,} seconds. Empty: none of its own, "
            f"{lease.SERVER_DEFAULT} s count."
        ),
    )
    expires_at = forms.DateTimeField(
        label="Expires at (UTC)",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="Its live todos become dead letters then. Empty: never.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("endpoint_id", uuid4())

    def clean_owner(self) -> Any:
        users = get_user_model()
        name = self.cleaned_data["owner"]
        owner = users._default_manager.filter(**{users.USERNAME_FIELD: name}).first()
        if owner is None:
            raise forms.ValidationError("There is no user of that name.")
        return owner

    def clean_queues(self) -> list[str]:
        lines = (line.strip() for line in self.cleaned_data["queues"].splitlines())
        return [line for line in lines if line]

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= selectors.now():
            raise forms.ValidationError("Must be in the future.")
        return expires_at

    def refuse(self, error: InvalidInput) -> None:
        """Show a refusal at its field; what names a queue belongs to the queues."""
        field = "queues" if error.field == "queue" else error.field
        self.add_error(
            field if field in self.fields else None,
            f"{error.problem[:1].upper()}{error.problem[1:]}.",
        )
