"""Parsing of a model's reply into one thought and one action. Lenient; nothing in the reply is executed.

The requested form is ``Thought: ...`` and ``Action: search("...")``. Code fences, ``>>``, the SPINACH paper's names,
any kind of quotation marks or none, and JSON ``{"thought", "action", "argument"}`` (the form of function calls) are
accepted too. Text after the first action, such as an invented observation, is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

SYNONYMS = {
    "search_wikidata": "search",
    "search_entity": "search",
    "get_wikidata_entry": "entry",
    "get_entry": "entry",
    "get_property_examples": "examples",
    "execute_sparql": "sparql",
    "run_sparql": "sparql",
}
NO_ARGUMENT = ("stop",)

OWN = {"search": "text", "entry": "id", "examples": "property", "sparql": "query"}
"""Names of the argument of an action in function calls."""

_THINKING = re.compile(r"(?:\A|\n)[ \t]*<think>.*?(?:</think>|\Z)", re.DOTALL)
_THOUGHT_OUT = "</think>"
_MADE_UP = re.compile(r"\n[ \t*#>]*Observation\b[ \t*]*:", re.IGNORECASE)
# No two adjacent repeats match the same character, so a reply of blanks is parsed in linear time.
_LABELLED = re.compile(
    r"(?:^|\n)[ \t>`*#_-]*(?:\d+[.)][ \t*_]*)?action[ \t\d]*(?:[*_]+[ \t]*)?:[\s>`*]*(?:```\w*\s*)?"
    r"(?P<name>[A-Za-z_]\w*)[`*]*\.?[ \t]*(?P<open>\(|(?=\s*(?:```|$)|\n))",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"(?:^|\n)[ \t*_#>-]*thought[ \t\d]*(?:[*_]+[ \t]*)?:[\s*_]*", re.IGNORECASE)
_NEXT = re.compile(
    r"\n[ \t>`*_-]*(?:##+[ \t]*)?(?:\d+[.)][ \t*_]*)?(?:thought|action)[ \t\d]*(?:[*_]+[ \t]*)?:", re.IGNORECASE
)
"""A line that starts the next step."""
_INPUT = re.compile(r"\s*[*_`]*action[ _]input[*_`]*[ \t]*:[*_]*[ \t]*", re.IGNORECASE)
_LINE_END = re.compile(r"[ \t`*.;,]*(?=\n|\Z)")
_BRACKETS = re.compile(r"[(){}]")
_OPENED = re.compile(r"```\w*\s*\Z")
_KEYWORD = re.compile(r"\s*[A-Za-z_]\w*\s*=\s*(?=[\"'“‘«`])")
_FENCE = re.compile(r"\s*```\w*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_LONG = ('"""', "'''", "```")
_MARKS = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "`"}
_NAMES = ("action", "name", "tool", "function")
_ARGUMENTS = ("argument", "arguments", "args", "input", "action_input", "parameters")
_LONGEST, _LONGEST_THOUGHT = 100_000, 4_000
_OBJECT = re.compile(r"\s*\{\s*(?:\"|\}?\s*\Z)")
_MOST_OBJECTS = 20


class RequestedAction(NamedTuple):
    """The action that a model requests, and its argument; ``problem`` describes an invalid reply."""

    thought: str
    action: str
    argument: str
    problem: str = ""


def read(text: str, actions: Sequence[str]) -> RequestedAction:
    """Parse the first thought and action of a reply; ``actions`` are the valid names."""
    text = text.strip()[:_LONGEST]
    text = _THINKING.sub("", text)
    text = (text.partition(_THOUGHT_OUT)[2] if _THOUGHT_OUT in text else text).strip()  # a template may have opened it
    requested = _from_json(text, actions) or _from_text(_MADE_UP.split(text)[0], actions)
    if requested.action not in actions:
        inner = _embedded(text, actions)
        requested = inner if inner and (not requested.action or inner.action in actions) else requested
    name, argument = requested.action, requested.argument.strip()
    thought = requested.thought.strip()[:_LONGEST_THOUGHT]
    problem = requested.problem
    if not problem and name not in actions:
        problem = f"there is no action {name!r}; there are {', '.join(actions)}" if name else _unread(actions)
    if not problem and not argument and name not in NO_ARGUMENT:
        problem = f"{name} needs an argument: {form(name)}"
    return RequestedAction(thought, name, "" if name in NO_ARGUMENT else argument, problem)


def form(action: str) -> str:
    """Return the form in which an action is written."""
    if action in NO_ARGUMENT:
        return f"{action}()"
    return f'{action}("""...""")' if action == "sparql" else f'{action}("...")'


def _unread(actions: Sequence[str]) -> str:
    return f"the reply holds no action; write a line Thought: ... and a line Action: with one of {_forms(actions)}"


def _forms(actions: Sequence[str]) -> str:
    return ", ".join(map(form, actions))


def _known(name: str) -> str:
    name = name.strip().casefold()
    return SYNONYMS.get(name, name)


# -- JSON -------------------------------------------------------------------------------------------------------------


def _from_json(text: str, actions: Sequence[str]) -> RequestedAction | None:
    """Return a JSON object with an action, alone or in a code fence, or None."""
    fenced = re.fullmatch(r"```\w*\s*(.*?)\s*```", text, re.DOTALL)
    body = fenced[1] if fenced else text
    if not body.startswith("{"):
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(body)  # with line breaks in strings
    except (ValueError, RecursionError):
        return None
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is None:
        return None
    thought = value.get("thought")
    thought = thought if isinstance(thought, str) else ""
    if "(" in name:
        return _from_text(f"Thought: {thought}\nAction: {name}", actions)
    argument, problem = _argument(next((value[key] for key in _ARGUMENTS if key in value), ""), _known(name))
    return RequestedAction(thought, _known(name), argument, problem)


