"""Reads what a model replied: one thought and one action. Leniently, because models write as they like; never run.

``Thought: ...`` and ``Action: search("...")`` are asked for. Code fences, ``>>``, the names of the SPINACH paper, all
kinds of quotation marks or none, and JSON ``{"thought", "action", "argument"}`` (what a call of a function is turned
into) are read too. Whatever follows the first action, such as an observation that the model made up, is left out.
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

_THINKING = ("<think>", "</think>")
_MADE_UP = re.compile(r"\n[ \t*#>]*Observation\b[ \t*]*:", re.IGNORECASE)
_LABEL = r"(?:[*_#\s]*action\s*\d*\s*[*_]*\s*:[\s*_]*)"
_HEAD = (
    r"(?:^|\n)[ \t>`*-]*{label}[\s>`*]*(?:```\w*\s*)?(?P<name>[A-Za-z_]\w*)[`*]*[ \t]*(?P<open>\(|(?=\s*(?:```|$|\n)))"
)
_LABELLED = re.compile(_HEAD.format(label=_LABEL), re.IGNORECASE)
_THOUGHT = re.compile(r"(?:^|\n)[ \t*_#>-]*thought[ \t\d]*[*_]*[ \t]*:[\s*_]*", re.IGNORECASE)
_KEYWORD = re.compile(r"\s*[A-Za-z_]\w*\s*=\s*(?=[\"'“‘«`])")
_FENCE = re.compile(r"\s*```\w*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_LONG = ('"""', "'''", "```")
_MARKS = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "`"}
_NAMES = ("action", "name", "tool", "function")
_ARGUMENTS = ("argument", "arguments", "args", "input", "action_input", "parameters")
_LONGEST, _LONGEST_THOUGHT = 100_000, 4_000
_MOST_OBJECTS = 20


class Wanted(NamedTuple):
    """What a model wants: an action and its argument; ``problem`` says what is wrong with the reply, if it is."""

    thought: str
    action: str
    argument: str
    problem: str = ""


def read(text: str, actions: Sequence[str]) -> Wanted:
    """The first thought and action of a reply; ``actions`` are the names that there are."""
    text = text.strip()[:_LONGEST]
    if text.startswith(_THINKING[0]) and _THINKING[1] in text:
        text = text.partition(_THINKING[1])[2].strip()
    found = _from_json(text, actions) or _from_text(_MADE_UP.split(text)[0], actions)
    if not found.action:
        found = _embedded(text, actions) or found
    name, argument = found.action, found.argument.strip()
    thought = found.thought.strip()[:_LONGEST_THOUGHT]
    problem = found.problem
    if not problem and name not in actions:
        problem = f"there is no action {name!r}; there are {', '.join(actions)}" if name else _unread(actions)
    if not problem and not argument and name not in NO_ARGUMENT:
        problem = f"{name} needs an argument: {form(name)}"
    return Wanted(thought, name, "" if name in NO_ARGUMENT else argument, problem)


def form(action: str) -> str:
    """How an action is written."""
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


def _from_json(text: str, actions: Sequence[str]) -> Wanted | None:
    """An object with an action, alone or in a code fence; None where there is none."""
    fenced = re.fullmatch(r"```\w*\s*(.*?)\s*```", text, re.DOTALL)
    body = fenced[1] if fenced else text
    if not body.startswith("{"):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return None
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is None:
        return None
    thought = value.get("thought")
    thought = thought if isinstance(thought, str) else ""
    if "(" in name:
        return _from_text(f"Thought: {thought}\nAction: {name}", actions)
    argument, problem = _argument(next((value[key] for key in _ARGUMENTS if key in value), ""))
    return Wanted(thought, _known(name), argument, problem)


def _embedded(text: str, actions: Sequence[str]) -> Wanted | None:
    """An object with an action that stands behind other words."""
    for brace in list(re.finditer(r"\{(?=\s*\"\w+\"\s*:)", text))[:_MOST_OBJECTS]:
        found = _from_json(text[brace.start() :], actions)
        if found is not None:
            return found if found.thought else found._replace(thought=_thought(text[: brace.start()]))
    return None


def _argument(value: Any) -> tuple[str, str]:
    """An argument of JSON as text: a text, a number, or an object with one of these."""
    if isinstance(value, dict) and len(value) <= 1:
        value = next(iter(value.values()), "")
    if value is None or isinstance(value, str):
        return value or "", ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value), ""
    return "", "the argument is no text"


# -- text -------------------------------------------------------------------------------------------------------------


def _from_text(text: str, actions: Sequence[str]) -> Wanted:
    found = _LABELLED.search(text) or _bare(actions).search(text)
    if not found:
        return Wanted(_thought(text), "", "")
    thought = _thought(text[: found.start()])
    name = _known(found["name"])
    rest = text[found.end() :]
    if found["open"]:
        return Wanted(thought, name, _called_with(rest, greedy=name == "sparql"))
    fenced = _FENCE.match(rest)  # a query that stands below its action
    return Wanted(thought, name, fenced[1] if fenced else "")


def _thought(text: str) -> str:
    """What stands behind the word, or all of it."""
    return _THOUGHT.split(text, maxsplit=1)[-1].strip()


def _bare(actions: Sequence[str]) -> re.Pattern[str]:
    """A call at the beginning of a line, without the word action before it."""
    names = "|".join(map(re.escape, (*actions, *SYNONYMS)))
    return re.compile(rf"(?:^|\n)[ \t>`*-]*(?:```\w*\s*)?(?P<name>{names})[ \t]*(?P<open>\()", re.IGNORECASE)


def _called_with(rest: str, *, greedy: bool) -> str:
    """The argument of a call whose bracket is open: between quotation marks, or up to the closing bracket."""
    keyword = _KEYWORD.match(rest)
    rest = rest[keyword.end() :] if keyword else rest.lstrip()
    for mark in _LONG:
        if rest.startswith(mark):
            inner, _, _ = rest[3:].partition(mark)
            return re.sub(r"^\w+\n", "", inner) if mark == "```" else inner
    if rest[:1] in _MARKS:
        return _quoted(rest, greedy=greedy)
    end = rest.rfind(")") if greedy else rest.find(")")
    return (rest[:end] if end >= 0 else rest).strip().strip("`\"'")


def _quoted(rest: str, *, greedy: bool) -> str:
    """Between single quotation marks: up to the first that a bracket follows, of a query (which has brackets) the last.

    Backslashes stand before marks, backslashes and line breaks.
    """
    close = re.escape(_MARKS[rest[0]])
    ends = list(re.finditer(rf"(?<!\\){close}\s*,?\s*\)", rest[1:]))
    if not ends:
        ends = list(re.finditer(rf"(?<!\\){close}", rest[1:]))
    end = ends[-1 if greedy else 0].start() if ends else len(rest)
    inner = rest[1 : end + 1]
    return re.sub(r"\\([\\\"'nt])", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), inner)
