"""Ten questions, asked of costlib and of six other packages: `python -m tools.bench.asked FOLDER`.

Each package has a module here, one function a question: what its user would write, as its own
documentation says. `questions` has the rows that every package is asked, and what was measured or
counted of them; `ask` runs in each package's own environment; `table` writes `questions.md`.
"""
