"""No command connects to anything unless the user names an address: the system calls of a hundred commands.

strace sees the calls of all threads and child processes, those of engines in C++ and Rust too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.commands import leaves
from tests.places import ROOT

pytestmark = pytest.mark.system

COMMANDS = """
demo
info world.kb
info world.kb --stark
check world.kb
docs
docs search
recipe list
recipe show table
recipe new mine nodes.csv
query list
query show schema/types
ingest table graph -o g.kb
ingest rdf graph.nt -o r.kb
ingest wikidata --class Q5 -o w.kb
update g.kb
build g.kb text
build g.kb vectors
build g.kb embeddings
build g.kb triples
gc g.kb
export g.kb -f csv -o csv
export g.kb -f ntriples -o g.nt
export g.kb -f parquet -o flat --flat
export g.kb -f kgtk -o g.tsv
shell world.kb -c country
sql world.kb 'SELECT count(*) FROM nodes'
sql world.kb "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')" --allow-files
sql world.kb schema/types
sparql world.kb 'SELECT ?x { ?x a type:country } LIMIT 3'
sparql world.kb 'SELECT ?x { SERVICE <http://127.0.0.1:9/> { ?x ?y ?z } }'
sparql world.kb 'SELECT * FROM <http://127.0.0.1:9/> { ?x ?y ?z }' -e oxigraph
sparql w.kb 'SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 SERVICE wikibase:label { bd:serviceParam wikibase:language "en" } }'
answers world.kb 'country:"France" -> [borders] -> country'
answers world.kb 'country' --save mine
answers world.kb '@mine' --engine sql
answers world.kb 'country' --engine sparql
sets list world.kb
sets show world.kb mine
search world.kb river
search world.kb 'a river in Africa' --mode dense
search world.kb 'a river in Africa' --mode hybrid --explain
search world.kb 'a river in Africa' --mode relational
search world.kb x --embedder sentence-transformers:nobody/nothing
search world.kb river -m late:nobody/nothing
search world.kb river --rerank cross-encoder:nobody/nothing
run world.kb queries.txt -o made.trec
ask world.kb 'What is the capital of France?'
ask world.kb 'What is the capital of France?' --llm none
show world.kb France
show world.kb France -f json
path world.kb France Japan
around world.kb France -o around.html
around world.kb France -o around.graphml
template list world.kb
template show amazon/brand
template suggest world.kb
template sample world.kb 'country:<c> -> [borders] -> country' -n 2
sets drop world.kb mine
graph pagerank world.kb
graph degree world.kb
graph betweenness world.kb
duplicates world.kb
graph closeness world.kb
graph components world.kb
graph strong-components world.kb
graph k-core world.kb
graph communities world.kb
graph triangles world.kb
graph clustering world.kb
graph similarity world.kb
graph link-prediction world.kb
graph shortest-paths world.kb --start France --end Japan
graph distances world.kb --start France
graph spanning-tree world.kb
graph topological-order world.kb -r in_continent
graph cycles world.kb
measure ranking run.trec gold.tsv
measure sets lists.jsonl lists.jsonl
measure rows rows.csv rows.csv
measure lists lists.jsonl lists.jsonl
measure compare run.trec run.trec gold.tsv
measure convert run.trec run2.json
stark generate prime -o prime
stark make world.kb -n 10 -o stark
stark stats stark
stark audit world.kb stark
stark run world.kb stark -m bm25 -m hybrid --latency 0
stark eval stark stark/runs/bm25.csv
stark labels world.kb
stark rate stark -o rates.csv --rater me
train ranker world.kb stark -o ranker
publish stark -o published
quest make world.kb -t river -n 7 --scale-constraints -o quest
quest documents world.kb -o documents.jsonl
quest stats quest
quest annotate quest --rater me
quest agreement quest
quest run world.kb quest -o quest-run -m bm25 --classifier none
quest purity world.kb country 'country{area_km2 > 1000000}'
ska make world.kb -n 2 -o ska
ska check ska
ska stats ska
ska testbed ska
ska run ska
ska annotate ska --rater me
ska agreement ska
spinach stats spinach.json
spinach check w.kb spinach.json
spinach run w.kb spinach.json -o spinach.jsonl
conv make world.kb -n 3 -o conv
conv stats conv
conv run world.kb conv -o conv.jsonl
conv eval conv conv.jsonl
llm prompts
llm calls world.kb
llm import world.kb rows.csv
llm export world.kb calls.jsonl
"""
FILES = {
    "nodes.csv": "key,type,name\na,x,Ann\nb,x,Bob\n",
    "graph/nodes.csv": "key,type,name\na,x,Ann\nb,x,Bob\n",
    "graph/edges.csv": "head,relation,tail\na,knows,b\n",
    "graph.nt": '<urn:a> <urn:b> "c" .\n<urn:a> <http://www.w3.org/2002/07/owl#imports> <http://127.0.0.1:9/x> .\n',
    "queries.txt": "capital of France\n",
    "rows.csv": "id,query,answers,name\n1,capital of France,\"['Paris']\",Ann\n",
    "run.trec": "1\tQ0\ta\t1\t0.5\tx\n",
    "gold.tsv": "1\t0\ta\t1\n",
    "lists.jsonl": '{"id": "1", "query": "q", "predicted": ["a"], "answers": ["a"], "gold": ["a"], "docs": ["a"]}\n',
    "spinach.json": '[{"question": "Who?", "sparql": "SELECT ?x { ?x ?y ?z } LIMIT 1"}]',
}
_RUNS = """
import json, shlex, sys
from tests.console import here
for line in json.load(sys.stdin):
    done = here(*shlex.split(line))
    print(json.dumps([line, done.returncode, done.stderr[-300:]]), flush=True)
