"""Measure how many queries of the Wikidata Query Service are accepted: ``python -m tests.sparql.wdqs FOLDER [KB]``.

The folder has queries of others, one per ``.rq`` file, in a folder per collection; they stay out of this repository. A
query is accepted if it is rewritten and the engine takes the result; with a KB, it also runs there, and those that
exceed the time limit are counted. Queries that need another endpoint are counted apart. The collections measured so
far, by repository: WDscholia/scholia (its templates, filled in), zbw/sparql-queries, egonw/SARS-CoV-2-Queries,
wikimedia/wikidata-query-rdf, stanford-oval/spinach, stanford-oval/wikidata-emnlp23, KGQA/QALD_9_plus.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

import kbkit
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.sparql.rewrite import rewrite
from kbkit.sparql.services import NO_NETWORK
from kbkit.stores.sparql_worker import ValueLabels, functions

SECONDS = 10.0


def on_nothing(text: str) -> None:
    """Rewrite a query and run it on an empty store."""
    store = ox.Store()
    done = rewrite(text, "wikidata", search=lambda *_: [], walk=lambda _: [], prefixes={})
    store.query(done.text, custom_functions=functions(ValueLabels(store)))


def measure(folder: Path, run: Callable[[str], object]) -> tuple[Counter[str], dict[str, list[Path]]]:
    """Return the number of queries by outcome, and the queries that were not accepted by reason."""
    outcomes: Counter[str] = Counter()
    reasons: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.rq")):
        try:
            run(path.read_text(encoding="utf-8"))
            outcomes["accepted"] += 1
        except QueryTimeoutError:
            outcomes["accepted"] += 1
            outcomes["too slow"] += 1
            reasons["too slow"].append(path)
        except (KbError, SyntaxError, RuntimeError, ValueError) as error:
            outcomes["foreign" if NO_NETWORK in str(error) else "refused"] += 1
            reasons[re.sub(r" \(line \d+, column \d+\)", "", str(error))].append(path)
    return outcomes, reasons


def main(folder: str, kb: str = "") -> None:
    """Print the fraction of accepted queries, and the reasons of the others."""
    if kb:
        with kbkit.open(kb) as opened:
            outcomes, reasons = measure(Path(folder), lambda text: opened.sparql(text, timeout=SECONDS))
    else:
        outcomes, reasons = measure(Path(folder), on_nothing)
    for reason, paths in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(paths):5} {reason}  {paths[0].relative_to(folder)}")
    local = outcomes["accepted"] + outcomes["refused"]
    print(f"{outcomes['accepted']:,} of {local:,} accepted: {outcomes['accepted'] / max(1, local):.2%}; ", end="")
    print(f"{outcomes['foreign']:,} need another endpoint, {outcomes['too slow']:,} exceed {SECONDS:g} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
