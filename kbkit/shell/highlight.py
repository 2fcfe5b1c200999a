"""Colours of statements as they are typed."""

from __future__ import annotations

import functools
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from kbkit.executor import languages
from kbkit.executor.lexers import tokens
from kbkit.stores.sparql_text import Token

LONGEST = 20_000
"""Characters of a statement that is highlighted and completed; a longer one was pasted."""

STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "mode": "#008787",
        "bottom-toolbar": "noreverse #767676",
        "auto-suggestion": "#767676",
        "completion-menu.completion.current": "#005faf bg:#ffffff reverse",
        "completion-menu.meta.completion.current": "#005faf bg:#ffffff reverse",
        "keyword": "#5f5fff bold",
        "string": "#008700",
        "comment": "#767676 italic",
        "operator": "#d700af bold",
        "relation": "#008787",
        "variable": "#af5f00",
        "number": "#00875f",
    }
)
"""Colours of medium brightness, legible on black and on white."""

_STYLES = {
    **dict.fromkeys(("comment", "open_comment"), "comment"),
    **dict.fromkeys(("string", "open_string"), "string"),
    **dict.fromkeys(("arrow", "operator"), "operator"),
    **dict.fromkeys(("step", "open_step", "name"), "relation"),
    **dict.fromkeys(("variable", "parameter", "slot"), "variable"),
    **dict.fromkeys(("number", "key", "open_key", "iri", "open_iri"), "number"),
}


class StatementLexer(Lexer):
    """Colours statements by the tokens of their language, which the function ``language`` returns."""

    def __init__(self, language: Callable[[str], str]) -> None:
        self._language = language

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function that returns the colours of a line."""
        text = document.text
        language = self._language(text) if 0 < len(text) <= LONGEST else ""
        lines = list(split_lines(_colours(text, language)))
        return lambda line: lines[line] if line < len(lines) else []


@functools.cache
def _keywords(language: str) -> frozenset[str]:
    if language == "sql":
        from kbkit.executor.completion.sql_words import KEYWORDS

        return KEYWORDS
    if language == "sparql":
        from kbkit.executor.completion.sparql import KEYWORDS

        return KEYWORDS
    if language == "answers":
        return frozenset(("contains", "in", "not", "missing", "all", "true", "false", "max", "min"))
    return frozenset()


def _colours(text: str, language: str) -> StyleAndTextTuples:
    if language == languages.COMMAND:
        name, space, argument = text.partition(" ")
        return [("class:keyword", name), ("", space + argument)]
    return [(_style(token, language), token.text) for token in tokens(text, language)]


def _style(token: Token, language: str) -> str:
    style = _STYLES.get(token.kind, "")
    if token.kind == "word" and token.text.casefold() in _keywords(language):
        style = "keyword"
    elif token.kind == "symbol" and (token.text in "&|-" if language == "answers" else token.text in "=<>!+*/-"):
        style = "operator"
    elif token.text in ("_", "@"):
        style = "variable"
    return f"class:{style}" if style else ""
