"""The dataset card: README.md, with the YAML that Hugging Face reads. Text of the dataset is escaped in it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from kbkit.benchmarks.publish.croissant import UNKNOWN, FileSum
from kbkit.benchmarks.publish.form import QRELS, Publication, WrittenTable
from kbkit.benchmarks.publish.settings import PublishSettings
from kbkit.errors import Option, Speller

_EXAMPLES = 3
_LONG = 300
"""Characters of an example."""
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML does not allow in a text, or folds."""
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_SIZES = (1_000, 10_000, 100_000, 1_000_000)


def readme(
    publication: Publication,
    tables: Sequence[WrittenTable],
    settings: PublishSettings,
    licence: str,
    files: Mapping[str, FileSum],
    speller: Speller,
) -> str:
    """Return the card. ``licence`` is that of the KB (empty if unknown), ``files`` are those of the folder."""
    parts = [
        _front_matter(publication, tables, settings, licence),
        f"# {markdown(settings.name)}\n",
        f"{publication.summary}\n",
        "\n".join(_facts(publication, settings, licence)) + "\n",
        "## Configurations\n",
        _configurations(tables),
        *_examples(publication),
        "## Statistics\n",
        _statistics(publication, tables),
        "## How to load it\n",
        _loading(tables[0]),
        "## How it was made\n",
        _made(publication, speller),
        "## Known limits\n",
        "".join(f"- {markdown(limit)}\n" for limit in publication.limits),
        "## Files\n",
        _files(files),
    ]
    return "\n".join(parts)


# -- text -------------------------------------------------------------------------------------------------------------


def yaml_text(text: str) -> str:
    """Return a text as a double-quoted scalar of YAML."""

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\u{code:04x}"

    return _UNPRINTABLE.sub(escaped, json.dumps(text, ensure_ascii=False))


def markdown(text: str, limit: int = 0) -> str:
    """Return a text on one line, without markup or HTML; it is shortened to ``limit`` characters (0: not)."""
    line = " ".join(_UNPRINTABLE.sub(" ", text).split())
    if limit and len(line) > limit:
        line = line[: limit - 1] + "…"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _MARKUP.sub(r"\\\1", line)
    # No list, rule or heading at the start of a line, and no link of a bare address.
    return re.sub(r"^([-=]|\d+[.)])", r"\\\1", escaped).replace("://", ":&#47;&#47;")


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(header)
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


# -- front matter -----------------------------------------------------------------------------------------------------


def _front_matter(
    publication: Publication, tables: Sequence[WrittenTable], settings: PublishSettings, licence: str
) -> str:
    lines = ["---", f"pretty_name: {yaml_text(settings.name)}", *_licence_lines(settings.licence or licence)]
    lines += ["language:", '- "en"', "task_categories:", f"- {yaml_text(publication.task)}"]
    lines += ["tags:", *(f"- {yaml_text(tag)}" for tag in ("knowledge-graph", publication.benchmark.lower(), "kbkit"))]
    lines += ["size_categories:", f"- {yaml_text(_size(len(publication.questions)))}", "configs:"]
    for number, table in enumerate(tables):
        lines.append(f"- config_name: {yaml_text(table.name)}")
        lines += ["  default: true"] if number == 0 else []
        lines.append("  data_files:")
        for split in table.rows:
            lines += [f"  - split: {yaml_text(split)}", f"    path: {yaml_text(f'data/{table.name}/{split}.parquet')}"]
    return "\n".join([*lines, "---", ""])


def _licence_lines(licence: str) -> list[str]:
    """Return the licence as Hugging Face writes it: an identifier, or ``other`` with a name."""
    if not licence:
        return [f"license: {yaml_text(UNKNOWN)}"]
    if _LICENCE.fullmatch(licence.lower()):
        return [f"license: {yaml_text(licence.lower())}"]
    return ['license: "other"', f"license_name: {yaml_text(licence)}"]


def _size(rows: int) -> str:
    """Return Hugging Face's category of a number of rows."""
    if rows < _SIZES[0]:
        return "n<1K"
    names = ("1K", "10K", "100K", "1M", "10M")
    at = sum(rows >= size for size in _SIZES) - 1
    return f"{names[at]}<n<{names[at + 1]}"


# -- sections ---------------------------------------------------------------------------------------------------------


def _facts(publication: Publication, settings: PublishSettings, licence: str) -> Iterator[str]:
    about = publication.about
    yield f"- **Form:** {markdown(publication.benchmark)} ({markdown(publication.paper)})"
    models = _models(about)
    if models:
        yield f"- **Made with language models:** {markdown(', '.join(models))}"
    else:
        yield "- **Made without a language model**, by rules" if about else "- **Made by:** another program"
    kbs = _kbs(about)
    if kbs:
        yield f"- **Knowledge graph:** {markdown(', '.join(kbs))}"
    yield f"- **Licence of the knowledge graph:** {markdown(licence or UNKNOWN)}"
    yield f"- **Licence of the dataset:** {markdown(settings.licence or licence or UNKNOWN)}"
    for label, value in (("Published by", settings.creator), ("Page", settings.url), ("Date", settings.date)):
        if value:
            yield f"- **{label}:** {markdown(value)}"


def _models(about: Mapping[str, Any]) -> list[str]:
    models = about.get("models")
    return [str(model) for model in models] if isinstance(models, list) else []


