"""The process that runs one function of vl-convert: JSON from standard input, its result to standard output."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Run the function."""
    import vl_convert

    function, arguments, named = json.load(sys.stdin)
    result = getattr(vl_convert, function)(*arguments, **named)
    sys.stdout.buffer.write(result if isinstance(result, bytes) else json.dumps(result).encode())


if __name__ == "__main__":
    main()
