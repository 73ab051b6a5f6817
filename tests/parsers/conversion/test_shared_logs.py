"""Real logs of many servers, where they are at hand: what becomes of each line, and why.

They lie beside the repository (``../shared/logs``) and are not part of it.
"""

from pathlib import Path

import polars as pl
import pytest

from logreplay.core.record import start_time
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import convert

LOGS = Path(__file__).parents[3].parent / "shared" / "logs"
pytestmark = pytest.mark.skipif(not LOGS.exists(), reason="the shared logs are not here")

DUMMY = "unreplayable: Apache's own dummy connection"
BINARY = "unreplayable: not HTTP: binary"
NO_PATH = "unreplayable: target is not a path"
NONE = "unreplayable: no request"
LAYOUT = "rejected: layout"

# file: format found, (lines, converted, unreplayable, rejected, blank), reasons
TABLE: dict[str, tuple[str, tuple[int, int, int, int, int], dict[str, int]]] = {
    "alb_crowdsec_14.log": ("aws-alb", (14, 14, 0, 0, 0), {}),
    # two "-" 408; common, combined, one more field, a virtual host in front: four layouts in seven lines
    "apache_beats_test.log": ("nginx-main+combined+common+vhost-combined", (7, 5, 2, 0, 0), {NONE: 2}),
    # TLS to a plain port, nothing else
    "apache_crowdsec_malformed.log": ("combined", (11, 0, 11, 0, 0), {BINARY: 11}),
    # two requests with blanks in the target and no protocol are converted too
    "apache_crowdsec_probing.log": ("common", (77, 77, 0, 0, 0), {}),
    # line 8899 is cut inside the user agent
    "apache_elastic_10k.log": ("combined", (10000, 9999, 0, 1, 0), {LAYOUT: 1}),
    # OPTIONS * of the server to itself; SSLv2; proxy probes
    "apache_hurence_access.log.48": (
        "combined",
        (13960, 13465, 495, 0, 0),
        {DUMMY: 488, BINARY: 1, "unreplayable: CONNECT": 3, NO_PATH: 3},
    ),
    "apache_hurence_access.log.49": ("combined", (14240, 13757, 483, 0, 0), {DUMMY: 479, NO_PATH: 2, BINARY: 2}),
    # a line without ident and user
    "apache_lnav_bad.log": ("combined", (3, 2, 0, 1, 0), {LAYOUT: 1}),
    # xxxxxxxxxxxx
    "apache_nielsbasjes_access_log.gz": ("combined", (17, 16, 0, 1, 0), {LAYOUT: 1}),
    # one line cut off; two with bare quotes in the request are converted
    "apache_plaso_mixed.log": ("combined+vhost_combined+common", (15, 14, 0, 1, 0), {LAYOUT: 1}),
    # SSH; gRPC in columns of its own; a request on its way in
    "atlassian_plaso_atlassian-bitbucket-access.log": (
        "bitbucket",
        (8, 5, 2, 1, 0),
        {NO_PATH: 1, LAYOUT: 1, "unreplayable: logged on arrival; its response has a line of its own": 1},
    ),
    "atlassian_plaso_confluence_access.log": ("atlassian", (3, 3, 0, 0, 0), {}),
    "atlassian_plaso_jira_access.log": ("atlassian", (4, 4, 0, 0, 0), {}),
    # a line of another logger
    "caddy_crowdsec.json.log": ("caddy", (12, 10, 0, 1, 1), {LAYOUT: 1}),
    "caddy_lnav_1.json.log": ("caddy", (4, 4, 0, 0, 0), {}),
    "cloudfront_crowdsec_2.tsv.log": ("cloudfront", (2, 2, 0, 0, 0), {}),
    # ten of ALB, two of classic ELB, two TCP, two of a network load balancer
    "elb_plaso_mixed.log": (
        "aws-alb+aws-elb",
        (16, 12, 4, 0, 0),
        {NONE: 2, "unreplayable: TLS listener: no HTTP": 2},
    ),
    "envoy_crowdsec_mixed.log": ("envoy-json+envoy after cri", (10, 10, 0, 0, 0), {}),
    "iis_plaso_iis10.log": ("w3c", (5, 1, 0, 0, 4), {}),
    "iis_plaso_iis10_cookies.log": ("w3c", (7, 3, 0, 0, 4), {}),
    "iis_plaso_iis10_edge_cases.log": ("w3c", (19, 15, 0, 0, 4), {}),
    "iis_plaso_iis6.log": ("w3c", (16, 12, 0, 0, 4), {}),
    "iis_plaso_iis7_owa.log": ("w3c", (5, 3, 0, 0, 2), {}),
    "iis_plaso_iis7_sqli.log": ("w3c", (6, 2, 0, 0, 4), {}),
    "iis_plaso_iis_without_date.log": ("w3c", (15, 11, 0, 0, 4), {}),
    # the last line has one field more
    "nginx_alp_combined_access.log": ("nginx-main-timed+nginx-combined-upstream", (14, 14, 0, 0, 0), {}),
    "nginx_alp_json_access.log": ("json", (14, 14, 0, 0, 0), {}),
    "nginx_alp_ltsv_access.log": ("ltsv", (14, 14, 0, 0, 0), {}),
    # X-Forwarded-For lists in front; one empty request
    "nginx_beats_test.log": ("combined+nginx-main", (7, 6, 1, 0, 0), {NONE: 1}),
    "nginx_ddoser_857.log": ("combined", (858, 858, 0, 0, 0), {}),
    # two lines of the error log
    "nginx_npm_crowdsec.log": ("npm+npm-direct+combined", (14, 12, 0, 2, 0), {LAYOUT: 2}),
    "s3_rla_5.log": ("aws-s3", (5, 5, 0, 0, 0), {}),
    # a line of a plug-in
    "traefik_crowdsec_6.json.log": ("traefik", (7, 6, 0, 1, 0), {LAYOUT: 1}),
    "traefik_crowdsec_clf.log": ("traefik-clf", (9, 7, 0, 0, 2), {}),
}


