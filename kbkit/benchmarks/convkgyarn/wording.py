"""How to ask for a predicate: cores of questions and search queries, from ``predicates.toml`` or from its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kbkit.benchmarks.convkgyarn.predicates import Predicate, Qualifier
from kbkit.benchmarks.convkgyarn.values import is_mutual
from kbkit.english.frames import frame_file
from kbkit.english.questions import Core, base_form, is_past_form
from kbkit.english.readable import attribute_problem
from kbkit.english.relations import Link, objection
from kbkit.english.roles import is_label, is_untyped, tail_noun
from kbkit.english.types import THING, type_noun
from kbkit.english.verbs import VerbPhrase, of_noun, verb_phrase
from kbkit.english.words import (
    PREPOSITIONS,
    inflections,
    is_participle,
    is_person,
    is_plural,
    lemmas_of,
    may_be_person,
    plural,
    singular,
    spoken,
    with_article,
)
from kbkit.schema import Schema

_START = re.compile(r"(?i)start time|since|from|joined|begin.*|start.*")
_END = re.compile(r"(?i)end time|until|to|left|end.*")
_POINT = re.compile(r"(?i)point in time|year|date|when|time")
_SO_MANY = re.compile(r"(?:had|has) so many (\w+) in (?:the )?(\w+)")
_KIND = re.compile(r"(.+) (kind|sort|type)")
_PLAIN = ("who", "when", "where")


@dataclass(frozen=True)
class PredicateWording:
    """How to ask for a predicate: ``cores`` of questions, ``keys`` of search queries, with ``{S}`` for the subject.

    ``given``: the placeholder of a qualified fact in each question, ``object`` or ``qualifier``, or "".
    """

    cores: tuple[Core, ...]
    keys: tuple[str, ...]
    theme: str
    given: str = ""


def wording(predicate: Predicate, schema: Schema, *, person: bool) -> PredicateWording | None:
    """Return the wording of a predicate; ``person``: its subjects are people. None if no wording reads well."""
    if predicate.origin in ("forward", "backward"):
        return _of_relation(predicate, schema, person=person)
    entry = _entry("ask", predicate, person=person)
    return None if entry is None and attribute_problem(predicate.label) else _of_noun(predicate, entry, person=person)


def problem(predicate: Predicate, schema: Schema) -> str:
    """Return what is wrong with the label of a predicate that cannot be worded; "" if it is the predicate itself."""
    if predicate.origin in ("forward", "backward"):
        link = Link(
            schema.relation(predicate.relation), predicate.type, predicate.target, of_head=predicate.origin == "forward"
        )
        reason = objection(schema, link)
    else:
        reason = attribute_problem(predicate.label)
    return f"a label that cannot be worded ({reason})" if reason else ""


def qualified(predicate: Predicate, qualifier: Qualifier, schema: Schema, *, person: bool) -> PredicateWording | None:
    """Return the wording of questions about a qualifier's value, or about the value that it qualifies; None if none."""
    many = _SO_MANY.fullmatch(predicate.label)
    if many and predicate.origin == "forward" and many[1] == qualifier.label:
        noun = "in the year [object]" if many[2] == "year" else "in [object]"
        of_people = many[1] == "people"
        word = "population" if of_people else many[1]
        cores = [f"how many people lived in {{S}} {noun}" if of_people else f"how many {many[1]}; did; have {noun}"]
        cores += [f"what; was; {{S's}} {word} {noun};", f"what; was; the {word} of {{S}} {noun};"]
        return _worded(cores, (f"{{S's}} {word} in [object]", f"{word} of {{S}} in [object]"), word, "object")
    entry = _entry("qualified", predicate, person=person, suffix=f"/{qualifier.label}")
    if entry and predicate.origin in ("forward", "attribute", "statement"):
        asked, keys = ([_filled(text, predicate) for text in entry[name]] for name in ("ask", "key"))
        return _worded(asked, keys, entry["theme"], entry["given"])
    if predicate.origin != "forward":
        return None
    return _since(predicate, qualifier, schema)


