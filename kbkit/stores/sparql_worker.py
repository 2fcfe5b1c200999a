"""The process that runs SPARQL: reads requests on standard input, answers on standard output, ends with its parent.

A request is its length (8 bytes, little-endian) and JSON ``{"query", "prefixes"}``; an answer is a length, a status of
8 characters (``select``, ``ask``, ``triples`` or ``error``) and the result in Oxigraph's own serialization.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading

import pyoxigraph as ox


def main(folder: str) -> None:
    """Answer requests until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    store = None
    while True:
        request = json.loads(requests.get())
        try:
            store = store or ox.Store.read_only(folder)
            status, body = answer(store, **request)
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            status, body = "error", (error.msg if isinstance(error, SyntaxError) else str(error)).encode()
        out.write(len(body).to_bytes(8, "little") + status.ljust(8).encode() + body)
        out.flush()


def answer(store: ox.Store, query: str, prefixes: dict[str, str]) -> tuple[str, bytes]:
    """Run one query; its kind and its serialized result."""
    result = store.query(query, prefixes=prefixes)
    if isinstance(result, ox.QueryBoolean):
        return "ask", result.serialize(format=ox.QueryResultsFormat.JSON) or b""
    if isinstance(result, ox.QueryTriples):
        return "triples", result.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
    return "select", result.serialize(format=ox.QueryResultsFormat.TSV) or b""


def _listen(requests: queue.Queue[bytes]) -> None:
    """Hand on requests; end the process, mid-query too, when the parent is gone."""
    stream = sys.stdin.buffer
    while len(head := stream.read(8)) == 8:
        requests.put(stream.read(int.from_bytes(head, "little")))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
