"""What the screens share: the KB, the templates, the files of the pages, and errors as pages."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from kbkit import __version__, assets
from kbkit.directory.generations import now
from kbkit.display.drawing import page
from kbkit.display.drawing.colours import of_types
from kbkit.display.drawing.text import middle
from kbkit.display.node_data import edge_attributes, shown_name
from kbkit.display.render import cell, clean
from kbkit.english.headings import attribute_heading, relation_label
from kbkit.english.words import spoken
from kbkit.errors import (
    Command,
    DamagedError,
    KbError,
    Option,
    PythonSpeller,
    QueryTimeoutError,
    ShortageError,
    UnknownNameError,
    plural,
)
from kbkit.graph.glimpses import facts, glimpses
from kbkit.graph.titles import titles
from kbkit.web.explore import links, running

if TYPE_CHECKING:
    from collections.abc import Iterable

    import anyio
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.display.drawing.model import Drawing
    from kbkit.executor.vocabulary import Vocabulary
    from kbkit.kb import KnowledgeBase
    from kbkit.web.explore.running import Handler

_HERE = Path(__file__).parent
_SCRIPTS = (
    "labels.js", "lines.js", "graph.js", "panel.js", "picture.js",
    "vendor/codemirror.min.js", "vendor/cytoscape.min.js", "vendor/fcose.min.js", "vendor/htmx.min.js",
    "vendor/interpreter.min.js", "vendor/vega-lite.min.js", "vendor/vega.min.js",
    "vendor/world.svg",
)  # fmt: skip
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The policy of the pages: scripts and styles are files of this server only."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # without a referrer, browsers send forms with the origin "null"
}
_MARK = Markup("<mark>{}</mark>")
_RELATION = re.compile(r" -> \[([^\[\]]+)\] -> ")
"""A relation between two nodes in a line of a proof."""
_FILE_NAME = 80
"""Maximum number of characters of the name of a file to save."""
_RELATION_LABEL = 44
"""Maximum number of characters of the label of a line."""
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class PageLimits:
    """Limits of a query: seconds before it is cancelled (None: no limit), and rows that are read of a result."""

    timeout: float | None = 60.0
    rows: int = 100_000


class Pages:
    """Pages made from templates, their files, and errors. Threads share them.

    ``timeout`` is the time limit of a page in seconds; ``frame`` the template of the frame of an error's page.
    """

    frame = "frame.html"

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self.first_page = threading.Event()
        self._addresses: dict[str, str] = {}

    def route(
        self, path: str, handler: Handler, turns: anyio.CapacityLimiter | None = None, method: str = "GET"
    ) -> Route:
        """Return the route of a screen: see :func:`kbkit.web.explore.running.route`."""
        return running.route(path, handler, self.timeout, turns, method)

    # -- pages --------------------------------------------------------------------------------------------------------

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_shown,
        )
        made.filters.update(
            number=lambda value: f"{value:,}",
            kind=_kind,
            cell=cell,
            snippet=_snippet,
            marked=_marked,
            edge_attributes=edge_attributes,
            shown_name=shown_name,
            heading=attribute_heading,
        )
        made.globals.update(plural=plural, page_url=links.page, file_url=self.file_url, **self.names())
        return made

    def names(self) -> dict[str, Any]:
        """Return the global names of the templates."""
        return {}

    def page(self, name: str, request: Request, status: int = 200, **values: Any) -> Response:
        """Return a page, or a part of one, made from a template."""
        text = self._templates.get_template(name).render(path=request.url.path, **values)
        body = text.encode("utf-8", "replace")
        self.first_page.set()
        return HTMLResponse(body, status, _HEADERS)

    # -- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def files(self) -> dict[str, Path]:
        """The files of the pages by name. Only these are served."""
        own = {path.name: path for path in sorted((_HERE / "static").iterdir()) if path.suffix in _KINDS}
        return own | {Path(name).name: assets.web() / name for name in _SCRIPTS}

    def file_url(self, name: str) -> str:
        """Return the address of a file; it changes with the content."""
        if name not in self._addresses:
            self._addresses[name] = f"/static/{name}?v={_digest(self.files[name].read_bytes())}"
        return self._addresses[name]

    def file(self, request: Request) -> Response:
        """Serve a file."""
        path = self.files.get(request.path_params["name"])
        if path is None:
            raise HTTPException(404, "There is no such file.")
        return Response(path.read_bytes(), media_type=_KINDS[path.suffix], headers={"Cache-Control": _YEAR})

    # -- errors -------------------------------------------------------------------------------------------------------

    def failed(self, request: Request, error: Exception) -> Response:
        """Return the page, or for a part of a page the message, about an error that the user can mend."""
        if isinstance(error, KbError):
            status, text = status_of(error), said(error)
        else:
            assert isinstance(error, HTTPException)
            status, text = error.status_code, error.detail
        template = "message.html" if is_part(request) else "error.html"
        close: dict[str, str] = {}
        if isinstance(error, UnknownNameError) and "node" in request.query_params:
            close = {name: links.page(request.url.path, node=name) for name in error.choices}
        return self.page(template, request, status, message=text, code=status, frame=self.frame, close=close)


class Site(Pages):
    """The pages of one KB."""

    frame = "base.html"

    def __init__(self, kb: KnowledgeBase, limits: PageLimits) -> None:
        super().__init__(limits.timeout)
        self.kb, self.limits = kb, limits
        names = [t.name for t in kb.schema.node_types]
        self.colours = of_types(names)
        self._numbers = {name: number for number, name in enumerate(names)}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that completion knows."""
        from kbkit.executor.vocabulary import Vocabulary  # it would delay the first page

        return Vocabulary.of(self.kb)

    def warm(self) -> None:
        """Open the stores and load the models that the screens need, so that the first search is as fast as others."""
        from kbkit.executor import completion  # it would delay the first page

        for work in (
            lambda: self.kb.popular(limit=1),
            lambda: self.vocabulary.names("a", None, 1),
            lambda: self.kb.search("a", 1),
            lambda: self.kb.examples(1),
            lambda: completion.prepare(self.vocabulary),
        ):
            with contextlib.suppress(Exception):  # the screen that needs it reports it
                work()

    def names(self) -> dict[str, Any]:
        """Return the global names of the templates."""
        return {
            "kb": self.kb,
            "schema": self.kb.schema,
            "node_url": links.node,
            "members_url": links.members,
            "table_url": links.table,
            "statistics_url": links.statistics,
            "type_url": lambda name: links.page("/schema", type=name),
            "types_url": f"/types.css?v={_digest(self.types_css().encode())}",
            "type_class": self.type_class,
            "in_words": self.in_words,
            "titled": self.titled,
            "limits": self.limits,
        }

    def reference(self, given: str) -> str:
        """Return the shortest text that names the same node as a reference: its name, if no other node has it."""
        with contextlib.suppress(KbError):
            node = self.kb.find(given)
            name = self.kb.stores.nodes.row(node).name
            if self.kb.find(name) == node:
                return name
        return given

    def titled(self, node: int, name: str) -> str:
        """Return the name of a node as pages show it, told apart from those of its namesakes."""
        return titles(self.kb.stores, [node]).get(node, name)

    def describe(self, rows: Iterable[dict[str, Any]], text: str, query: str | None = None) -> None:
        """Give rows of nodes without a name a title as their name, and those without a ``text`` some neighbours.

        With a ``query``, all rows get attributes and neighbours that the text does not have, first what it mentions.
        """
        listed = list(rows)
        found = titles(self.kb.stores, [row["id"] for row in listed])
        if query is not None:
            seen = facts(self.kb.stores, {row["id"]: row.get(text) or "" for row in listed}, query)
        else:
            bare = [row["id"] for row in listed if not row.get(text)] if self.kb.has("adjacency") else []
            seen = glimpses(self.kb.stores, bare)
        for row in listed:
            row["name"] = found.get(row["id"], row["name"])
            row["glimpse"] = seen.get(row["id"], "")

    def attachment(self, kind: str, *words: str) -> dict[str, str]:
        """Return the headers of a file to save, named after the KB and some words: ``world-rhine-danube.md``."""
        name = self.file_name(*words)
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().strip("-.") or "kbkit"
        disposition = f"attachment; filename=\"{plain}.{kind}\"; filename*=UTF-8''{quote(name)}.{kind}"
        return {"Content-Disposition": disposition, "Cache-Control": "no-store"}

    def file_name(self, *words: str) -> str:
        """Return the name of a file to save, without its ending."""
        joined = re.sub(r"[^\w.]+", "-", clean("-".join([self.kb.schema.name, *words])))
        return joined.strip("-.")[:_FILE_NAME].strip("-.") or "kbkit"

    def source(self) -> str:
        """Return what a result is from: the KB, its generation and licence, and the day."""
        manifest = self.kb.manifest
        licence = f", licence {manifest.recipe['licence']}" if manifest.recipe["licence"] else ""
        built = f"generation {manifest.generation}, built on {manifest.created[:10]}"
        return f"KB {self.kb.schema.name}, {built}{licence}; kbkit {__version__}, {now()[:10]}"

    def drawn(self, drawing: Drawing, *words: str) -> dict[str, Any]:
        """Return a drawing as the scripts read it, with the relations in words, and what its files say.

        ``words`` name the files.
        """
        shown = page.content(drawing)
        for relation in shown["relations"]:
            relation["label"] = middle(relation_label(self.kb.schema, relation["key"]), _RELATION_LABEL)
            relation["heading"] = self.relation_headings[relation["key"]]
        about = {"saved_as": self.file_name(*words), "source": self.source()}
        return {**shown, "title": drawing.title, "summary": drawing.summary, **about}

    @cached_property
    def relation_headings(self) -> dict[str, str]:
        """The relations in words by name; those with the same verb have their names, too."""
        labels = {one.name: relation_label(self.kb.schema, one.name) for one in self.kb.schema.relations}
        counts = Counter(labels.values())
        return {
            name: label if counts[label] == 1 or label == spoken(name) else f"{label} ({spoken(name)})"
            for name, label in labels.items()
        }

    def in_words(self, line: str) -> str:
        """Return a line of a proof with the names of relations in words: *Jaws → has genre → Thriller*."""
        return _RELATION.sub(self._arrow, line)

    def _arrow(self, match: re.Match[str]) -> str:
        known = {relation.name: relation_label(self.kb.schema, relation.name) for relation in self.kb.schema.relations}
        return f" \N{RIGHTWARDS ARROW} {known[match[1]]} \N{RIGHTWARDS ARROW} " if match[1] in known else match[0]

    def type_class(self, name: str) -> str:
        """Return the CSS class with the colour of a type."""
        return f"type-{self._numbers.get(name, 'other')}"

    def types_css(self) -> str:
        """Return the colours of all types as a style sheet."""
        rules = [f".type-{number}{{--type:{self.colours[name]}}}" for name, number in self._numbers.items()]
        return "\n".join([*rules, f".type-other{{--type:{self.colours['']}}}", ""])

    def types_file(self, _: Request) -> Response:
        """Serve the colours of the types."""
        return Response(self.types_css(), media_type="text/css", headers={"Cache-Control": _YEAR})


