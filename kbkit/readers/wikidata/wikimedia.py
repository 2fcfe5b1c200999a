"""Wikimedia's sites (``enwiki``): address, language and group."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kbkit.readers.wikidata.literals import language_tag, wiki_url


class WikimediaSite(NamedTuple):
    """``address`` ends in ``/``, ``language`` is a language tag, ``group`` the value of ``wikibase:wikiGroup``."""

    address: str
    language: str
    group: str


_ALONE = {
    "commonswiki": ("commons.wikimedia.org", "commons"),
    "foundationwiki": ("foundation.wikimedia.org", "foundation"),
    "incubatorwiki": ("incubator.wikimedia.org", "incubator"),
    "mediawikiwiki": ("www.mediawiki.org", "mediawiki"),
    "metawiki": ("meta.wikimedia.org", "meta"),
    "outreachwiki": ("outreach.wikimedia.org", "outreach"),
    "sourceswiki": ("wikisource.org", "sources"),
    "specieswiki": ("species.wikimedia.org", "species"),
    "wikidatawiki": ("www.wikidata.org", "wikidata"),
    "wikifunctionswiki": ("www.wikifunctions.org", "wikifunctions"),
    "wikimaniawiki": ("wikimania.wikimedia.org", "wikimania"),
}
_GROUPS = ("wiktionary", "wikibooks", "wikinews", "wikiquote", "wikisource", "wikiversity", "wikivoyage", "wiki")
_CODE = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_MOVED = {"be-x-old": "be-tarask"}


@lru_cache(4096)
def site(name: str) -> WikimediaSite | None:
    """Return the site with this id, or None if it is unknown."""
    if name in _ALONE:
        domain, group = _ALONE[name]
        return WikimediaSite(f"https://{domain}/", "en", group)
    group = next((group for group in _GROUPS if name.endswith(group)), "")
    code = name.removesuffix(group).replace("_", "-")
    if not group or not _CODE.fullmatch(code):
        return None
    family = "wikipedia" if group == "wiki" else group
    tag = language_tag(code)
    return WikimediaSite(f"https://{_MOVED.get(code, code)}.{family}.org/", tag, family)


def page(of: WikimediaSite, title: str) -> str:
    """Return the address of a page."""
    return f"{of.address}wiki/{wiki_url(title.replace(' ', '_'))}"
