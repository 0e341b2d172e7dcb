"""The types of the library and of the figures, and what a user's program sees of them."""

from __future__ import annotations

from pathlib import Path

from paths import ROOT
from programs import run


def test_types() -> None:
    run("-m", "mypy")


def test_types_travel_with_the_package(tmp_path: Path) -> None:
    """What mypy has just read of the library it does not read again."""
    assert (ROOT / "costlib" / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(
        "import costlib\n"
        "reveal_type(costlib.models['gpt2'])\n"
        "reveal_type(costlib.devices['T4'])\n"
        "reveal_type(costlib.time)\n"
        "reveal_type(costlib.serving.best_batch)\n"
        "reveal_type(costlib.parallel.Cluster('DGX-H100', nodes=2).node)\n"
    )
    said = run("-m", "mypy", str(program))
    assert 'Revealed type is "costlib.model.transformer.Transformer"' in said
    assert 'Revealed type is "costlib.units.device.Device"' in said
    assert "overlap" in said
    assert "-> costlib.serving.frontier.Best" in said
    assert 'Revealed type is "costlib.model.catalog.node.Node"' in said
