"""Fetch the JavaScript libraries of drawings and pages: ``python -m tests.generate.vendor`` (needs npm and a network).

Each package is fetched by exact version and verified by its SHA-512 before anything of it is read. Cytoscape.js, htmx,
Vega and Vega-Lite come minified; the layout fcose, CodeMirror and Vega's interpreter are bundled with the packages they
need into one file each; the land of the world is converted to SVG.
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


PACKAGES: tuple[Package, ...] = (
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
_CHARTS = """
vega 6.4.0 rHXCq2LpEWCLMjXBEj7hocY9G0/i5TGYRayGGSj06VTF4+l2IG2Z7oeZKCjWbUh/7hTE/mVhbaOPB72wCElh6g==
vega-interpreter 2.3.2 JDAoi3taFcCDLujZG84TNNUXdkAZ5WsSHssx8lWVYaxb9Slsjk7v7PtRIYXpSlUwLaKGRBqoJ9KDs36Z0eMEIw==
vega-lite 6.4.3 d/7hPjfz560UERaQuTmGgIVfXAe3g2hJWeC+igDeaGohUdEoNrHLXgR/yTOBT8vV/lIuuKnw+0/xWWblkDwkMQ==
vega-util 2.1.3 Znj01Gj5XVUw/U7QvwjMhl+XCGs09UF5KDyMXZz9NtjhoKP04anWjcbA7hqoVH+eEigO92KlTi+Yai6Roo1n0A==
d3-array 3.2.5 Th8qGXoBalmWsstpkuhmBuTsBQIFqYOJtjlBvNVvBfJ8E3uYusBUwUR8HU20U0qKKQkgCvKyR1YjiozWadk5QA==
d3-color 3.1.1 lfab8x0Bj0UO7SNsY8dZSbNIA6ipbkE3X0NG9nqjCu6CfCHZseuDnOSJY7hidKrjpP++i1M2qT+FlAdPKYRilA==
d3-delaunay 6.0.6 DMQIEvSJhZCB6pwedcXaAlQ+MeKU5LlM2XakKtc73b/VM+RBiI1SRXycOEOKg2jsKj4zZ9F0KGYG6nCGwwWu/g==
d3-dispatch 3.0.2 sAzH4Y4nsLo8eSqw5jKiZt+LU2wZmL/qS+OkxQGjhwazB/D7TY34R/QK1eshfGr7cZEKymKZ/Haem7m+lu98Sg==
d3-dsv 3.0.2 FUnXhX7I4/AXyRCZzwfZTDGSq8PGZ4oR0tiCBqNGOZMsDrQ+6sIWNQnBzcCGhzJKZ6uCvCezTwflUqI209RRiQ==
d3-ease 3.0.2 B5znKqRmKROAN4oHWQ50W/qisVjA9GXh2WMsVKdFVp4DxWmcrOsweqgUOUVsv5th96kwaZlokU6SlV4J3gak1w==
d3-force 3.0.1 kAaaHLFebBYwgi5cYBXAI8vKrQFMCD2MEswj2QuPKKbdU1wYLc8WXtS7O8F/b6POCIe3gJjY6hkDstHi1yMETQ==
d3-format 3.1.3 +F+/49swqmGuQJmSKnVMIDH/QkEFV5li9QRj0xm/KhyAUBv099O5PrvpQFxBp24PYph17Mnvt9mjKQV0ii0nMA==
d3-geo 3.1.2 5R8ZgDQorIxmauv7R6gpE/ndz+Z0qAZssigq0aXFdvPHdY41RqtW02jrRUQAL724NdPABYXo1+gQEGBBr7uKNg==
d3-geo-projection 4.0.0 p0bK60CEzph1iqmnxut7d/1kyTmm3UWtPlwdkM31AU+LW+BXazd5zJdoCn7VFxNCHXRngPHRnsNn5uGjLRGndg==
d3-hierarchy 3.1.3 GRajN5ZcnEwYFWqqdzhG1qJ3+fDg6WWzk47TJg7ePY7yvYAgRfD2r1mUx+wviBOWuCwamCUzjwMSdato43jbGA==
d3-interpolate 3.0.2 IRzGU62DtxhvsnSTWMQIdnoZ6gA+BCWwBon1EJI6SjoN595799b6z/QRBzXfFhE8iupUPp3042yBNo0STPqnzQ==
d3-path 3.1.1 jsbgV8zIT38ReB9O7X7gcLndTQRONSqNNd+oGIaTBdUug4r5jFmp0N6RY9R5GWbdUDucn0qoTGyfjapT4tDhcg==
d3-quadtree 3.0.2 9Lu9mqJKRbIk0d6mKDjpvPURaPdwHVK5CYbcdd0/4vBgz4ldz/7TIOse3kNERsByGNfld58KEco507AztJWyTQ==
d3-scale 4.0.3 66cWobCNzcMvlfoaDHCxuIv9TBUWG1BLOWdv9kHHFuCr1JdqAWPvTmsaEYDD5NRMyWZ5+7u0GqiCDfMXMqh3hg==
d3-scale-chromatic 3.1.1 lA5gfN2yMvmChubmptnDiBfeGpHD7Yb1EbvCz0TZE0WHXhyR6W2allPuhKtzV5ILQRqeOdefF0qYtERReLUBDg==
d3-shape 3.2.1 dm2o+lbKdzg9tY7GEag/dB9hcbodLfwkE/DkvqbELJXaMz0yKzWWhZqhbI7CKubukA7HnRyz0avdtvi7EPxPvw==
d3-time 3.1.1 Ze7rjrhMzdeulh0/hjcfFj7XLAHOfowtEMfsoG6DU866HPynQNW7Wfen6hzXcqKTv8XzxvF6Hzr5XD6bMHr2ug==
d3-time-format 4.1.1 22XaqjyCjpqgda20erhsOjGmC3vvYwTNYniKAd45W5UWLDF43moeOuV9qYpRqobIlsnK0UhnKZjUUJm3VgORUA==
d3-timer 3.0.2 1Il1aliroVSErrv5aulRBxAY+7+DnaoLIWGd1C6SsBTWDeobWiP/V69vwb8vT6abR1kKwaNe1196pmaQ1fK90A==
delaunator 5.1.0 AGrQ4QSgssa1NGmWmLPqN5NY2KajF5MqxetNEO+o0n3ZwZZeTmt7bBnvzHWrmkZFxGgr4HdyFgelzgi06otLuQ==
internmap 2.0.3 5Hh7Y1wQbvY5ooGgPbDaL5iYLAPzMTUrjMulskHLH6wnv/A+1q5rgEaiuqEjB+oxGXIVZs1FF+R/KPN3ZSQYYg==
json-stringify-pretty-compact 4.0.0 3CNZ2DnrpByG9Nqj6Xo8vqbjT4F6N+tb4Gb28ESAZjYZ5yqvmc56J+/kuIwkaAMOyblTQhUW7PxMkUb8Q36N3Q==
robust-predicates 3.0.3 NS3levdsRIUOmiJ8FZWCP7LG3QpJyrs/TE0Zpf1yvZu8cAJJ6QMW92H1c7kWpdIHo8RvmLxN/o2JXTKHp74lUA==
topojson-client 3.1.0 605uxS6bcYxGXw9qi62XyrV6Q3xwbndjachmNxu8HWTtVPxZfEJN9fd/SZS1Q54Sn2y0TMyMxFj/cJINqGHrKw==
"""  # noqa: E501
"""Vega with what its minified files contain, for the licences: name, version and SHA-512 of each package."""
PACKAGES += tuple(Package(*row.split()) for row in _CHARTS.strip().splitlines())
_BUNDLER = "esbuild@0.28.2"
_BUNDLES = {
    "fcose": 'require("cytoscape-fcose");\n',  # it registers itself with the global ``cytoscape``
    "codemirror": """
export { acceptCompletion, autocompletion, closeCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
export { Decoration, EditorView, keymap, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
""",
    "interpreter": 'export { expressionInterpreter } from "vega-interpreter";\n',  # Vega without eval
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
            "vega.min.js": _without_map(fetched["vega"] / "build" / "vega.min.js"),
            "vega-lite.min.js": _without_map(fetched["vega-lite"] / "build" / "vega-lite.min.js"),
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


def _without_map(path: Path) -> bytes:
    """Return a minified script without the address of its source map, which is not shipped."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return ("\n".join(line for line in lines if not line.startswith("//# sourceMappingURL=")) + "\n").encode()


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
