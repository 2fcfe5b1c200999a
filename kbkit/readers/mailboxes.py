"""Read mailboxes (mbox) as the records of JSON: messages, and the people that they name by their addresses.

Messages have the headers that say who wrote what to whom, when, and in reply to what; and the first text. Attachments
are left out. Headers of the post are not read.
"""

from __future__ import annotations

import email.parser
import email.utils
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.readers.whole_files import content_of

MAX_BYTES = 512 << 20
"""Maximum bytes of a file, decompressed."""
_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{0,500}\n")
"""The line before each message."""
_LONGEST_HEADER, _LONGEST_WORDS = 1_000_000, 4_000
"""Bytes of a header that are looked at, and of encoded words, which take time that grows with their square."""
_MOST_PARTS = 200
"""Parts of a message that are looked at."""
_PART = re.compile(r'(?:"(?:[^"\\]|\\.)*+(?:"|\Z)|[^",;])++')
_TAG = re.compile(r"<[^<>]*+>")
_HIDDEN = re.compile(r"<(style|script|head)\b(?:(?!</\1).)*+", re.IGNORECASE | re.DOTALL)
_IDS = re.compile(r"<([^<>\s]++)>")


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the lists ``messages`` and ``people``. Raises :class:`BadInputError` for other and large files."""
    content = content_of(path, MAX_BYTES, "mbox", "Export a part of the mails")
    starts = list(_START.finditer(content))
    if not starts or starts[0].start() > 0:
        raise BadInputError(f"{path} is no mailbox: line 1 does not begin with 'From '", "Export the mails as mbox")
    ends = [*(one.start() for one in starts[1:]), len(content)]
    people: dict[str, str] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        own = _record(content[start.end() : end], f"{path.stem}-{number}", people)
        messages.setdefault(own["id"], own)
    listed = [{"id": address, "name": name or address} for address, name in people.items()]
    return {"messages": list(messages.values()), "people": listed}


def _record(content: bytes, number: str, people: dict[str, str]) -> dict[str, Any]:
    """Return a message, and add the people that it names."""
    try:
        message: Message[str, str] = email.parser.BytesParser().parsebytes(content)
        body = _body(message)
    except (RecursionError, MessageError, ValueError):  # parts inside of parts
        message, body = email.parser.BytesHeaderParser().parsebytes(content), ""
    headers: dict[str, str] = {}
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), _plain(str(value)[:_LONGEST_HEADER]))
    ids = {name: _IDS.findall(headers.get(name, "")) for name in ("message-id", "in-reply-to", "references")}
    before = ids["in-reply-to"] or ids["references"][-1:]
    record: dict[str, Any] = {
        "id": (ids["message-id"] or [headers.get("message-id", "").strip() or number])[0],
        "subject": _words(headers.get("subject", "")),
        "date": _date(headers.get("date", "")),
    }
    for field in ("from", "to", "cc", "bcc"):
        found = list(_people(headers.get(field, "")))
        for address, name in found:
            people[address] = people.get(address) or name
        addresses = [address for address, _ in found]
        record |= {field: addresses[0] if field == "from" else addresses} if addresses else {}
    record["in_reply_to"] = before[0] if before else None
    if "x-gmail-labels" in headers:
        record["labels"] = [one.strip() for one in _words(headers["x-gmail-labels"]).split(",") if one.strip()]
    return {**record, "body": body}


def _plain(header: str) -> str:
    """Return a header in one line; bytes beyond ASCII are UTF-8."""
    text = header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return " ".join(text.split())


def _words(text: str) -> str:
    """Return a text without encoded words."""
    if "=?" not in text or len(text) > _LONGEST_WORDS:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (LookupError, ValueError, MessageError):
        return text


def _date(text: str) -> str:
    """Return a date in ISO 8601, of UTC; another text as it is."""
    try:
        time = email.utils.parsedate_to_datetime(text[:100])
        return (time.astimezone(UTC) if time.tzinfo else time).replace(tzinfo=None).isoformat(sep=" ")
    except (ValueError, TypeError, OverflowError, IndexError):
        return text


def _people(header: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses in a header, in lower case, with their names."""
    for part in _PART.findall(header):
        name, sign, rest = part.rpartition("<")
        address = rest.partition(">")[0].strip() if sign else part.rpartition(":")[2].strip()
        if "@" in address and " " not in address:
            yield address.lower(), _words(name.strip().strip('"').replace('\\"', '"')).strip() if sign else ""


def _body(message: Message[str, str]) -> str:
    """Return the first plain text of a message, else the text of its page."""
    parts = [one for one, _ in zip(_texts(message), range(_MOST_PARTS), strict=False)]
    for kind in ("text/plain", "text/html"):
        for part in (one for one in parts if one.get_content_type() == kind):
            payload = part.get_payload(decode=True)
            raw = payload if isinstance(payload, bytes) else b""
            try:
                text = raw.decode(part.get_content_charset() or "utf-8", "replace")
            except (LookupError, ValueError):
                text = raw.decode("utf-8", "replace")
            text = re.sub(r"(?m)^>(?=>*From )", "", text) if kind == "text/plain" else _without_tags(text)
            if text.strip():
                return text.strip()
    return ""


def _texts(message: Message[str, str]) -> Iterable[Message[str, str]]:
    for part in message.walk():
        if not part.is_multipart() and part.get_content_disposition() != "attachment":
            yield part


def _without_tags(page: str) -> str:
    import html

    return " ".join(html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", page))).split())
