"""A commented recipe to start from: what ``kbkit recipe new`` writes."""

from __future__ import annotations

from pathlib import Path

from kbkit.errors import BadInputError

SKELETON_TOML = """\
# A recipe: what this source is, and which files it reads. load.sql beside it turns them into a graph.
title = "One line: what this source is"
description = "What is in it, for whom."
licence = "Of the data"
get = "Where to get the files"
infer = true            # attributes read as text become numbers, dates or booleans where every value is one

[files.people]          # load.sql sees a table `people`
match = ["people.csv"]  # file name patterns, tried in order
help = "one line per person: id, name, born, bio"

[files.friends]
match = ["friends.csv"]
optional = true
[files.friends.names]   # an optional file names its columns; each may have other names too
a = []
b = []
since = []

# [[downloads]]         # kbkit fetch gets these
# url = "https://example.org/club.zip"
# bytes = 1234
# sha256 = "..."

[types.person]          # the order of the types here is their order in the KB
description = "a person"

[relations.knows]
label = "knows"
symmetric = true        # stored both ways
"""

SKELETON_SQL = """\
-- Make the tables nodes(type, key, name, ...), edges(head, relation, tail, ...) and texts(key, field, text).
-- Further columns of nodes and edges are their attributes; a type has those that are not NULL in all its nodes.

CREATE TABLE nodes AS
SELECT 'person' AS type, id AS key, name, born FROM people;

CREATE TABLE edges AS
SELECT a AS head, 'knows' AS relation, b AS tail, since FROM friends;

CREATE TABLE texts AS
SELECT id AS key, 'bio' AS field, bio AS text FROM people;
"""


def write_skeleton(folder: Path) -> None:
    """Write a commented recipe to start from; refuses a folder that exists."""
    if folder.exists():
        raise BadInputError(f"{folder} exists already", "name a new folder")
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(SKELETON_TOML, encoding="utf-8", newline="\n")
    (folder / "load.sql").write_text(SKELETON_SQL, encoding="utf-8", newline="\n")
