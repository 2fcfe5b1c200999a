"""What the user states about a published dataset."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated

from kbkit.assets.operations import Setting, check_settings, described
from kbkit.errors import BadInputError, check_unicode

_LONGEST = 200
"""Maximum number of characters of a setting."""

Licence = Annotated[str, Setting("Licence of the dataset, such as cc-by-4.0 (default: that of the KB).", values="TEXT")]


@dataclass(frozen=True)
class PublishSettings:
    """What the dataset card and the metadata say that the dataset does not know."""

    name: Annotated[str, Setting("Name of the dataset (default: the folder's).", values="NAME")] = ""
    licence: Licence = ""
    creator: Annotated[str, Setting("Person or organization that publishes the dataset.", values="TEXT")] = ""
    url: Annotated[str, Setting("Web page of the dataset.", values="URL")] = ""
    date: Annotated[str, Setting("Date of publication (YYYY-MM-DD), for the metadata.", values="TEXT")] = ""

    def __post_init__(self) -> None:
        check_settings(self)
        for field in described(PublishSettings):
            text = getattr(self, field.name)
            check_unicode(text, f"the {field.noun}")
            if len(text) > _LONGEST:
                raise BadInputError(f"The {field.noun} is too long", f"Use at most {_LONGEST} characters")
        if self.url and not self.url.startswith(("https://", "http://")):
            raise BadInputError(f"Invalid url {self.url!r}", "Use an address that starts with https://")
        if self.date and not _is_date(self.date):
            raise BadInputError(f"Invalid date {self.date!r}", "Use a date such as 2026-01-31")


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
