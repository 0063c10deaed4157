"""How stamps, texts of strangers and documents are shown to people.

Escaping is the templates' and `format_html`'s. Beyond that a text must not reorder, hide or flood
what stands around it.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from settings_app.values import roughly

CUT_AT = 4_000
CUT_LINE = 300
ALL = 2_000_000

_UNSEEN = re.compile("[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def isolated(text: object) -> SafeString:
    """A text whose direction cannot leak into its surroundings."""
    return format_html('<bdi class="of-strangers">{}</bdi>', visible(str(text)))


def visible(text: str) -> str:
    """With invisible and direction-changing characters spelt out."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def shortened(text: str, limit: int = CUT_LINE) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def stamp(at: datetime | None) -> str:
    return "—" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def span(length: timedelta) -> str:
    """A length of time in its two largest units: `2 days 3 h`, `5 min 10 s`."""
    return roughly(length.total_seconds())


def relative(at: datetime, now: datetime) -> str:
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def stamp_and_age(at: datetime | None, now: datetime) -> str:
    return "—" if at is None else f"{stamp(at)} ({relative(at, now)})"


def document(value: Any, limit: int = CUT_AT) -> tuple[str, bool]:
    """JSON in lines, and whether it is cut.

    Written piece by piece: indented, a small document that nests deeply is a huge one.
    """
    pieces: list[str] = []
    size = 0
    try:
        for piece in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                break
    except RecursionError:
        return visible("".join(pieces)[:limit]), True
    text = visible("".join(pieces))
    return text[:limit], len(text) > limit


def whole_document(value: Any) -> str:
    """All of a document: in lines, or compact where lines would multiply it."""
    text, cut = document(value, ALL)
    if not cut:
        return text
    try:
        return visible(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return f"{text}\n… nested too deeply to be shown"