def _embedded(text: str, actions: Sequence[str]) -> RequestedAction | None:
    """Return a JSON object with an action that follows other words."""
    for brace in list(re.finditer(r"\{(?=\s*\"\w+\"\s*:)", text))[:_MOST_OBJECTS]:
        requested = _from_json(text[brace.start() :], actions)
        if requested is not None:
            return requested if requested.thought else requested._replace(thought=_thought(text[: brace.start()]))
    return None


def _argument(value: Any, action: str) -> tuple[str, str]:
    """Return a JSON argument as text: a string, a number, or an object with one of these, which may itself be JSON
    text.
    """
    if action in NO_ARGUMENT:
        return "", ""
    if isinstance(value, str) and _OBJECT.match(value):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return "", "the arguments are no JSON; were they cut?"
    if isinstance(value, dict):
        held = {name: one for name, one in value.items() if name != "thought"}
        value = (
            held[OWN[action]] if OWN.get(action) in held else next(iter(held.values()), "") if len(held) < 2 else held
        )
    if value is None or isinstance(value, str):
        return value or "", ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value), ""
    return "", "the argument is no text"


# -- text -------------------------------------------------------------------------------------------------------------


def _from_text(text: str, actions: Sequence[str]) -> RequestedAction:
    match = _LABELLED.search(text) or _bare(actions).search(text)
    if not match:
        return RequestedAction(_thought(text), "", "")
    thought = _thought(text[: match.start()])
    name = _known(match["name"])
    rest = text[match.end() :]
    if match["open"]:
        return RequestedAction(thought, name, _called_with(rest, query=name == "sparql"))
    if text[: match.start("name")].endswith("```"):  # the name is the language of a code fence
        if _bare(actions).match(rest):
            return _from_text(rest, actions)._replace(thought=thought)
        return RequestedAction(thought, name, rest.partition("```")[0])
    return RequestedAction(thought, name, *_below(rest, name))


def _below(rest: str, action: str) -> tuple[str, str]:
    """Return an argument on the lines below its action: after the words Action Input, or in a code fence."""
    match = _INPUT.match(rest)
    if match:
        rest = _NEXT.split(rest[match.end() :], maxsplit=1)[0].strip()
    fenced = _FENCE.match(rest)
    if fenced or not match:
        return fenced[1] if fenced else "", ""
    if rest[-1:] == _MARKS.get(rest[:1]):
        rest = rest[1:-1]
    return _argument(rest, action)


def _thought(text: str) -> str:
    """Return the text after the word, without a code fence that opens there."""
    return _OPENED.sub("", _THOUGHT.split(text, maxsplit=1)[-1]).strip()


def _bare(actions: Sequence[str]) -> re.Pattern[str]:
    """Return a call at the beginning of a line, without the word action before it."""
    names = "|".join(map(re.escape, (*actions, *SYNONYMS)))
    return re.compile(rf"(?:^|\n)[ \t>`*-]*(?:```\w*\s*)?(?P<name>{names})[ \t]*(?P<open>\()", re.IGNORECASE)


def _called_with(rest: str, *, query: bool) -> str:
    """Return the argument after an opening bracket: in quotation marks, or up to the closing bracket."""
    keyword = _KEYWORD.match(rest)
    rest = rest[keyword.end() :] if keyword else rest.lstrip()
    for mark in _LONG:
        if rest.startswith(mark):
            inner, _, _ = rest[3:].partition(mark)
            return re.sub(r"^\w+\n", "", inner) if mark == "```" else inner
    rest = _NEXT.split(rest, maxsplit=1)[0]
    if rest[:1] in _MARKS:
        return _quoted(rest, query=query)
    ends = list(re.finditer(r"\)", rest))
    end = _whole(rest, ends, query=query) or (ends[-1 if query else 0] if ends else None)
    return (rest[: end.start()] if end else rest).strip().strip("`\"'")


def _quoted(rest: str, *, query: bool) -> str:
    """Return text in single quotation marks, up to the first mark followed by a bracket.

    A query may contain both. Its text ends at the first mark where the brackets are balanced, preferably at the end of
    a line.

    Backslashes escape quotation marks, backslashes and line breaks.
    """
    close = re.escape(_MARKS[rest[0]])
    ends = list(re.finditer(rf"(?<!\\){close}\s*(?:,\s*)?\)", rest[1:]))
    ends = ends or list(re.finditer(rf"(?<!\\){close}", rest[1:]))
    end = ends[-1 if query else 0] if ends else None
    if query:
        closing = (mark for mark in ends if _LINE_END.match(rest, mark.end() + 1))
        end = _whole(rest[1:], ends, query=True) or next(closing, end)
    inner = rest[1 : end.start() + 1] if end else rest[1:]
    return re.sub(r"\\([\\\"'nt])", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), inner)


def _whole(text: str, ends: Sequence[re.Match[str]], *, query: bool) -> re.Match[str] | None:
    """Return the first of the ends with balanced brackets before it, for a query preferably at the end of a line."""
    depth, place, first = 0, 0, None
    for end in ends:
        for bracket in _BRACKETS.finditer(text, place, end.start()):
            depth += 1 if bracket[0] in "({" else -1
            if depth < 0:
                return first
        place = end.start()
        if not depth:
            if not query or _LINE_END.match(text, end.end()):
                return end
            first = first or end
    return first
