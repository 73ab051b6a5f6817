"""The report is one file without network, and nothing in a log becomes markup."""

import asyncio
import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.analyze import analyse
from logreplay.analysis.output import html
from logreplay.analysis.summary import About
from logreplay.analysis.summary_rows import last_stable, step_names
from simulate import SimulatedQueue
from support.browser import CHROMIUM, browser

RATES = range(50, 401, 50)
HOSTILE = (
    "/<script>alert(1)</script>",
    "/\"onmouseover='alert(2)'",
    "/{{7*7}}{%25}",
    "/a\x1b[31m\x00\u202e",
    "/" + "x" * 5000,
    "/$\\frac{1}{0}$",
)


class Elements(HTMLParser):
    """Collects the names of the elements and all their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def page(frame: pl.DataFrame, about: About | None = None) -> str:
    return html.html(analyse(frame, about))


@pytest.fixture(scope="module")
def sweep() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep(RATES, 4, rng)
    service = rng.exponential(0.016, len(arrivals.scheduled))
    return simulate.results(arrivals, simulate.waits(arrivals.scheduled, service, 4) + service, urls=HOSTILE)


@pytest.fixture(scope="module")
def text(sweep: pl.DataFrame) -> str:
    finding = {"code": "x", "severity": 'warning" onload="', "text": "<img src=x onerror=alert(3)>"}
    return page(sweep, About("<b>log</b>", "http://t/<i>", {"<u>": "</script><script>"}, [finding]))


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("target", "options", "protocol"),
    [
        ("https://t", {"http": "2"}, "HTTP/2, TLS"),
        ("http://t", {}, "HTTP/1.1"),
        ("http://t", {"http": "log"}, "HTTP as in the log"),
    ],
)
def test_the_head_names_the_protocol(target: str, options: dict[str, str], protocol: str, sweep: pl.DataFrame) -> None:
    assert f"{target} · {protocol}" in page(sweep.filter(pl.col("step") == 0), About("log", target, options))


def test_the_verdict_is_the_heading(text: str) -> None:
    assert re.search(r"<h1>Saturation at about 2\d\d/s", text)


def test_the_step_table_and_the_routes_of_each_step_have_their_mean(text: str) -> None:
    assert text.count("<th>mean</th><th>p50</th>") == 1 + 8


def test_each_step_has_its_own_tables_and_the_last_stable_one_is_open(text: str, sweep: pl.DataFrame) -> None:
    steps = analyse(sweep).steps
    last_stable = steps.filter(pl.col("verdict") == "stable")["rate"].max()
    titles = re.findall(r'<details class="step"( open)?>\s*<summary><strong>(\S+)/s</strong>', text)
    assert [float(rate) for _, rate in titles] == steps["rate"].sort().to_list()
    assert [float(rate) for opened, rate in titles if opened] == [last_stable]


@pytest.mark.usefixtures("without_drawing")
def test_two_trials_at_a_rate_have_two_titles() -> None:
    rng = np.random.default_rng(1)
    run = analyse(simulate.serve(simulate.sweep([50, 100, 200, 50, 100, 200], 4, rng), SimulatedQueue(4, 0.016), rng))
    text = html.html(run)
    titles = re.findall(r"<summary><strong>(.*?)</strong>", text)
    assert titles == [f"{rate}/s, trial {trial}" for rate in (50, 100, 200) for trial in (1, 2)]
    assert "Left out: 50/s, trial 2; 100/s, trial 2; 200/s, trial 2." in text


@pytest.mark.usefixtures("without_drawing")
def test_the_tiles_say_that_their_step_is_at_the_limit() -> None:
    """The table below them called it "at limit", they called it stable."""
    rng = np.random.default_rng(1)
    run = analyse(
        simulate.serve(simulate.sweep([50, 100, 150, 200, 225, 250, 275, 300], 10, rng), SimulatedQueue(4, 0.016), rng)
    )
    assert "at 250/s, the highest stable step, at the limit" in html.html(run)


def test_the_terms_are_those_of_the_verdict_and_quote_no_measurement_of_others(text: str) -> None:
    terms = text.partition("<h2>Terms</h2>")[2].partition("</section>")[0]
    assert "a 4xx or 5xx where the log has a status of that class" in terms  # logreplay.core.record.failed
    assert not re.search(r"\d sweeps", terms)


def test_steps_of_a_run_have_the_numbers_of_its_steps() -> None:
    steps = pl.DataFrame({"step": range(4), "rate": [50.0, 60.0, 60.0, 50.0]})
    named = step_names(steps, {"findings": [], "options": {"tps": 50.0, "for": 30.0}})
    assert [named[step] for step in range(4)] == ["50/s, step 1", "60/s, step 2", "60/s, step 3", "50/s, step 4"]


def test_a_rate_at_which_half_of_the_trials_were_overloaded_is_not_the_last_stable_one() -> None:
    rates, verdicts = [50.0, 100.0, 50.0, 100.0], ["stable", "overloaded", "stable", "stable"]
    assert last_stable(pl.DataFrame({"step": range(4), "rate": rates, "verdict": verdicts})) == 2


@pytest.mark.usefixtures("without_drawing")
def test_steps_of_users_are_named_by_their_number() -> None:
    rng = np.random.default_rng(1)
    run = analyse(simulate.serve(simulate.sweep([50, 100, 200], 4, rng), SimulatedQueue(4, 0.016), rng))
    users = [{"step": step, "users": count} for step, count in ((2, 1), (0, 8), (1, 16))]
    text = html.html(replace(run, summary={**run.summary, "users": {"steps": users}}))
    assert re.findall(r"<summary><strong>(.*?)</strong>", text) == ["1 user", "8 users", "16 users"]
    assert not re.search(r">[\d.]+/s</td>|Left out: [^.]*/s", text)


def test_no_percentile_is_of_several_rates(text: str) -> None:
    outside = re.sub(r"<details class=.step.*?</details>", "", text, flags=re.DOTALL)
    assert "<h2>Times</h2>" not in outside
    assert "As siege counts" not in outside


@pytest.mark.usefixtures("without_drawing")
def test_where_no_step_is_stable_the_first_one_is_open(sweep: pl.DataFrame) -> None:
    text = page(sweep.filter(pl.col("step") > 5))
    assert re.findall(r'<details class="step" open>\s*<summary><strong>([\d.]+)/s', text) == ["350"]
    assert "highest stable step" not in text


def test_each_slowest_request_names_the_rate_of_its_step(text: str) -> None:
    slowest = text[text.index("Slowest requests of all steps") : text.index("How the run was made")]
    assert slowest.count("/s</td>") == 20


@pytest.mark.usefixtures("without_drawing")
def test_a_password_is_masked_in_a_url_that_is_cut_before_its_end() -> None:
    url = f"/?next={'a' * 240}&to=http://user:{'verysecret' * 4}@host/"
    times = np.arange(200) / 100
    text = page(simulate.results(simulate.sweep([100], 2, np.random.default_rng(1)), times / 100, urls=(url,)))
    assert "/?next=aaa" in text
    assert "verysecret" not in text


def test_nothing_of_the_log_becomes_an_element(text: str) -> None:
    elements = Elements()
    elements.feed(text)
    assert not {"i", "u"} & set(elements.names)
    assert elements.names.count("script") == 3
    assert elements.names.count("b") == text.count("<figcaption>")
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert "49" not in re.findall(r"/(\d+)\{", text)


def test_only_the_two_scripts_of_the_package_may_run(text: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    allowed = re.findall(r"sha256-[\w+/=]+", policy[1].replace("&#43;", "+"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert [
        f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}" for script in scripts
    ] == allowed
    assert "script-src 'unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "Copyright (c) 2022 Leon Sorokin" in text


@pytest.mark.usefixtures("without_drawing")
def test_no_name_can_end_the_data_of_the_charts(sweep: pl.DataFrame) -> None:
    analysis = analyse(sweep)
    hostile = "watch_</script><script>alert(1)</script><!--"
    text = html.html(replace(analysis, seconds=analysis.seconds.with_columns(pl.lit(1.0).alias(hostile))))
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)
    assert data
    assert not set("<>&") & set(data[1])
    names = [row["y"] for row in json.loads(data[1])["timeline"]]
    assert names[-1] == hostile.removeprefix("watch_")


def test_all_scripts_together_stay_small(text: str) -> None:
    assert sum(map(len, re.findall(r"<script.*?</script>", text, re.DOTALL))) < 500_000


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_charts_take_the_place_of_the_pictures_where_javascript_runs(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(text)

    async def look_on() -> None:
        async with browser() as seen:
            await seen.open((tmp_path / "report.html").as_uri())
            await seen.until("document.querySelectorAll('.live .uplot').length == 8")
            visible = "[...document.querySelectorAll('.drawing')].filter(each => each.offsetHeight > 0).length"
            assert await seen.value(visible) == 2
            assert not seen.console

    asyncio.run(look_on())


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_nothing_is_wider_than_the_page_of_a_telephone_or_a_screen(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(text)

    async def look_on() -> None:
        async with browser() as seen:
            for width in (390, 1400):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
                await seen.call("Emulation.setDeviceMetricsOverride", **size)
                await seen.open((tmp_path / "report.html").as_uri())
                await seen.until("document.querySelectorAll('.live .uplot').length == 8")
                assert await seen.value("innerWidth") == width
                wider = (
                    "[...document.querySelectorAll('main *')].filter(each => !each.closest('.scroll, svg') && "
                    "each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML.slice(0, 80))"
                )
                assert await seen.value(wider) == []

    asyncio.run(look_on())


def test_nothing_is_fetched(text: str) -> None:
    elements = Elements()
    elements.feed(text)
    places = [value for name, value in elements.attributes if name in ("src", "href", "xlink:href", "action") and value]
    assert all(place.startswith(("#", "data:")) for place in places)
    assert "@import" not in text
    assert "url(http" not in text


def test_all_that_was_asked_for_is_in_it(text: str) -> None:
    for part in ("Steps", "Times, status codes and routes of each step", "Slowest requests of all steps", "Terms"):
        assert f"<h2>{part}</h2>" in text
    assert text.count("<svg") == 6


@pytest.mark.usefixtures("without_drawing")
def test_a_steady_run_has_no_steps(sweep: pl.DataFrame) -> None:
    text = page(sweep.filter(pl.col("step") == 0))
    assert "<h2>Steps</h2>" not in text
    assert text.count("<svg") == 4


def test_a_run_without_any_answer_still_makes_a_page(sweep: pl.DataFrame) -> None:
    refused = sweep.head(50).with_columns(rc=pl.lit(0), error=pl.lit("refused"), latency=pl.lit(0.0))
    assert "refused" in page(refused)


def test_one_request_makes_a_page(sweep: pl.DataFrame) -> None:
    assert "<h1>" in page(sweep.head(1))


def test_a_per_second_table_makes_a_page(sweep: pl.DataFrame, tmp_path: Path) -> None:
    rows = "".join(f"2018-01-17 10:40:{second:02} 0.01 0.001 0 100 {second + 9} 0\n" for second in range(60))
    (tmp_path / "cooked.csv").write_text(rows)
    text = html.html(analyse(tmp_path / "cooked.csv"))
    assert "a per-second table has only means" in text
    assert text.count("<svg") == 1


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 5])
def test_the_same_data_give_the_same_page(sweep: pl.DataFrame, count: int) -> None:
    frame = sweep.filter(pl.col("step") <= count)
    assert page(frame) == page(frame)


def test_the_highest_generator_lag_of_all_steps_is_shown(sweep: pl.DataFrame) -> None:
    """A limited step was hidden behind the small lag of the last stable one."""
    found = analyse(sweep)
    steps = found.steps.with_columns(lag_p99=pl.when(pl.col("rate") == 400).then(0.48).otherwise(0.001))
    tiles = html._tiles(replace(found, verdict=replace(found.verdict, steps=steps)), None)
    assert tiles[-1] == ("generator lag p99", "480 ms", "at 400/s, the highest of all steps")
