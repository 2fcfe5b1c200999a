"""A drawing as one self-contained HTML file with Vega inside."""

from __future__ import annotations

import functools
import html as markup
import json
from typing import TYPE_CHECKING

from kbkit.display import vega
from kbkit.display.drawing import spec
from kbkit.display.drawing.text import line

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

# The browser enforces that the page loads nothing. Vega compiles its expressions, hence unsafe-eval.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
_DRAW = """
window.draw = spec => {
  const beside = 40 + spec.padding.right;
  const room = () => [Math.max(300, window.innerWidth - beside), Math.max(260, window.innerHeight - 134)];
  [spec.width, spec.height] = room();
  vegaEmbed('#graph', spec, {mode: 'vega', actions: false, renderer: 'svg'}).then(({view}) => {
    window.addEventListener('resize', () => {
      const [wide, high] = room();
      view.width(wide).height(high).runAsync();
    });
  });
};
"""
_STYLE = """
body { margin: 8px 12px; background: white; color: #1d2733; font-family: sans-serif; }
#graph { overflow: hidden; touch-action: none; user-select: none; }
p { margin: 4px 12px; font-size: 12px; color: #5b6672; }
#vg-tooltip-element { max-width: 420px; font-size: 12px; }
#vg-tooltip-element table tr td.value { max-width: 340px; white-space: normal; overflow-wrap: anywhere; }
"""
_HELP = "Hover for details. Drag a node to move it, drag the background to pan, scroll to zoom, double-click to reset."


@functools.cache
def _library() -> str:
    """Return Vega and its embedding as one script; bundling takes a second."""
    return str(vega.call("javascript_bundle", _DRAW))


def html(graph: Drawing) -> str:
    """Return the page."""
    # ASCII JSON without "<", so that no name can end the script.
    data = json.dumps(spec.live(graph), ensure_ascii=True).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{markup.escape(line(graph.title))}</title>\n<style>{_STYLE}</style>\n"
        f"<script>{_library()}</script>\n</head>\n<body>\n"
        f'<div id="graph"></div>\n<p>{_HELP}</p>\n<script>draw({data});</script>\n</body>\n</html>\n'
    )