def _since(predicate: Predicate, qualifier: Qualifier, schema: Schema) -> PredicateWording | None:
    """Return questions for when a relation began, ended or held, from its verb."""
    phrase = schema.relation(predicate.relation).phrase(predicate.type, of_head=True) or getattr(
        verb_phrase(predicate.label), "singular", ""
    )
    if not phrase or "{}" in phrase or qualifier.kind != "date":
        return None
    verb, _, rest = phrase.partition(" ")
    thing = f"{rest} [object]".strip()
    base, past = base_form(verb), is_past_form(verb)
    membership = re.fullmatch(r"an? member of \[object\]", thing)
    theme = _theme(predicate)
    if _START.fullmatch(qualifier.label) and not past:
        if membership:
            cores = ["when; did; join [object]", f"what year; did; become {thing}"]
            keys = ["year {S} joined [object]", "{S's} year of entry into [object]", "{S's} entry into [object]"]
        else:
            perfect = f"been {thing}" if verb == "is" else f"{_participle(base)} {thing}"
            cores = [f"since when; has; {perfect}", f"since which year; has; {perfect}"]
            keys = [f"year since {{S}} {phrase} [object]"]
        return _worded(cores, keys, theme, "object")
    aux, after = ("was", thing) if verb in ("is", "was") else ("did", f"{base} {thing}")
    if _END.fullmatch(qualifier.label):
        return _worded([f"until when; {aux}; {after}"], [f"last year {{S}} {phrase} [object]"], theme, "object")
    if _POINT.fullmatch(qualifier.label):
        cores = [f"when; {aux}; {after}", f"in which year; {aux}; {after}"]
        return _worded(cores, [f"year {{S}} {phrase} [object]"], theme, "object")
    return None


def _worded(cores: Iterable[str], keys: Iterable[str], theme: str, given: str = "") -> PredicateWording:
    return PredicateWording(tuple(map(Core.parse, cores)), tuple(keys), theme, given)


# -- entries ----------------------------------------------------------------------------------------------------------


def _entry(part: str, predicate: Predicate, *, person: bool, suffix: str = "") -> Mapping[str, Any] | None:
    """Return the entry of a predicate: for its type, for people, or for all."""
    known: Mapping[str, Mapping[str, Any]] = frame_file("predicates").get(part, {})
    noun = spoken(predicate.type)
    for name in (
        f"{noun}/{predicate.label}",
        f"{type_noun(predicate.type)}/{predicate.label}",
        *([f"person/{predicate.label}"] * (person or may_be_person(type_noun(predicate.type)))),
        predicate.label,
    ):
        if name + suffix in known:
            return known[name + suffix]
    return None


def _filled(text: str, predicate: Predicate) -> str:
    """Return a text of an entry with the nouns of the subject and of the answers."""
    target = type_noun(predicate.target) if predicate.target else THING
    text = text.replace("{type}", type_noun(predicate.type))
    return text.replace("{targets}", plural(target)).replace("{target}", target)


def _theme(predicate: Predicate) -> str:
    return predicate.target or predicate.predicate


# -- nouns ------------------------------------------------------------------------------------------------------------


def _of_noun(predicate: Predicate, entry: Mapping[str, Any] | None, *, person: bool) -> PredicateWording | None:
    """Return the wording of a predicate whose words are a noun: *length*, *director*."""
    label = predicate.label
    if entry is None and is_participle(label) and predicate.kind == "date":
        return _worded((f"when; was; {label}", f"what year; was; {label}"), (f"year {{S}} was {label}",), "time")
    noun = entry.get("noun", label) if entry else label
    cores = [Core.parse(_filled(text, predicate)) for text in (entry or {}).get("ask", ())]
    keys = [_filled(text, predicate) for text in (entry or {}).get("key", ())]
    noun = _lowered(noun)
    is_plain = any(core.wh.partition(" ")[0] in _PLAIN for core in cores)
    if noun and (not _is_noun(noun) or (is_plain and not predicate.people)):
        noun = ""  # nor what X's place of death is, where one can ask where X died
    if noun:
        shown = _numbered(noun, predicate)
        be = _be(several="+" in shown, plural_noun=is_plural(noun), person=person)
        own_kind = _KIND.fullmatch(noun)
        if own_kind and own_kind[1] == type_noun(predicate.type).casefold():
            cores += [Core.parse(f"what {own_kind[2]} of {own_kind[1]}; is")]
        elif predicate.kind == "number" and is_plural(noun) and may_be_person(singular(noun)):
            cores += [Core.parse(f"how many {noun} are listed for {{S}}")]  # a booking has no adults
        elif predicate.kind == "number" and is_plural(noun):
            cores += [Core.parse(f"how many {noun}; does; have")]
        else:
            of_people = predicate.people or (predicate.kind == "text" and is_person(singular(noun)))
            who = "who" if of_people else "what"
            cores += [Core(who, be, f"the {shown} of {{S}}"), Core(who, be, f"{{S's}} {shown}")]
        keys = keys or [f"{{S's}} {shown}", f"{shown} of {{S}}"]
    if not cores:
        return None
    return PredicateWording(tuple(cores), tuple(keys), str((entry or {}).get("theme", _theme(predicate))))