"""
_INTERNET = re.compile(r"AF_INET6?\b")


def connections(script: str, stdin: str, folder: Path) -> tuple[list[str], str]:
    """Run Python in a folder; return the system calls that name an address of the internet, and what it printed."""
    if not shutil.which("strace"):
        pytest.skip("there is no strace(1) to see system calls with")
    log = folder / "calls.log"
    calls = "trace=connect,sendto,sendmsg,sendmmsg"
    command = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", calls, "-e", "signal=none", "-o", str(log)]
    env = {**os.environ, "HOME": str(folder), "KBKIT_SETTINGS": str(folder / "settings"), "COLUMNS": "100"}
    env["PYTHONPATH"] = str(ROOT)  # the script imports this package
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):  # which a user may not have set
        env.pop(name, None)
    done = subprocess.run(
        [*command, sys.executable, "-c", script],
        input=stdin, cwd=folder, env=env, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr or not log.exists():
        pytest.skip(f"this system lets nobody trace: {done.stderr.strip()[-200:]}")
    return [line for line in log.read_text().splitlines() if _INTERNET.search(line)], done.stdout + done.stderr


def test_a_connection_is_seen(tmp_path: Path) -> None:
    script = "import socket\nfor kind in (1, 2): socket.socket(type=kind).connect_ex(('127.0.0.1', 9))"
    seen, _ = connections(script, "", tmp_path)
    assert len(seen) == 2


def test_a_hundred_commands_connect_to_nothing(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    lines = COMMANDS.strip().splitlines()
    assert len(lines) > 100
    seen, printed = connections(_RUNS, json.dumps(lines), tmp_path)
    ended = [json.loads(line) for line in printed.splitlines() if line.startswith("[")]
    assert [line for line, _, _ in ended] == lines, printed[-2000:]
    assert seen == []
    assert [end for end in ended if end[1] not in (0, 1, 2)] == []
    assert sum(code == 0 for _, code, _ in ended) > 80
    missing = [name for name in leaves() if not any(line.startswith(name) for line in lines)]
    assert missing == _LEFT_OUT


_LEFT_OUT = [
    "stark case", "stark write", "stark ratings", "quest eval", "ska prompt", "ska eval", "ska review", "ska revise",
    "spinach eval", "spinach errors", "conv rate", "conv compare", "conv ratings", "conv proxies",
]  # fmt: skip
"""Commands that the list does not run: they read files that models or people make."""
