"""The site's own Sphinx extension: what jupyter-book does not do by itself.

- each page is built from its notebook; the Markdown twin is left out;
- math is rendered while building, by the node that comes as a Python package;
- figures go into the page as SVG, so that they follow its light and dark colours;
- pages load what they need and nothing from another host (see page_weight);
- buttons, addresses and everything beside the pages are this repository's own (see extras).
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
from html import escape
from pathlib import Path
from typing import Any

import sphinxcontrib.katex as katex
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from tools.site.embed import modules
from tools.site.page_weight import packaged_node

logger = logging.getLogger(__name__)

FIGURE = '<svg class="costlib-figure"'


def leave_out_twins(app: Sphinx, config: Config) -> None:
    """A notebook and its Markdown share a name: Sphinx must see only the notebook."""
    for notebook in Path(app.srcdir, "book").rglob("*.ipynb"):
        twin = notebook.with_suffix(".md").relative_to(app.srcdir)
        config.exclude_patterns.append(twin.as_posix())


KATEX_LOOP = """
const katex = require(process.argv[1]);
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {latex, options} = JSON.parse(line);
  let answer;
  try { answer = {html: katex.renderToString(latex, options)}; }
  catch (error) { answer = {error: error.message}; }
  console.log(JSON.stringify(answer));
});
"""


class MathRenderer:
    """KaTeX in one node process that ends when this one does: a line in, a line out.

    sphinxcontrib-katex's own server speaks over a socket; when the machine is busy it gives up, and
    leaves a process behind.
    """

    def __init__(self) -> None:
        self.node: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """The packaged node, running KaTeX as shipped with sphinxcontrib-katex."""
        library = Path(katex.__file__).with_name("katex.min.js")
        command = [str(packaged_node()), "-e", KATEX_LOOP, str(library)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")

    def render(self, latex: str, options: dict[str, Any] | None = None) -> str:
        """The HTML of one formula; a wrong one is a warning, which the build makes an error."""
        self.node = self.node or self.start()
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        request = {"latex": latex, "options": {**(options or {}), "strict": "error"}}
        print(json.dumps(request), file=self.node.stdin, flush=True)
        answer = json.loads(self.node.stdout.readline())
        if "error" in answer:
            logger.warning("wrong math in «%s»: %s", latex, answer["error"])
        return str(answer.get("html", escape(latex)))


class InlineFigures(SphinxPostTransform):
    """Replace each figure that a cell made by the SVG itself."""

    default_priority = 1  # before the builder collects images to copy
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace them in one page."""
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir, image["uri"])
            if path.suffix != ".svg" or not path.is_file():
                continue  # Sphinx itself says what is missing
            if (svg := path.read_text("utf-8")).startswith(FIGURE):
                image.replace_self(nodes.raw("", svg, format="html"))


class Quotes(SphinxPostTransform):
    """Name the quotes that ask for a prediction and those that stand in the margin, beside what
    they are about, for scripts and for the style."""

    default_priority = 1
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Name those of one page."""
        for quote in list(self.document.findall(nodes.block_quote)):
            if quote.astext().startswith("Predict."):
                quote["classes"].append("predict")
            elif quote.astext().startswith("Aside."):
                quote["classes"].append("aside")
                around = quote.parent
                at = around.index(quote)
                around[at - 1 : at + 1] = [nodes.compound("", *around[at - 1 : at + 1])]
                around[at - 1]["classes"].append("with-aside")


def with_stand_ins_named(body: str, page: str) -> str:
    """Figures that an explorer takes the place of, and a page that is all its own, told apart.

    They are named here, before a browser reads what follows them, so that nothing moves then.
    """
    figures = body.split(FIGURE)
    named = [
        f'{FIGURE[:-1]} explorer-stand-in"' if "data-explorer=" in part else FIGURE
        for part in figures[1:]
    ]
    body = figures[0] + "".join(name + part for name, part in zip(named, figures[1:], strict=True))
    if page.startswith("book/explore_"):
        body = body.replace('<section class="', '<section class="explorer-page ', 1)
    return body


def number_by_page(_app: Sphinx, env: Any) -> list[str]:
    """On a page without a chapter's number, figures are counted on it, and not in all the book."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            if all(len(number) == 1 for number in numbers.values()):
                numbers.update((name, (place,)) for place, name in enumerate(numbers, 1))
    return []


def preloads(root: Path, name: str) -> str:
    """What a page all of an explorer's asks for at once, rather than module by module.

    It stands below the text, as the style sheet in the head must not wait for so many files.
    """
    found = modules(root / "book" / "_static" / "explorers", "frame.js", f"{name}.js")
    folder = "../_static/explorers"
    links = [
        f'<link rel="modulepreload" fetchpriority="low" href="{folder}/{each}" />' for each in found
    ]
    return "\n".join(["", *links, ""])


#: Where the script does not come, figures and tables stay: a page that is opened as a file, say.
LOST = "document.documentElement.classList.add('explorers-lost')"


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """A page loads the scripts of what it has: an explorer, a prediction, numbers that move."""
    body = context.get("body", "")
    if "data-explorer=" in body:
        app.add_js_file("explorers/main.js", type="module", onerror=LOST)
        context["body"] = with_stand_ins_named(body, page)
        if name := page.partition("book/explore_")[2]:
            context["body"] += preloads(Path(app.srcdir), name)
    if '<blockquote class="predict"' in body:
        app.add_js_file("predict.js", type="module")
    if "data-live=" in body:
        name = page.rpartition("/")[2]
        app.add_js_file(f"explorers/generated/live_{name}.js", type="module")


def on_every_core(app: Sphinx) -> None:
    """Pages are read and written by several processes, where Sphinx can have them.

    Two extensions of jupyter-book do not say whether they bear it; they keep nothing of a page.
    """
    app.parallel = min(4, os.cpu_count() or 1)
    for extension in app.extensions.values():
        extension.parallel_read_safe = extension.parallel_read_safe is not False


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    gc.set_threshold(200_000, 50, 100)  # pages are large trees: looking for cycles took a seventh
    app.connect("builder-inited", on_every_core)
    app.connect("html-page-context", add_scripts)
    app.connect("env-get-updated", number_by_page, priority=900)  # when Sphinx has numbered them
    app.add_css_file("explorers/explorers.css")  # in the one style sheet of all pages
    app.add_css_file("sentences.css")
    app.add_js_file("page.js", type="module")
    app.add_js_file("theme.js", type="module")
    app.connect("config-inited", leave_out_twins)
    katex.render_latex = MathRenderer().render
    app.setup_extension("tools.site.cards")
    app.setup_extension("tools.site.page_weight")
    app.setup_extension("tools.site.extras")
    app.setup_extension("tools.site.search_index")
    app.add_post_transform(InlineFigures)
    app.add_post_transform(Quotes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