def _be(*, several: bool, plural_noun: bool = False, person: bool = False) -> str:
    """Return the verb of a noun: in the past for people who are no more."""
    if several:
        return "[is+are~was+were]" if person else "[is+are]"
    now, then = ("are", "were") if plural_noun else ("is", "was")
    return f"[{now}~{then}]" if person else now


def _is_noun(noun: str) -> bool:
    """Return whether a label reads as a noun: no preposition at its end, no verb at its start."""
    words = noun.split(" ")
    kinds = lemmas_of(words[-1])
    is_word = (
        "NOUN" in kinds or "ADJ" in kinds or is_participle(words[-1]) or (words[-1].isupper() and len(words[-1]) > 1)
    )
    if not is_word and (kinds or not is_plural(words[-1])) and " of " not in noun:
        return False  # a verb or an obscure abbreviation
    return words[-1] not in PREPOSITIONS and words[0] not in ("is", "has", "was", "are", "does", "did", *PREPOSITIONS)


def _lowered(noun: str) -> str:
    return noun if noun[1:2].isupper() else noun[:1].lower() + noun[1:]


def _numbered(noun: str, predicate: Predicate) -> str:
    """Return a noun in the number of the answers: ``[capital+capitals]`` if entities may have several."""
    if "[" in noun or predicate.most <= 1 or is_plural(noun) or predicate.kind in ("number", "date"):
        return noun
    return f"[{noun}+{plural(noun)}]"


# -- relations --------------------------------------------------------------------------------------------------------


def _of_relation(predicate: Predicate, schema: Schema, *, person: bool) -> PredicateWording | None:
    relation = schema.relation(predicate.relation)
    forward = predicate.origin == "forward"
    # Not what it starred in, of a person whom nothing calls one.
    is_unclear = is_untyped(predicate.type) and (not forward or is_label(tail_noun(relation) or "tag"))
    if is_unclear or _SO_MANY.fullmatch(predicate.label):
        return None
    if not relation.symmetric and is_mutual(relation) and of_noun(relation.label or relation.name):
        return _linked(predicate)
    entry = _entry("forward" if forward else "inverse", predicate, person=person)
    if entry:
        return _of_noun(predicate, entry, person=person)
    link = Link(relation, predicate.type, predicate.target, of_head=forward)
    if objection(schema, link) or (link.is_record and not forward):
        return None
    own = link.given
    verb = own or (getattr(verb_phrase(predicate.label), "singular", "") if forward else "")
    if verb:
        return _object_question(predicate, verb)
    other = Link(relation, predicate.target, predicate.type, of_head=not forward)
    return _subject_question(predicate, other.given)


def _linked(predicate: Predicate) -> PredicateWording:
    """Return the wording of a noun without direction: either end may be the *side effect* of the other."""
    noun, wh = with_article(predicate.label), _answers(predicate)
    shown = wh.removeprefix("which ").replace("who", "people").replace("what", "things")
    cores = [f"{wh}; is; linked to as {noun}", f"what{wh[5:]}; is; linked to as {noun}" if wh[:5] == "which" else ""]
    return _worded(filter(None, cores), [f"{shown} linked to {{S}} as {noun}"], _theme(predicate))


def _answers(predicate: Predicate) -> str:
    """Return the interrogative for the answers: *who*, *which river(s)*, or *what* if their types differ."""
    if predicate.people:
        return "who"
    noun = type_noun(predicate.target)
    if predicate.targets > 1 or noun == THING:
        return "what"
    return f"which [{noun}+{plural(noun)}]" if predicate.most > 1 else f"which {noun}"


