"""Fetch the JavaScript libraries of drawings and pages: ``python -m tests.generate.vendor`` (needs npm and a network).

Each package is fetched by exact version and verified by its SHA-512 before anything of it is read. Cytoscape.js and
htmx come minified; the layout fcose and the two packages it needs are bundled into one file. ``vendor.json`` records
the SHA-256 of the files, which a test compares. With ``--check`` nothing is written, and a difference is an error.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kbkit import assets


@dataclass(frozen=True)
class Package:
    """A package of the npm registry; ``sha512`` is the hash of its archive in base64."""

    name: str
    version: str
    sha512: str


PACKAGES = (
    Package(
        "cytoscape",
        "3.34.4",
        "msY99tMY8iWTg+sIPGfSqDcPNOt4xcj+v/K/7qUFaCUxxlqnMkUYLBjRUzn9W5CU/R2hrmtJa5+UtovrEM2ctg==",
    ),
    Package(
        "cytoscape-fcose",
        "2.2.0",
        "ki1/VuRIHFCzxWNrsshHYPs6L7TvLu3DL+TyIGEsRcvVERmxokbf5Gdk7mFxZnTdiGtnA4cfSmjZJMviqSuZrQ==",
    ),
    Package(
        "cose-base",
        "2.2.0",
        "AzlgcsCbUMymkADOJtQm3wO9S3ltPfYOFD5033keQn9NJzIbtnZj+UdBJe7DYml/8TdbtHJW3j58SOnKhWY/5g==",
    ),
    Package(
        "layout-base",
        "2.0.1",
        "dp3s92+uNI1hWIpPGH3jK2kxE2lMjdXdr+DH8ynZHpd6PUlH6x6cbuXnoMmiNumznqaNO31xu9e79F0uuZ0JFg==",
    ),
    Package(
        "htmx.org",
        "2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
    ),
)
_BUNDLER = "esbuild@0.28.2"
_FCOSE = 'require("cytoscape-fcose");\n'
"""It registers itself with the global ``cytoscape``."""


def fetch(package: Package, folder: Path) -> Path:
    """Fetch and unpack a package into ``folder``/node_modules; return its folder."""
    name = f"{package.name}@{package.version}"
    packed = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, capture_output=True, text=True, check=True)
    archive = folder / packed.stdout.split()[-1]
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package.sha512:
        raise SystemExit(f"{name}: SHA-512 is {found}, expected {package.sha512}")
    target = folder / "node_modules" / package.name
    with tarfile.open(archive) as opened:
        opened.extractall(folder / package.name, filter="data")
    target.parent.mkdir(exist_ok=True)
    return (folder / package.name / "package").rename(target)


def files() -> dict[str, bytes]:
    """Return the files to ship, by name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fetched = {package.name: fetch(package, folder) for package in PACKAGES}
        (folder / "fcose.js").write_text(_FCOSE)
        bundle = ["esbuild", "fcose.js", "--bundle", "--minify", "--format=iife", "--outfile=fcose.min.js"]
        subprocess.run(
            ["npm", "exec", "--yes", f"--package={_BUNDLER}", "--", *bundle],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        result = {
            "cytoscape.min.js": (fetched["cytoscape"] / "dist" / "cytoscape.min.js").read_bytes(),
            "fcose.min.js": (folder / "fcose.min.js").read_bytes(),
            "htmx.min.js": (fetched["htmx.org"] / "dist" / "htmx.min.js").read_bytes(),
            **{f"LICENSE-{name}": (path / "LICENSE").read_bytes() for name, path in fetched.items()},
        }
    record = {
        "packages": [vars(package) for package in PACKAGES],
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(result.items())},
    }
    return {**result, "vendor.json": (json.dumps(record, indent=1) + "\n").encode()}


def main() -> None:
    """Write the files, or compare them."""
    target = assets.web() / "vendor"
    made = files()
    if "--check" in sys.argv:
        changed = [name for name, content in made.items() if (target / name).read_bytes() != content]
        if changed:
            raise SystemExit(f"{target}: differs from the packages: {', '.join(changed)}")
        return
    target.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (target / name).write_bytes(content)


if __name__ == "__main__":
    main()