def _kbs(about: Mapping[str, Any]) -> list[str]:
    kbs = about.get("kbs") if isinstance(about.get("kbs"), list) else [about]
    return [str(entry["kb"]) for entry in kbs or () if isinstance(entry, dict) and entry.get("kb")]


def _configurations(tables: Sequence[WrittenTable]) -> str:
    parts = []
    for table in tables:
        splits = ", ".join(f"`{split}` ({count:,})" for split, count in table.rows.items())
        parts.append(f"### {markdown(table.name)}\n\n{table.about} Splits: {splits}.\n")
        rows = ((f"`{column}`", _kind(kind), table.columns[column]) for column, kind in table.schema.items())
        parts.append(_table(("column", "type", "content"), rows))
    return "\n".join(parts)


def _kind(kind: pl.DataType) -> str:
    names = {pl.String(): "text", pl.Int64(): "integer", pl.Float64(): "number", pl.Boolean(): "truth value"}
    return names.get(kind, "list of texts")


def _examples(publication: Publication) -> list[str]:
    shown = publication.questions.head(_EXAMPLES).to_list()
    return ["## Examples\n", "".join(f"- {markdown(text, _LONG)}\n" for text in shown)] if shown else []


def _statistics(publication: Publication, tables: Sequence[WrittenTable]) -> str:
    words = publication.questions.str.split(" ").list.len()
    rows: list[tuple[str, str]] = [
        ("questions", f"{len(publication.questions):,}"),
        ("distinct questions", f"{publication.questions.n_unique():,}"),
        ("words per question, mean", _number(words.mean())),
    ]
    data = publication.retrieval
    if data is not None:
        counts: list[int] = data.judgements.group_by("query").len()["len"].to_list()
        rows += [
            ("documents", f"{data.documents.height:,}"),
            ("documents without text", f"{data.documents.filter(pl.col('text') == '').height:,}"),
            ("judgements", f"{data.judgements.height:,}"),
            ("answers per question, mean", _number(sum(counts) / len(counts) if counts else None)),
            ("answers per question, most", f"{max(counts, default=0):,}"),
            ("questions without answers", f"{data.queries.height - len(counts):,}"),
        ]
    rows += [(f"rows of {markdown(table.name)}", f"{sum(table.rows.values()):,}") for table in tables]
    return _table(("", "value"), rows)


def _number(value: Any) -> str:
    return "-" if value is None else f"{float(value):.2f}"


def _loading(first: WrittenTable) -> str:
    name, split = first.name, "test" if "test" in first.rows else next(iter(first.rows))
    lines = [
        "```python",
        "from datasets import load_dataset",
        "",
        f'load_dataset("FOLDER", {json.dumps(name)}, split={json.dumps(split)})',
        "",
        "import mlcroissant",
        "",
        'mlcroissant.Dataset(jsonld="FOLDER/croissant.json")',
    ]
    if name == QRELS:
        lines += [
            "",
            "from beir.datasets.data_loader import GenericDataLoader",
            "",
            f'GenericDataLoader("FOLDER").load(split="{split}")',
            "",
            "import ranx, ir_measures",
            "",
            f'ranx.Qrels.from_file("FOLDER/qrels/{split}.txt")',
            f'ir_measures.read_trec_qrels("FOLDER/qrels/{split}.txt")',
        ]
    lines += [
        "```",
        "",
        "FOLDER is this folder; `original/` has the files of the dataset as its own programs read them.\n",
    ]
    return "\n".join(lines)


def _made(publication: Publication, speller: Speller) -> str:
    about = publication.about
    if not about or not publication.command:
        return "The files were made by another program. They were published as they are.\n"
    names = [shlex.quote(f"{kb_name}.kb") for kb_name in _kbs(about)] or ["KB"]
    options = [_quoted(speller.option(one)) for one in (Option("output", "DATASET"), *publication.options)]
    models = _models(about)
    if models:
        options += [_quoted(speller.option(Option("llm", model))) for model in models]
    command = f"{' '.join(['kbkit', publication.command, *names, *options])}"
    lines = [
        f"Made by {markdown(str(about.get('made_by') or _maker(about)))}. This command makes the same files again,"
        " byte for byte, from the same knowledge graph"
        + (" and the recorded replies of the models:" if models else ":"),
        "",
        "```console",
        f"$ {_code(command)}",
        "```",
        "",
    ]
    return "\n".join(lines)


def _maker(about: Mapping[str, Any]) -> str:
    kbs = about.get("kbs")
    first = kbs[0] if isinstance(kbs, list) and kbs and isinstance(kbs[0], dict) else {}
    return str(first.get("made_by", "kbkit"))


def _quoted(option: str) -> str:
    """Quote the value of an option for a shell."""
    flag, space, value = option.partition(" ")
    return f"{flag} {shlex.quote(value)}" if space else flag


def _code(text: str) -> str:
    """Return a line of a block of code: one line, which cannot end the block."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split()).replace("```", "'''")


def _files(files: Mapping[str, FileSum]) -> str:
    total = sum(file_sum.bytes for file_sum in files.values())
    lines = [
        f"{len(files):,} files, {total / 1e6:,.1f} MB, without this card. `SHA256SUMS` has the checksum of each:",
        "`sha256sum -c SHA256SUMS` verifies them.\n",
    ]
    return "\n".join(lines)