def _object_question(predicate: Predicate, phrase: str) -> PredicateWording | None:
    """Return the wording of a verb phrase with the entity as its subject: *which sea does the Rhine flow into*."""
    phrase = _of_group(phrase)
    as_noun = re.fullmatch(r"(?:has \{\} as|has) an? (.+)|has the (.+)", phrase)
    if as_noun and (as_noun[1] or as_noun[2]).rpartition(" ")[2] not in PREPOSITIONS:
        noun = as_noun[1] or as_noun[2]
        who = "who" if predicate.people else "what"
        shown = _numbered(noun, predicate)
        be = "[is+are]" if "+" in shown else "is"
        cores = [Core(who, be, f"the {shown} of {{S}}"), Core(who, be, f"{{S's}} {shown}")]
        return PredicateWording(tuple(cores), (f"{{S's}} {shown}", f"{shown} of {{S}}"), _theme(predicate))
    if "{}" in phrase:
        return None
    noun = type_noun(predicate.target)
    phrase = re.sub(rf" (?:the )?{re.escape(noun)}$", "", phrase)
    verb, _, rest = phrase.partition(" ")
    wh = _answers(predicate)
    aux, after = (verb, rest) if verb in ("is", "was", "has") and not (verb == "has" and rest[:1] == "a") else (
        "did" if is_past_form(verb) else "does", f"{base_form(verb)} {rest}".strip())  # fmt: skip
    cores = [Core.parse(f"{wh}; {aux}; {after}")]
    if wh.startswith("which"):
        cores.append(Core.parse(f"what{wh[5:]}; {aux}; {after}"))
    shown = wh.removeprefix("which ").replace("who", "people").replace("what", "things")
    key = f"{shown} {{S}} {phrase}"
    return PredicateWording(tuple(cores), (key,), _theme(predicate))


def _subject_question(predicate: Predicate, own: str) -> PredicateWording | None:
    """Return the wording of a verb phrase with the answers as its subject: *which rivers flow through France*."""
    phrase = verb_phrase(predicate.label) if not own else None
    singular = own or (phrase.singular if phrase else "")
    if not singular or singular.startswith("{} "):
        return None
    singular = _of_group(singular)
    several = VerbPhrase(singular).plural

    def thing(text: str) -> str:
        return text.replace("{}", "{S}") if "{}" in text else f"{text} {{S}}"

    noun = type_noun(predicate.target)
    if predicate.people:
        cores = [Core(f"who {thing(singular)}")]
        key = f"people who {thing(several)}"
    elif predicate.most > 1:
        cores = [Core(f"{wh} [{noun} {first}+{plural(noun)} {second}]{rest}") for wh in ("which", "what")
                 for first, second, rest in [_split(thing(singular), thing(several))]]  # fmt: skip
        key = f"{plural(noun)} that {thing(several)}"
    else:
        cores = [Core(f"{wh} {noun} {thing(singular)}") for wh in ("which", "what")]
        key = f"{noun} that {thing(singular)}"
    keys = [key]
    verb = several.partition(" ")[0]
    if verb not in ("are", "have", "were", "is", "was", "has") and "{}" not in singular and not is_past_form(verb):
        keys.append(f"{plural(noun)} {_gerund(verb)} {several.partition(' ')[2]} {{S}}".replace("  ", " "))
    return PredicateWording(tuple(cores), tuple(keys), _theme(predicate))


def _of_group(phrase: str) -> str:
    """Return *belongs to* for *is in the {} series*, which a pronoun can follow."""
    return re.sub(r"^is in the \{\} [a-z]+$", "belongs to", phrase)


def _split(one: str, several: str) -> tuple[str, str, str]:
    """Return the first words of two phrases, and their common rest: *is a member*, *are members*, *of*."""
    first, second = one.split(" "), several.split(" ")
    same = 0
    while same < min(len(first), len(second)) - 1 and first[-1 - same] == second[-1 - same]:
        same += 1
    rest = first[len(first) - same :]
    return " ".join(first[: len(first) - same]), " ".join(second[: len(second) - same]), "".join(f" {w}" for w in rest)


def _gerund(verb: str) -> str:
    return next(iter(inflections(verb, "VBG")), verb + "ing")


def _participle(verb: str) -> str:
    return "had" if verb == "have" else next(iter(inflections(verb, "VBN")), verb + "ed")
