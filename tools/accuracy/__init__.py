"""Measures of the verdicts, by simulation: one module for each claim of docs/accuracy.md, called a part.

A part has three public names:

- ``RUNS: Final``: number of simulations for each figure on the page.
- ``table(runs: int, seed: int) -> str``: the tables in Markdown, with blank lines between them. They are written to
  ``docs/data/PART.csv``, ``docs/data/PART-2.csv`` and so on.
- ``result(tables: Sequence[Table]) -> str``: the result in one or two sentences, made from the figures of these tables
  alone (`accuracy._tables` has helpers).

The page has one row for each part::

    | claim | method | <!-- PART -->result<!-- end of PART --> | [PART](data/PART.csv) |

Below the table, a section for each claim says how it was simulated and what does not hold. To add a part: write the
module and its row with an empty result, then run ``PYTHONPATH=tests:tools python -m accuracy PART``. ``--result`` makes
only the result, from the CSV files. A test compares each result on the page with its CSV files.
"""
