"""How likely sketches are: features of what they say and leave unsaid, weighed in a log-linear model.

``weights.toml`` has the weights. ``python -m tests.performance.sketch_training`` fits them, and prints how often the
best sketch is right with each database left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from kbkit.english.question_words import PLACES
from kbkit.questions.lexicon import label_words
from kbkit.questions.sketches.asked import is_of_people
from kbkit.questions.sketches.conditions import Features
from kbkit.questions.sketches.forms import Sketch
from kbkit.questions.sketches.words import SketchWords

_CLEAR = 0.3
"""How well a word must say what is asked for."""
_SURELY = 0.75
"""How well a word must say a type of which all nodes are meant."""
_OF_VALUES = frozenset(["values", "names and values", "two values", "names and two values"])


@cache
def weights() -> dict[str, float]:
    """Return the weights of the features."""
    with resources.files("kbkit.questions.sketches").joinpath("weights.toml").open("rb") as file:
        found: dict[str, float] = tomllib.load(file)
    return found


def features(words: SketchWords, sketch: Sketch, dropped: Mapping[str, int]) -> dict[str, float]:
    """Return all features of a sketch; ``dropped`` are the numbers of links and numbers that it leaves out."""
    found = dict(sketch.features)
    found[f"form {sketch.form}"] = 1.0
    is_test = "left out" in sketch.uses
    found["dropped numbers"] = float(dropped["number"] - is_test)
    found["dropped names"] = float(dropped["link"])
    found |= _of_words(words, sketch)
    found |= _of_head(words, sketch)
    found |= _of_question_word(words, sketch)
    found |= _of_operators(words, sketch)
    is_flag = _type_of(words, sketch) == "BOOLEAN" and sketch.form in _OF_VALUES
    found["shows yes or no"] = float(is_flag)
    found["one thing less"] = float(words.asks_more and sketch.columns == 1)
    found["one thing more"] = float(not words.asks_more and sketch.columns > 1)
    return found


def _of_words(words: SketchWords, sketch: Sketch) -> dict[str, float]:
    """Return how much of the words nothing expresses, and how much better something else would."""
    own = words.type_atom(sketch.kind)
    found = {"type said": words.said(own)}
    if not len(words.at):
        return found
    expressed = words.fit[:, [*dict.fromkeys(sketch.atoms), own]].max(1)
    rest, nouns, verbs = 1 - expressed, ~words.is_verb, words.is_verb
    return found | {
        "nouns": float(rest[nouns].sum()),
        "verbs": float(rest[verbs].sum()),
        "worst noun": float(rest[nouns].max(initial=0.0)),
        "worst verb": float(rest[verbs].max(initial=0.0)),
        "better elsewhere": float(np.maximum(0, words.most - expressed).sum()),
    }


def _of_head(words: SketchWords, sketch: Sketch) -> dict[str, float]:
    """Return how well the words for what is asked say what the sketch gives."""
    if not words.head:
        return {"no head": 1.0}
    given = list(sketch.shown) or [words.type_atom(sketch.kind)]
    if "total" in sketch.uses:
        given.append(words.type_atom(sketch.kind))
    said = float(words.fit_of_head[given].max())
    return {"head": said, "head unsaid": float(said < _CLEAR)}


def _of_question_word(words: SketchWords, sketch: Sketch) -> dict[str, float]:
    """Return whether the answers fit *who*, *when*, *where* or *how much*."""
    name, kind = sketch.attribute, _type_of(words, sketch)
    if words.asks in ("who", "whom"):
        fits = is_of_people(name) if name else sketch.kind in words.elements.people
        return {"who": float(fits), "not who": float(not fits)}
    if words.asks == "when":
        fits = bool(name) and (kind.startswith(("DATE", "TIME")) or words.elements.is_yearly(sketch.kind, name))
        return {"when": float(fits), "not when": float(not fits)}
    if words.asks == "where":
        return {"where": float(bool(name) and not {*PLACES}.isdisjoint(label_words(name)))}
    if words.asks == "how" and not words.question.is_count:
        fits = "number" in sketch.uses
        return {"how much": float(fits), "not how much": float(not fits)}
    return {}


def _type_of(words: SketchWords, sketch: Sketch) -> str:
    """Return the DuckDB type of the attribute that a sketch shows; empty if it shows none."""
    known = words.elements.types[sketch.kind].attributes
    return next((one.type for one in known if one.name == sketch.attribute), "")


def _of_operators(words: SketchWords, sketch: Sketch) -> dict[str, float]:
    """Return which operators of the question a sketch ignores."""
    question, uses = words.question, sketch.uses
    denies_flag = "denied flag" in uses
    denied_either = "denial" in uses and "value alternative" in sketch.features
    has_test = "number" in sketch.features or "counted" in sketch.features or "left out" in uses
    return {
        "ignores superlative": float(words.superlative is not None and "superlative" not in uses),
        "ignores denial": float(question.negation is not None and not denies_flag and "denial" not in uses),
        "denies twice": float("denial" in uses and denies_flag),
        "denies one of two": float(denied_either and {"or", "nor", "neither"}.isdisjoint(words.tokens)),
        "ignores comparison": float(words.compares and not has_test and uses.isdisjoint(("than", "superlative"))),
        "ignores total": float(bool(words.total) and "total" not in uses),
        "ignores count": float(question.is_count and uses.isdisjoint(("count", "number"))),
        "ignores group": float(words.each >= 0 and "group" not in uses),
        "ignores than": float(words.than >= 0 and not words.than_number and "than" not in uses),
        "ignores same": float(words.same >= 0 and "same" not in uses),
        "ignores yes or no": float(words.is_yes_or_no and sketch.form != "exists"),
    }


@dataclass(frozen=True)
class TriedSketch:
    """A sketch with its features and what it answers: ``content`` is equal for equal answers, None if it fails."""

    sketch: Sketch
    features: Features
    content: object
    size: int
    """Number of answers or rows; 0 if there are none."""

    @property
    def is_meant(self) -> bool:
        """Whether it can be evaluated, and does not list all nodes of a type that no word names."""
        is_all = bool(self.features.get("lists all")) and self.features["type said"] < _SURELY
        return self.content is not None and not is_all

    @property
    def with_answers(self) -> dict[str, float]:
        """The features, with those of the answers."""
        return {**self.features, "no answers": float(not self.size), "fails": float(self.content is None)}


def total(weighted: Mapping[str, float], of: Features) -> float:
    """Return the weighted sum of features."""
    return sum(weighted.get(name, 0.0) * value for name, value in of.items())


def ranked(tried: Sequence[TriedSketch]) -> list[tuple[float, TriedSketch]]:
    """Return sketches with their scores, the best first."""
    scored = [(total(weights(), one.with_answers), one) for one in tried]
    return sorted(scored, key=lambda pair: -pair[0])
