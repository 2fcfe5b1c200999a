"""What a user can say about a source to ingest, an update and a store to rebuild: the one description of each.

:func:`kbkit.ingest` and :func:`kbkit.update` take these settings as keyword arguments, the command line as options.
The module imports no engine, so that a program can list its options at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from kbkit.assets.operations import Setting
from kbkit.errors import KbError, Option

Columns = Annotated[
    Mapping[str, str],
    Setting(
        "Column name used in the files: head=subject.",
        values="NAME=COLUMN",
        example="head=subject",
        rare=True,
    ),
]
SkipDangling = Annotated[bool, Setting("Skip edges and texts of unknown nodes.")]
Embedder = Annotated[
    str,
    Setting(
        "Embedder: static, minilm, model2vec:FOLDER, sentence-transformers:MODEL, openai:MODEL@URL (default: static).",
        values="EMBEDDER",
    ),
]
QueryPrefix = Annotated[
    str, Setting("Text prepended to each query (default: the model's known prefix).", values="TEXT", rare=True)
]
DocumentPrefix = Annotated[
    str, Setting("Text prepended to each document (default: the model's known prefix).", values="TEXT", rare=True)
]
ChunkWords = Annotated[int, Setting("Words per chunk, for multivector search (default: 256; 0: none).", rare=True)]
ChunkOverlap = Annotated[
    int, Setting("Words or characters shared by consecutive chunks (default: a quarter, or a fifth).", rare=True)
]
ChunkCharacters = Annotated[
    int, Setting("Characters per chunk instead of words, as STaRK's multi-vector retriever: 256 (0: words).", rare=True)
]
Analyzer = Annotated[str, Setting("Language of the texts, or simple (default: english).", values="LANGUAGE", rare=True)]
WithRelations = Annotated[
    bool, Setting("Include the names of neighbours when indexing a node.", name="with_relations", rare=True)
]


@dataclass(frozen=True)
class Corrections:
    """What the user says about tables without a recipe, which are named like their files without the ending.

    ``keys``: columns of a table's key (none: the number of the row). ``links``: the table that a column
    ``table.column`` refers to (empty: none). ``nodes``: columns whose values are nodes of a type of their own, named
    like the column. ``texts``: columns ``table.column`` of prose. ``types``: the types of tables, and of columns
    whose values are nodes. ``named``: the column of a table's names, or several (``first,last``; empty: none).
    ``omit``: columns to leave out. ``date_order``: what 3/4/2024 is, ``dmy`` or ``mdy``, where nothing in the column
    says so. ``dates``: columns ``table.column`` whose values become dates (``dmy`` or ``mdy``) or years (``year``),
    each by itself. ``relation_names``: the relation of a table of edges, which after ``^`` run the other way.
    ``no_header``: the first lines of delimited files are data.
    """

    keys: Annotated[
        Mapping[str, Sequence[str]],
        Setting(
            "Key of a table: a=x,y (=: none).",
            values="TABLE=COLUMN",
            example="people=ssn",
        ),
    ] = field(default_factory=dict)
    links: Annotated[
        Mapping[str, str],
        Setting(
            "Table that a column refers to: films.director=people (=: none).",
            values="COLUMN=TABLE",
            example="films.director=people",
        ),
    ] = field(default_factory=dict)
    texts: Annotated[
        Sequence[str],
        Setting("Column with texts to search: films.plot.", values="FIELD", name="text"),
    ] = ()
    nodes: Annotated[
        Sequence[str],
        Setting("Column whose values become nodes.", values="COLUMN", name="node"),
    ] = ()
    types: Annotated[
        Mapping[str, str],
        Setting("Type of a table or column: people=person.", values="TABLE=TYPE", example="people=person"),
    ] = field(default_factory=dict)
    named: Annotated[
        Mapping[str, str],
        Setting(
            "Columns with the names of nodes: people=first,last (=: none).",
            values="TABLE=COLUMN",
            example="people=full_name",
            name="name_column",
            rare=True,
        ),
    ] = field(default_factory=dict)
    omit: Annotated[Sequence[str], Setting("Column to leave out: people.notes.", values="COLUMN", rare=True)] = ()
    date_order: Annotated[
        str, Setting("What 3/4/2024 is: dmy (3 April) or mdy (4 March).", values="KIND", rare=True)
    ] = ""
    dates: Annotated[
        Mapping[str, str],
        Setting(
            "Dates in several forms: films.released=dmy (or mdy, year).",
            values="COLUMN=KIND",
            example="films.released=year",
            name="date_column",
            rare=True,
        ),
    ] = field(default_factory=dict)
    relation_names: Annotated[
        Mapping[str, str],
        Setting(
            "Relation of a table of edges: ratings=rates (^rates: turned).",
            values="TABLE=RELATION",
            example="ratings=rates",
            name="relation_name",
            rare=True,
        ),
    ] = field(default_factory=dict)
    no_header: Annotated[
        bool, Setting("Without a recipe: read the first line of delimited files as data.", rare=True)
    ] = False


@dataclass(frozen=True)
class Identity:
    """What a user calls a KB, in place of the recipe's words: its name, title, licence and base of IRIs (empty: the
    recipe's), and relations that are symmetric in this source.
    """

    name: Annotated[str, Setting("Name of the KB (default: from recipe or files).", values="NAME")] = ""
    title: Annotated[str, Setting("Title of the KB (default: from recipe or files).", values="TEXT", rare=True)] = ""
    licence: Annotated[str, Setting("Licence of the data (default: the recipe's).", values="TEXT", rare=True)] = ""
    base: Annotated[str, Setting("Base of IRIs (default: http://example.org/NAME/).", values="URL", rare=True)] = ""
    symmetric: Annotated[Sequence[str], Setting("Store edges in both directions.", values="RELATION", rare=True)] = ()


@dataclass(frozen=True, kw_only=True)
class IngestSettings:
    """Settings of an ingest.

    ``options`` and ``columns`` are the recipe's, ``files`` assigns single files. ``identity`` replaces the recipe's
    name, title, licence and base. ``stores`` are the stores to build in addition to the tables and the node directory
    (None: all but the embeddings). With ``sync``, the generation keeps the recipe and what it read, for later runs.
    """

    corrections: Corrections = field(default_factory=Corrections)
    replace: Annotated[bool, Setting("Build the next generation of an existing KB.")] = False
    sync: Annotated[bool, Setting("Update the KB from files that change.")] = False
    options: Annotated[
        Mapping[str, str],
        Setting(
            "Option of the recipe: language=en.",
            values="NAME=VALUE",
            example="language=en",
            rare=True,
        ),
    ] = field(default_factory=dict)
    columns: Columns = field(default_factory=dict)
    files: Annotated[
        Mapping[str, Path],
        Setting("Path of a file that the recipe declares.", values="NAME=FILE", example="nodes=nodes.csv", rare=True),
    ] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)
    embedder: Embedder = "static"
    query_prefix: QueryPrefix | None = None
    document_prefix: DocumentPrefix | None = None
    chunk_words: ChunkWords = 256
    chunk_overlap: ChunkOverlap | None = None
    chunk_characters: ChunkCharacters = 0
    analyzer: Analyzer = "english"
    relations: WithRelations = False
    stores: (
        Annotated[
            Sequence[str],
            Setting(
                "Stores to build in addition to tables and nodes (default: adjacency,triples,columns,text,vectors).",
                values="NAMES",
                joined=True,
                rare=True,
            ),
        ]
        | None
    ) = None
    skip_dangling: SkipDangling = False
    merge_duplicates: Annotated[bool, Setting("Merge nodes with the same key instead of failing.")] = False


@dataclass(frozen=True)
class IngestRequest(IngestSettings):
    """A source to ingest, which is a recipe (``inferred`` or not) and the paths of its files, with settings."""

    source: str
    paths: Sequence[Path] = ()
    inferred: bool = False


@dataclass(frozen=True)
class Delta:
    """The files of an update without the source.

    In a KB that keeps the entities of its source, ``entities`` are changed ones and ``delete`` lists ids.
    ``skip_dangling`` also skips deleted rows that do not exist.
    """

    nodes: Annotated[
        Sequence[Path], Setting("Nodes to add or change: key, type, name, attributes.", values="FILE")
    ] = ()
    edges: Annotated[Sequence[Path], Setting("Edges to add: head, relation, tail, attributes.", values="FILE")] = ()
    texts: Annotated[Sequence[Path], Setting("Texts to add or replace: key, field, text.", values="FILE")] = ()
    delete: Annotated[
        Sequence[Path],
        Setting("Nodes (key), edges (head, relation, tail) or texts (key, field) to delete.", values="FILE"),
    ] = ()
    entities: Annotated[
        Sequence[Path],
        Setting(
            "Entities of Wikidata to add or change, in JSON; those to delete are a file of ids then.", values="FILE"
        ),
    ] = ()
    columns: Columns = field(default_factory=dict)
    skip_dangling: SkipDangling = False


@dataclass(frozen=True)
class RebuildSettings:
    """Changed settings for a rebuild of a store; None keeps a setting."""

    embedder: Embedder | None = None
    query_prefix: QueryPrefix | None = None
    document_prefix: DocumentPrefix | None = None
    chunk_words: ChunkWords | None = None
    chunk_overlap: ChunkOverlap | None = None
    chunk_characters: ChunkCharacters | None = None
    analyzer: Analyzer | None = None
    relations: WithRelations | None = None
    method: (
        Annotated[
            str,
            Setting(
                "Method of graph embeddings: spectral or pykeen:MODEL (default: spectral).", values="METHOD", rare=True
            ),
        ]
        | None
    ) = None
    dimension: Annotated[int, Setting("Dimension of graph embeddings (default: 64).", rare=True)] | None = None
    epochs: Annotated[int, Setting("Epochs of training with PyKEEN (default: 20).", rare=True)] | None = None
    seed: Annotated[int, Setting("Random seed, for reproducible output.")] | None = None

    def check_store(self, store: str) -> None:
        """Raise :class:`KbError` for settings that the store does not have."""
        own = dict.fromkeys(("method", "dimension", "seed", "epochs"), ("embeddings",))
        stores = {"analyzer": ("text",), "relations": ("text", "vectors"), **own}
        for name, value in vars(self).items():
            valid = stores.get(name, ("vectors",))
            if value is not None and store not in valid:
                option = Option({"relations": "with_relations"}.get(name, name))
                raise KbError(f"Invalid setting for {store}: {name}", "Use ", option, f" only for {' or '.join(valid)}")
