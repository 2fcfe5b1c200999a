"""Fetch the JavaScript libraries of drawings and pages: ``python -m tests.generate.vendor`` (needs npm and a network).

Each package is fetched by exact version and verified by its SHA-512 before anything of it is read. Cytoscape.js and
htmx come minified; the layout fcose and CodeMirror are bundled with the packages they need into one file each; the land
of the world is converted to SVG.
``vendor.json`` records the SHA-256 of the files, which a test compares. With ``--check`` nothing is written, and a
difference is an error.
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
    Package(
        "@codemirror/autocomplete",
        "6.20.4",
        "yF8RhOf2SXlg00+qtupzLhrglcas61boqaONiNcbPIebHCpJocpqTBA6dyrtUrQO47hqyTdeob/3XnYilT7TaQ==",
    ),
    Package(
        "@codemirror/commands",
        "6.11.1",
        "O/4hG3SC1YwcmQ0d2UVNDs+AsaNWd1iHVxbTeEBuqH+6bExAiPK3iS/BvpY6rZGURALv4ZD3sIgcCmRvw3ehBg==",
    ),
    Package(
        "@codemirror/language",
        "6.13.1",
        "zfvU2r3TyylQLMj/te+5CnQ0rSqZi8B1oTCBbQkagcLW4Xc6imab6qN+pEJhsuNOLaJqiRyBXp9UhWA1DhVvDw==",
    ),
    Package(
        "@codemirror/state",
        "6.7.6",
        "kAz+AncRtKuIknedxT1bq4XwXv4UowhbkHU1myPrtVb/jZtImWuV5BXzv5vK6i3kYACsdiZiQKFQQ5Mq7elW8w==",
    ),
    Package(
        "@codemirror/streamparser",
        "6.0.0",
        "JTFPF6xrfjt0mnfGPgzcLiMwYmvIyNaoizp8BYzv8FE8KrT6GBGDZ190rtt+O7Wke3gG/MFHyiY9YGNeimof4w==",
    ),
    Package(
        "@codemirror/view",
        "6.43.15",
        "HHsfpqFeHyXLs983pSRe38Xajs0vFWZQ2BuX0m7Ki8w3jZ5iD8cuR3lBz2/5/X53Dhf32SBHKh6rtSTB6tKeGw==",
    ),
    Package(
        "@lezer/common",
        "1.5.5",
        "Pw7PVCndruF1pb3ebCxpSVpkMHSDjwRCLcTRw+RizUKco5QbWylwq2g4lnG/RYN7yTTQDXE9F77MwtkAyphrjg==",
    ),
    Package(
        "@lezer/highlight",
        "1.2.5",
        "O1GMVKgtf5YspFaRzpmqkVgMtIk2HG9uMAbH6wdAIdNh3TVzCsch/+cRi+6l2//UGDKe6NB9BW3cvuR5ezMQ0w==",
    ),
    Package(
        "@lezer/lr",
        "1.4.12",
        "On9HU4oMMiHPMkQDgoTnGahjgG5n/MkN38CgG77sMraKLL+3JBbeQNi1FcCXV9QRqwF9/BUXP3caHyJC1fBOTQ==",
    ),
    Package(
        "@marijn/find-cluster-break",
        "1.0.4",
        "Wy0V7+SGUjnF9/TkiM1hKVDPj7jKXduPNboMVtHTA8dySMURWqfg/JZ9E2Sq8JgSJmkl7k7Qe9FLeMSrSraWmQ==",
    ),
    Package(
        "crelt",
        "1.0.7",
        "aK6BbWfhf4U/wCcLHKPJl/xa6VkVstRaPywWtMKGwuOLc/wZTyQYuoxgvZnNsBvv7Kg3YTBQYYBCggcviQczuA==",
    ),
    Package(
        "style-mod",
        "4.1.5",
        "WQ2llCZa9sZSkJA+aOwpg5DkfbAXFKGh//t3MRTBeruFiSBC+GXUmbBzrw3bXyboCWAbtCW9InDfBsXrRD/rAg==",
    ),
    Package(
        "w3c-keyname",
        "2.2.8",
        "dpojBhNsCNN7T82Tm7k26A6G9ML3NkhDsnw9n/eoxSRlVBB4CEtIQ/KTCLI2Fwf3ataSXRhYFkQi3SlnFwPvPQ==",
    ),
    Package(
        "world-atlas",
        "2.0.2",
        "IXfV0qwlKXpckz1FhwXVwKRjiIhOnWttOskm5CtxMsjgE/MXAYRHWJqgXOpM8IkcPBoXnyTU5lFHcYa5ChG0LQ==",
    ),
)
_BUNDLER = "esbuild@0.28.2"
_BUNDLES = {
    "fcose": 'require("cytoscape-fcose");\n',  # it registers itself with the global ``cytoscape``
    "codemirror": """
