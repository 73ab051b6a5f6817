"""docs/analysis.md has the thresholds of the code, and no other page has them."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from logreplay.analysis.statistics import failing_rate, failures, trends
from logreplay.analysis.statistics.quantiles import SMALLEST_SAMPLE
from logreplay.analysis.tables import slow_routes, warmup
from logreplay.analysis.verdict import carried_rate, outages, saturation, stability
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE, TOLERANCE
from logreplay.core import validity
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.results import verdict
from logreplay.replay.senders.digests import MOST_GROWTH, MOST_MEMBERS
from logreplay.replay.senders.http1.sender import UNNEEDED_NS
from logreplay.replay.senders.http2.client_state import MAX_RESETS
from logreplay.replay.sessions.extraction import MOST_BODY
from logreplay.replay.workers.coordinator import SILENT_S

DOCS = Path(__file__).parent.parent / "docs"
PAGE = " ".join((DOCS / "analysis.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"lag p95 above (\S+) ms and above (\S+) % of the median \*resp", (1e3 * verdict.LATE_S, 100 * verdict.LATE)),
        (r"less than (\S+) % of the schedule was sent", (100 * verdict.SENT_ENOUGH,)),
        (r"more than (\S+) % of the requests failed: invalid", (100 * verdict.FAILING,)),
        (r"lag adds more than (\S+) ms and (\S+) %", (validity.LAG_US / 1e3, 100 * validity.LAG_SHARE)),
        (r"at most (\S+) % as many as the slower", (100 * validity.RARE,)),
        (
            r"lag p95 above (\S+) ms and above (\S+) % of the median \*serv",
            (1e3 * stability.LATE_S, 100 * stability.LATE),
        ),
        (r"less than (\S+) % of the rate was sent", (100 * stability.SENT_ENOUGH,)),
        (r"at least (\S+) % of the requests failed \((\d+) at least", (100 * outages.DEAD, outages.FEWEST)),
        (r"grow by more than (\S+) % of the arrivals", (100 * stability.GROWTH,)),
        (r"z above (\S+)\) by more than (\S+) % in all", (trends.TREND_Z, 100 * trends.DRIFT)),
        (r"\*means\* grow by more than (\S+) %, z is above (\S+),", (100 * stability.SLOW_GROWTH, stability.CLEAR_Z)),
        (r"exceeds that at the lowest rates by more than (\S+) %", (100 * failures.ERROR_SHARE,)),
        (r"two estimates within (\S+) % of the bracket", (100 * saturation.NEAR,)),
        (r"at most (\S+) % from the rate", (100 * saturation.WITHIN,)),
        (r"estimate gave it \((\S+) % if errors", (100 * saturation.WITHIN_ERRORS,)),
        (r"goodput stays below (\S+) % of this", (100 * saturation.SHORT,)),
        (r"level within (\S+) %,", (100 * (saturation.PLATEAU - 1),)),
        (r"overloaded rates is (\S+) % below", (100 * (saturation.FALLS - 1),)),
        (r"backlog grows by more than (\S+) % of its requests", (100 * slow_routes.GROWTH,)),
        (r"In (\d+) curves .* and by (\S+) % of the", (failing_rate.CURVES, 100 * carried_rate.SATURATION_ERROR)),
        (r"changed its mean by more than (\S+) % and (\S+) standard errors", (100 * warmup.BIAS, warmup.SURE)),
    ],
)
def test_a_threshold_on_the_page_is_that_of_the_code(sentence: str, values: Sequence[float]) -> None:
    found = re.search(sentence, PAGE)
    assert found, sentence
    assert [float(each) for each in found.groups()] == pytest.approx(values)


@pytest.mark.parametrize("page", ["verdicts.md", "theory.md", "engine.md", "reference/files.md"])
def test_another_page_links_to_the_thresholds(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert not re.search(r"lag p95 above|Mann-Kendall z|at least 7\.5 %", text)
    assert "analysis.md#" in text


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        (
            r"p99(?: needs|_s` below) (\d+)|(\d+) requests are the fewest for such an interval",
            SMALLEST_SAMPLE[0.99],
        ),
        (r"(\d[\d,]*) of p99\.9\b|\bp99\.9 needs (\d[\d,]*)", SMALLEST_SAMPLE[0.999]),
        (r"(\d+) KiB(?: are read|, decompressed| of a decompressed)", MOST_BODY / 1024),
        (r"(\d+) times the(?:ir)? bytes", MOST_GROWTH),
        (r"(\d[\d,]*) (?:gzip )?members", MOST_MEMBERS),
        (r"p99\.99 <= 300 ms needs ([\d,]+)", SMALLEST_SAMPLE[0.9999]),
        (r"time-out of (\d+) s|at most `--timeout` \((\d+) s\)", SenderRules().timeout),
        (r"connection closes after (\d+) s without|connections\*\* are closed after (\d+) s", UNNEEDED_NS / 1e9),
        (r"[Aa]fter (\d+) resets", MAX_RESETS),
        (r"(?:silent|not respond) for (\d+) s", SILENT_S),
        (r"\(`duet` (\d+) %, `compare`", 100 * AT_ONCE_TOLERANCE),
        (r"`compare` (\d+) %\)", 100 * TOLERANCE),
    ],
)
def test_a_figure_is_the_same_on_each_page_and_in_the_code(sentence: str, value: float) -> None:
    pages = [DOCS.parent / "README.md", DOCS.parent / "SECURITY.md", *DOCS.rglob("*.md")]
    text = " ".join(word for page in pages for word in page.read_text(encoding="utf-8").split())
    found = [next(filter(None, each.groups())) for each in re.finditer(sentence, text)]
    assert len(found) > 0
    assert {float(each.replace(",", "")) for each in found} == {value}
