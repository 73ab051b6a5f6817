"""Run one harness under atheris: ``python tests/fuzz/run.py wire --runs 1000000``.

Inputs that widen the coverage are kept in ``--corpus`` (a folder of its own, not in git); begins with the harness's
own seeds and the inputs of ``tests/fuzz/findings``. Ends at the first finding, whose input libFuzzer writes to the
current folder, or says how many executions there were.
"""

import argparse
import gc
import importlib
import os
import sys
from pathlib import Path

HARNESSES = ("formats", "clean_lines", "shapes", "definitions", "plan", "results", "wire", "http2", "sessions")
FINDINGS = Path(__file__).parent / "findings"


def main() -> None:
    """Fuzz until the runs, or the seconds, are used up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("harness", choices=HARNESSES)
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions")
    parser.add_argument("--seconds", type=int, default=0, help="at most so long; 0: no limit")
    parser.add_argument("--corpus", type=Path, help="folder of inputs to begin with and to add to")
    chosen = parser.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # inputs are tiny: threads only wait for each other
    os.environ["RUST_BACKTRACE"] = "0"  # a backtrace of Polars takes as long as hundreds of executions
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import atheris

    from fuzz.memory import file

    with atheris.instrument_imports(include=["logreplay"]):
        harness = importlib.import_module(f"fuzz.{chosen.harness}")
    seeds = list[Path]()
    for number, seed in enumerate(harness.seeds()):
        seeds.append(file(f"seed{number}"))  # the fuzzer ends this process: nothing can be removed after it
        seeds[-1].write_bytes(seed)
    corpus = [str(chosen.corpus)] if chosen.corpus else []
    if chosen.corpus:
        chosen.corpus.mkdir(parents=True, exist_ok=True)
    inputs = ",".join(map(str, [*seeds, *(FINDINGS / chosen.harness).glob("*")]))
    options = ["-max_len=1024", "-timeout=120", "-print_final_stats=1", f"-max_total_time={chosen.seconds}"]
    gc.freeze()  # imported objects stay: without this the collector scans them every few hundred executions
    gc.set_threshold(100_000, 50, 100)
    atheris.Setup([sys.argv[0], f"-runs={chosen.runs}", *options, f"-seed_inputs={inputs}", *corpus], harness.one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