export { autocompletion, closeCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { EditorState, Prec } from "@codemirror/state";
export { EditorView, keymap, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
""",
}
"""What goes into the bundled files; its exports are properties of the global ``kbkit_NAME``."""


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
    target.parent.mkdir(parents=True, exist_ok=True)
    return (folder / package.name / "package").rename(target)


def files() -> dict[str, bytes]:
    """Return the files to ship, by name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fetched = {package.name: fetch(package, folder) for package in PACKAGES}
        result = {
            "cytoscape.min.js": (fetched["cytoscape"] / "dist" / "cytoscape.min.js").read_bytes(),
            "world.svg": _world(fetched["world-atlas"] / "land-110m.json"),
            "htmx.min.js": (fetched["htmx.org"] / "dist" / "htmx.min.js").read_bytes(),
            **{f"{name}.min.js": _bundle(name, source, folder) for name, source in _BUNDLES.items()},
            **{f"LICENSE-{_plain(name)}": (path / "LICENSE").read_bytes() for name, path in fetched.items()},
        }
    record = {
        "packages": [vars(package) for package in PACKAGES],
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(result.items())},
    }
    return {**result, "vendor.json": (json.dumps(record, indent=1) + "\n").encode()}


def _bundle(name: str, source: str, folder: Path) -> bytes:
    """Return a minified script of what ``source`` imports from ``folder``/node_modules."""
    (folder / f"{name}.js").write_text(source)
    bundle = ["esbuild", f"{name}.js", "--bundle", "--minify", "--format=iife", f"--outfile={name}.min.js"]
    if "export" in source:
        bundle.append(f"--global-name=kbkit_{name}")
    command = ["npm", "exec", "--yes", f"--package={_BUNDLER}", "--", *bundle]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return (folder / f"{name}.min.js").read_bytes()


def _world(topology: Path) -> bytes:
    """Return the land of the earth (Natural Earth, public domain) as SVG: a unit is a degree, north is up."""
    data = json.loads(topology.read_text())
    (scale_x, scale_y), (left, low) = data["transform"]["scale"], data["transform"]["translate"]
    arcs = []
    for arc in data["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((round(x * scale_x + left, 1), round(-(y * scale_y + low), 1)))
        arcs.append(points)
    rings = []
    for polygons in (one["arcs"] for one in data["objects"]["land"]["geometries"]):
        for ring in (ring for polygon in polygons for ring in polygon):
            points = [point for at in ring for point in (arcs[at] if at >= 0 else arcs[~at][::-1])]
            rings += [_ring(part) for part in _unwrapped(points)]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-180 -90 360 180">'
    return f'{head}<path fill="#8a949e" fill-opacity="0.45" d="{"".join(rings)}"/></svg>\n'.encode()


def _unwrapped(ring: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Return a ring without jumps at the date line, once for each side of the map that it reaches; without Antarctica,
    which goes round the pole.
    """
    if any(y > 62 for _, y in ring):  # y points south
        return []
    found, turn = [], 0
    for (before, _), (x, y) in zip([ring[0], *ring], ring, strict=False):
        turn += 360 if x - before < -180 else -360 if x - before > 180 else 0
        found.append((x + turn, y))
    return [
        [(x + shift, y) for x, y in found]
        for shift in (-360, 0, 360)
        if any(-180 <= x + shift <= 180 for x, _ in found)
    ]


def _ring(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) + "Z"


def _plain(name: str) -> str:
    """Return the name of a package as part of a file name."""
    return name.removeprefix("@").replace("/", "-")


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