def is_part(request: Request) -> bool:
    """Return whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true"


def status_of(error: KbError) -> int:
    """Return the HTTP status of an error."""
    known: tuple[tuple[type[KbError], int], ...] = (
        (UnknownNameError, 404), (QueryTimeoutError, 504), (DamagedError, 503), (ShortageError, 503),
    )  # fmt: skip
    return next((status for kind, status in known if isinstance(error, kind)), 400)


def said(error: KbError | None) -> str:
    """Return the text of an error for a page; nothing for none."""
    return "" if error is None else error.text_for(_SPELLER)


class _PageSpeller(PythonSpeller):
    """Hints for a person at a page, where the only option to set is that of the command."""

    def option(self, option: Option) -> str:
        """Spell the time limit as the option of the command, and other options as the choices on the page."""
        if option.name == "language":
            return f"the language {option.value.capitalize()}"
        if option.name == "merge_duplicates":
            return "“Merge rows with the same key”"
        return "kbkit explore --timeout" if option.name == "timeout" else super().option(option)

    def command(self, command: Command) -> str:
        """Spell the commands that have a screen as the screen, others as typed in a terminal."""
        name = command.words.partition(" ")[0]
        if name == "docs":
            return f"the guide ({super().command(command)})"
        return f"the screen {name.capitalize()}" if name in _SCREENS else super().command(command)


_SCREENS = ("search", "graph")
_WORDS = {
    "VARCHAR[": "list of texts", "VARCHAR": "text", "BIGINT": "integer", "INTEGER": "integer", "DOUBLE": "number",
    "BOOLEAN": "true or false", "TIMESTAMP": "date and time",
}  # fmt: skip
"""Types of SQL in words, by how they start."""
_SPELLER = _PageSpeller()


def _shown(value: Any) -> Any:
    """Return a value as a template writes it: text of a KB without control characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return value


def _kind(sql_type: str) -> str:
    """Return a type of SQL in the words that statistics of a column have for it."""
    return next((words for start, words in _WORDS.items() if sql_type.upper().startswith(start)), sql_type.lower())


def _snippet(text: str | None) -> Markup:
    """Return the text of a hit, with the matches (between ``**``) marked."""
    return _marked((text or "")[:1000])


def _marked(text: str) -> Markup:
    """Return a text with the matches (between ``**``) marked."""
    parts = clean(text).split("**")
    marked = [_MARK.format(part) if i % 2 else escape(part) for i, part in enumerate(parts)]
    return Markup("").join(marked)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
