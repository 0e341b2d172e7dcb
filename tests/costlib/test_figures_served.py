"""The figure of published throughputs: its words agree with numbers computed another way."""

import numpy as np
import pytest

from costfigures.served import predicted_against_published
from costlib.measured import DATASHEET, TYPICAL, served_rows

pytestmark = pytest.mark.slow

BEYOND = "TRT-LLM perf overview v0.9 peak throughput: A100 Mixtral 8x7B"


def test_the_figure_tells_medians_and_rows_beyond_a_datasheet() -> None:
    tables = {"one": served_rows("LMDeploy A100"), "two": served_rows(BEYOND)}
    figure = predicted_against_published(tables, {"one": TYPICAL}, "Typical")
    rows = [(row, TYPICAL) for row in tables["one"]] + [(row, DATASHEET) for row in tables["two"]]
    errors = [abs(row.predicted(of) / row.value - 1) for row, of in rows]
    assert figure.title == f"Typical: {np.median(errors):.0%} off in the median"
    assert f"1 of {len(rows)} rows are faster than a datasheet allows" in figure.alt
    streams = [e for (row, _), e in zip(rows, errors, strict=True) if row.setup.batch == 1]
    assert f"one stream, {len(streams)} rows, median error {np.median(streams):.0%}" in figure.alt
    assert "beyond a datasheet" in figure.svg
    alone = predicted_against_published({"one": tables["one"]}, {}, "Datasheet")
    assert "beyond a datasheet" not in alone.svg
