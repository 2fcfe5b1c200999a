"""Colours for statements as they are typed (Pygments, through prompt_toolkit)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer, PygmentsLexer, SimpleLexer
from prompt_toolkit.styles import Style
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Operator, Punctuation, String, Text

MOST = 20_000
"""Characters of a statement that are looked at as it is typed: a longer one was pasted."""

STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "mode": "#008787",
        "bottom-toolbar": "noreverse #767676",
        "auto-suggestion": "#767676",
        "completion-menu.completion.current": "#005faf bg:#ffffff reverse",
        "completion-menu.meta.completion.current": "#005faf bg:#ffffff reverse",
        "pygments.keyword": "#5f5fff bold",
        "pygments.literal.string": "#008700",
        "pygments.comment": "#767676 italic",
        "pygments.operator": "#d700af bold",
        "pygments.name.function": "#008787",
        "pygments.name.variable": "#af5f00",
        "pygments.name.constant": "#00875f",
        "pygments.literal.number": "#00875f",
    }
)
"""Colours of middle brightness, legible on black and on white: nobody knows what a terminal's background is."""


class AnswersLexer(RegexLexer):  # type: ignore[misc]
    """Answer expressions."""

    name = "answers"
    tokens = {  # noqa: RUF012 - Pygments wants it so
        "root": [
            (r"(?<!\S)#[^\n]*", Comment),
            (r'"(?:[^"\\]|\\.)*"?|\'(?:[^\'\\]|\\.)*\'?', String),
            (r"->|<-|→|←|[&|]|(?<=\s)-(?=\s)", Operator),
            (r"\[[^\]\n]*\]?", Name.Function),
            (r"<[^<>\n]*>|@[\w`]+|(?<!\w)_(?!\w)", Name.Variable),
            (r"#[^\s(){}]+", Name.Constant),
            (r"\b(?:contains|in|not|missing|all|true|false)\b", Keyword),
            (r"[\w/]+|`[^`]*`?", Name.Class),
            (r"[(){}:,]", Punctuation),
            (r"\s+|.", Text),
        ]
    }


class CommandLexer(RegexLexer):  # type: ignore[misc]
    """Dot-commands."""

    name = "command"
    tokens = {"root": [(r"^\s*\.\w*", Keyword), (r'"[^"\n]*"?', String), (r"\s+|.", Text)]}  # noqa: RUF012


class StatementLexer(Lexer):
    """The colours of the language that ``language`` says a text is in."""

    def __init__(self, language: Callable[[str], str]) -> None:
        self._language = language

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Colours by line."""
        language = self._language(document.text) if len(document.text) <= MOST else ""
        return lexer(language).lex_document(document)


@functools.cache
def lexer(language: str) -> Lexer:
    """The lexer of a language, made when it is needed first: its expressions take a while to compile."""
    if language == "sql":
        from pygments.lexers.sql import SqlLexer

        return PygmentsLexer(SqlLexer, sync_from_start=True)
    if language == "sparql":
        from pygments.lexers.rdf import SparqlLexer

        return PygmentsLexer(SparqlLexer, sync_from_start=True)
    own = {"answers": AnswersLexer, "command": CommandLexer}
    return PygmentsLexer(own[language], sync_from_start=True) if language in own else SimpleLexer()
