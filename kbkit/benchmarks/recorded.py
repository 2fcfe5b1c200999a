"""What datasets and runs record of how they were made: the KB's data, the version of kbkit, models and prompts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kbkit import __version__

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls


def origin(kb: KnowledgeBase) -> dict[str, Any]:
    """Return which version of kbkit made a dataset from which KB."""
    return {"made_by": f"kbkit {__version__}", "kb": kb.schema.name}


def snapshot(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the identity of a KB's data: name, generation, its creation time, and a hash of the sources."""
    manifest = kb.manifest
    sources = sorted((str(source.get("name")), str(source.get("sha256"))) for source in manifest.sources)
    return {
        "name": kb.schema.name,
        "generation": manifest.generation,
        "created": manifest.created,
        "sources": digest(sources),
    }


def kb_settings(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the version of kbkit and the data that answers from a KB depend on."""
    return {"made_by": origin(kb)["made_by"], "kb": snapshot(kb)}


def digest(value: Any) -> str:
    """Return a hash of JSON data."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def generation(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the generation of a KB: node ids in tables are valid for this generation only."""
    return {"generation": kb.manifest.generation, "created": kb.manifest.created}


def models(calls: Calls | None, prompts: Sequence[str]) -> dict[str, Any]:
    """Return the models of a run and the digests of its prompts."""
    if calls is None:
        return {"models": [], "prompts": {}}
    return {"models": list(calls.models), "prompts": {name: calls.prompt(name).digest for name in prompts}}