def test_the_table_is_complete() -> None:
    files = {path.name for path in LOGS.iterdir() if path.is_file() and path.suffix != ".md"}
    assert files == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_every_line_of_a_real_log_has_its_explained_fate(name: str, tmp_path: Path) -> None:
    report = convert([LOGS / name], tmp_path / "out.csv")
    account = (report.lines, report.converted, report.unreplayable, report.rejected, report.blank)
    assert (report.format, account, dict(report.reasons)) == TABLE[name]
    assert (tmp_path / "out.csv").exists() == bool(report.converted)
    if not report.converted:
        return
    frame = scan(tmp_path / "out.csv").collect()
    assert frame.height == report.converted
    assert frame.select(start_time()).to_series().is_sorted()


def rows(name: str, tmp_path: Path) -> pl.DataFrame:
    convert([LOGS / name], tmp_path / "out.csv")
    return scan(tmp_path / "out.csv").collect()


def test_a_rotated_pair_across_a_clock_change_is_one_log(tmp_path: Path) -> None:
    pair = [LOGS / "apache_hurence_access.log.48", LOGS / "apache_hurence_access.log.49"]
    reports = [convert(order, tmp_path / f"{number}.csv") for number, order in enumerate((pair, pair[::-1]))]
    assert [report.lines for report in reports] == [28_200, 28_200]
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    assert scan(tmp_path / "0.csv").select(start_time()).collect().to_series().is_sorted()


def test_caddy_stamps_the_end(tmp_path: Path) -> None:
    row = rows("caddy_crowdsec.json.log", tmp_path).filter(pl.col("user") == "Bob").row(0, named=True)
    assert (row["time"], row["latency"], row["bytes"]) == ("19:51:04.152421", pytest.approx(0.794682), 18630)


def test_iis_is_in_milliseconds_and_writes_plus_for_blank(tmp_path: Path) -> None:
    row = rows("iis_plaso_iis10_edge_cases.log", tmp_path).row(0, named=True)
    assert (row["latency"], row["user"], row["agent"]) == (0.015, r"random\ranuser1", "Microsoft WinRM Client")
    assert row["url"] == "/powershell?clientApplication=ActiveMonitor;PSVersion=5.1.14393.4467"


def test_a_date_that_stands_only_in_the_header_is_used(tmp_path: Path) -> None:
    assert set(rows("iis_plaso_iis_without_date.log", tmp_path)["date"]) == {"2013-07-30"}


def test_load_balancer_times_are_summed_and_the_host_is_noted(tmp_path: Path) -> None:
    row = rows("elb_plaso_mixed.log", tmp_path).filter(pl.col("bytes") == 107_999).row(0, named=True)
    assert (row["latency"], row["xfertime"], row["url"]) == (pytest.approx(0.177), 0.0, "/")
    assert (row["host"], row["client"]) == ("www.domain.name:443", "192.168.1.10")


def test_a_request_with_bare_quotes_is_read_whole(tmp_path: Path) -> None:
    urls = set(rows("apache_plaso_mixed.log", tmp_path)["url"])
    assert "/aaaa.xxxx/SomeText?action=edit&template=<script>alert(%22text%22)</script>" in urls


def test_the_first_address_of_a_list_in_front_is_the_client(tmp_path: Path) -> None:
    clients = set(rows("nginx_beats_test.log", tmp_path)["client"])
    assert clients == {"10.0.0.2", "172.17.0.1", "85.181.35.98", "10.5.102.222", "2a03:0000:10ff:f00f:0000:0000:0:8000"}


def test_scrambled_times_are_noticed(tmp_path: Path) -> None:
    report = convert([LOGS / "apache_elastic_10k.log"], tmp_path / "out.csv")
    assert any("are older than some line before them" in note for note in report.notes)
