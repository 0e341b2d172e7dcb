"""What stands in for an explorer wherever no script runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from costfigures.canvas import Figure

__all__ = ["Explorer"]


@dataclass(frozen=True, slots=True)
class Explorer:
    """A figure and a table, and the place on the site's page where they can be moved."""

    name: str
    figure: Figure
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        return (
            f'<div data-explorer="{self.name}">'
            "<p>On the book's page this figure can be moved, in a browser with JavaScript. "
            "Its numbers as it stands here:</p>"
            f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table></div>"
        )

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(self.figure, HTML(self._repr_html_()))  # type: ignore[no-untyped-call]
