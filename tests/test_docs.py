"""What the README and the documentation say is so: each command block in them is run as it stands.

A block that cannot be run on one machine without harm is marked ``<!-- not run: the reason -->``. Two things differ
from what a user sees: the address of the target, and patience (`IMPATIENT`): minutes become a second.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import click
import pytest

import first_screen
from benchmarks.peers.quotes import quotes
from conftest import ServerFactory
from logreplay.cli.main import cli
from logreplay.cli.main import run as logreplay
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd
from logreplay.options.table import options_of
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.DOTALL)

FAST = ServerCapacity(workers=100, service_s=0.002)
ADDRESS = "http://127.0.0.1:8080"
IMPATIENT = """\
import re
import sys
from logreplay.cli.main import run

SHORTER = {"--warmup": "100ms", "--settle": "100ms", "--repeat": "1", "--cluster": "local:2"}


def shortened(command, *options):
    moment = "1s" if command == "sweep" else "300ms"  # a p90 needs 36 requests
    options = [({"--for": moment} | SHORTER).get(before, option) for before, option in zip(("", *options), options)]
    options = [re.sub(r"^\\d{5,}$", "1000", option) for option in options]
    if command in ("run", "sweep") and not {"--for", "--steps", "--requests", "--dry-run"} & set(options):
        options += ["--for", moment]
    if command == "sweep":
        options = [re.sub(r"^(\\d+)\\.\\.(\\d+)(:\\d+)?$", r"\\1,\\2", option) for option in options]
    if command == "find":
        options += ["--trial", "1s", "--trials", "1"]
    if command == "plan" and "--from" not in options:
        options += ["--trial", "1s", "--max-tps", "40"]  # found, since it is the highest that is allowed
    if command in ("sweep", "find") or (command == "plan" and "--from" not in options):
        options += ["--no-plots"]
    return [command, *options]


if __name__ == "__main__":
    code = run(shortened(*sys.argv[1:]))
    sys.exit(0 if code == 3 else code)  # 3: no valid measurement, and none was made in so little time
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    text: str
    why_not: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found["kind"], found["text"], found["why"]) for found in BLOCK.finditer(text)]


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in ("sh", "python") and not block.why_not]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_each_command_has_help_with_an_example(command: str) -> None:
    group = click.Context(cli, **cli.context_settings)
    text = cli.commands[command].get_help(click.Context(cli.commands[command], group, info_name=command))
    assert "Example" in text


def test_the_page_of_stable_names_has_each_command() -> None:
    row = next(
        line for line in (ROOT / "docs" / "stability.md").read_text("utf-8").splitlines() if "| commands |" in line
    )
    assert re.findall(r"`(\w+)`", row) == sorted(cli.commands)


@pytest.mark.parametrize(("name", "limit"), [("README.md", 650), ("CHANGELOG.md", 500)])
def test_the_first_pages_stay_short(name: str, limit: int) -> None:
    assert len((ROOT / name).read_text("utf-8").split()) <= limit


def test_the_documentation_stays_short() -> None:
    words = {path: len(path.read_text("utf-8").replace("|", " ").split()) for path in (ROOT / "docs").rglob("*.md")}
    assert sum(words.values()) <= 32_000, "state each fact on one page, and link it from the others"


def test_no_key_of_a_file_is_explained_twice() -> None:
    """``notes`` stood twice in the table of plan.json, once with the meaning of those of a capacity."""
    page = (ROOT / "docs" / "reference" / "files.md").read_text("utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        keys = [key for row in table.splitlines() for key in re.findall(r"`([^`]+)`", row.split("|")[1])]
        assert len(keys) == len(set(keys)), table


def test_the_two_commands_are_one_line_each() -> None:
    lines = [line for block in blocks(ROOT / "README.md") for line in block.text.splitlines()]
    setup = [line for line in lines if line.startswith("python3")]
    assert [line.split("&&")[0].strip() for line in setup] == ["python3 -m venv .venv"] * 2
    assert ". .venv/bin/activate" in setup[0]  # the commands that a reader pastes next call logreplay
    assert setup[0].endswith(" logreplay demo")
    assert setup[1].endswith(".venv/bin/tox")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "grep -m1 -E '^python3 .*/tox' README.md" in (ROOT / ".ci" / "run").read_text()


def test_the_reference_of_commands_has_each_command_with_all_its_options() -> None:
    spec = importlib.util.spec_from_file_location("commands_page", ROOT / "tools" / "commands_page.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    text = page.on_page_markdown((ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8"))
    for command in cli.commands.values():
        section = text.partition(f"## logreplay {command.name}\n")[2].partition("\n## ")[0]
        refused = [each.name for each in options_of(command.name or "") if command.name in each.refused.split()]
        shown = [part for part in command.params if isinstance(part, click.Option) and not part.hidden]
        shown = [part for part in shown if part.name not in refused]
        options = [option for part in shown for option in part.opts]
        assert [option for option in options if option not in section] == []


def test_each_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
    assert pages <= set(listed)
    assert len(listed) == len(set(listed))


def test_each_page_has_the_name_of_its_entry_in_the_navigation() -> None:
    navigation = re.findall(r"- ([^:\n]+): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
    titles = {page: (ROOT / "docs" / page).read_text("utf-8").partition("\n")[0] for _, page in navigation[1:]}
    assert [page for name, page in navigation[1:] if not titles[page].startswith(f"# {name}")] == []


def test_readme_overview_and_navigation_have_the_same_groups_of_pages() -> None:
    navigation = re.split(
        r"^  - (.+):\n", (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2], flags=re.M
    )
    groups = {
        title: re.findall(r"(\S+\.md)$", pages, re.M)
        for title, pages in zip(navigation[1::2], navigation[2::2], strict=True)
    }
    groups.pop("For contributors")
    overview = re.split(r"^## (.+)\n", (ROOT / "docs" / "index.md").read_text("utf-8"), flags=re.M)
    linked = {
        title: re.findall(r"\]\((\S+\.md)\)", text) for title, text in zip(overview[1::2], overview[2::2], strict=True)
    }
    assert {title: sorted(pages) for title, pages in linked.items()} == {
        title: sorted(pages) for title, pages in groups.items()
    }
    readme = (ROOT / "README.md").read_text("utf-8").partition("\n## Documentation\n")[2]
    assert [title for title in groups if f"[{title.lower()}](" not in readme.lower()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_command_of_a_page_escapes_being_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"^```(?:console|bash|shell|py)$", text, re.M), "write sh or python"
    assert not re.findall(r"^(?: {4}|\t)\$? ?logreplay [a-z].*", BLOCK.sub("", text), re.M), "fence it as sh"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_command_that_is_run_reaches_beyond_this_machine(page: Path) -> None:
    for block in runnable(page):
        if block.kind == "sh":
            assert set(re.findall(r"https?://[^\s/'\"]+", block.text)) <= {ADDRESS}
            assert not re.search(r"--allow-target|\b(?:pip|curl|ssh|docker|sudo)\b", block.text), block.text


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md"), *(ROOT / "tests").rglob("*.md")}), ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), link


@dataclass(frozen=True)
class Workshop:
    """What the pages presume: a log, its CSV, and ``logreplay`` itself."""

    folder: Path

    def furnish(self, scratch: Path, text: str) -> None:
        """Put what a block presumes into its folder, unless the page has made it."""
        if "access.csv" in text and "convert access.log\n" not in text and not (scratch / "access.csv").exists():
            shutil.copy(self.folder / "access.csv", scratch)
        if '"sweep"' in text and not (scratch / "sweep").exists():
            sweep(self.folder / "access.csv", scratch / "sweep")

    def run(self, block: Block, scratch: Path, url: str) -> "subprocess.CompletedProcess[str]":
        self.furnish(scratch, block.text)
        env = {
            **os.environ,
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(scratch),
            "XDG_CACHE_HOME": str(scratch),
            "MPLBACKEND": "Agg",
        }
        shell, text = ["bash", "-euo", "pipefail", "-c"], block.text.replace(ADDRESS, url)
        command = [*shell, text] if block.kind == "sh" else [sys.executable, "-c", text]
        return subprocess.run(command, cwd=scratch, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    folder = tmp_path_factory.mktemp("workshop")
    log, csv = folder / "access.log", folder / "access.csv"
    shutil.copy(ROOT / "sample_logs" / "nginx_request_time.log", log)
    assert logreplay(["convert", "-q", str(log), "-o", str(csv)]) == 0
    (folder / "impatient.py").write_text(IMPATIENT)
    command = folder / "logreplay"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {folder / "impatient.py"} "$@"\n')
    command.chmod(0o755)
    return Workshop(folder)


@pytest.fixture
def url(workshop: Workshop) -> Iterator[str]:
    """A target of its own for each page: it answers a url as the log did, one answer after the other."""
    with spawned(workshop.folder / "access.csv", FAST) as url:
        yield url


def sweep(csv: Path, folder: Path) -> Path:
    """What the notebook page presumes."""
    with spawned(csv, FAST) as url:
        options = ["--for", "1s", "--no-plots", "-q", "-o", str(folder)]
        assert logreplay(["sweep", "100..500:100", str(csv), url, *options]) in (0, 3)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name)
def test_the_commands_of_a_page_run_as_they_stand(page: Path, workshop: Workshop, url: str, tmp_path: Path) -> None:
    shutil.copy(workshop.folder / "access.log", tmp_path)
    for block in runnable(page):
        done = workshop.run(block, tmp_path, url)
        if done.returncode == 4 and "no valid step" in done.stdout:
            pytest.skip(f"this machine is too busy to measure anything: {done.stdout}")
        assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"


def test_each_finding_is_on_the_page_of_verdicts() -> None:
    """The codes in the sources; those of errno (emfile, …) are made from its names."""
    texts = [path.read_text("utf-8") for room in ("replay", "analysis") for path in (ROOT / room).rglob("*.py")]
    codes = {code for text in texts for code in re.findall(r'(?:\bFinding\(\s*|"code": )"(\w+)"', text)}
    page = (ROOT / "docs" / "verdicts.md").read_text("utf-8")
    assert {"lag", "rate_missed", "warm_up"} <= codes
    assert [each for each in sorted(codes) if f"`{each}`" not in page] == []


@pytest.mark.parametrize(
    ("arguments", "symptom"),
    [
        (
            ["run", "access.csv", "http://127.0.0.1:9", "--tps", "5", "--match", "nowhere", "--dry-run"],
            "nothing to replay",
        ),
        (["run", "access.csv", "http://10.1.2.3", "--tps", "5"], "--allow-target 10.1.2.3"),
        (["run", "access.csv", "http://127.0.0.1:9", "--tps", "5"], "connection refused"),
        (["convert", "rubbish.log"], "unknown format"),
    ],
)
def test_the_symptoms_are_called_as_the_messages_call_them(
    arguments: list[str],
    symptom: str,
    workshop: Workshop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(workshop.folder / "access.csv", tmp_path)
    (tmp_path / "rubbish.log").write_text("rubbish\n")
    monkeypatch.chdir(tmp_path)
    assert logreplay(arguments) == 1
    assert symptom in capfd.readouterr().err
    assert symptom in (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")


def log_format(page: str, kind: str) -> str:
    """The format that the configuration on a page sets, its parts joined."""
    text = next(block.text for block in blocks(ROOT / "docs" / page) if block.kind == kind and "ormat" in block.text)
    if kind == "apache":
        return re.search(r'LogFormat "(.+)" \w+', text)[1]  # type: ignore[index]
    return "".join(re.findall(r"'([^']*)'", text.partition(";\n")[0]))


def written(log: Path, lines: int) -> str:
    """The log, once it has so many lines: a server writes them after it has answered."""
    deadline = time.monotonic() + 20
    while log.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < deadline, f"{log} has not {lines} lines"
        time.sleep(0.01)
    return str(log)


@pytest.mark.slow
def test_the_log_format_for_nginx_is_understood_by_sight(nginx: ServerFactory, tmp_path: Path) -> None:
    server = nginx(log_format=log_format("howto/logs.md", "nginx"))
    for n in range(5):
        urlopen(f"{server.url}/{n}").close()
    assert logreplay(["convert", "-q", written(server.log, 5), "-o", str(tmp_path / "a.csv")]) == 0
    rows = scan(tmp_path / "a.csv").collect()
    assert rows["url"].to_list() == [f"/{n}" for n in range(5)]
    assert rows["latency"].max() < 1  # type: ignore[operator]
    assert any(not stamp.endswith("000000") for stamp in rows["time"])


@pytest.mark.slow
def test_the_log_format_with_bodies_is_understood_by_sight(nginx: ServerFactory, tmp_path: Path) -> None:
    echo = "location / { proxy_pass $scheme://$http_host/done; } location /done { access_log off; return 200 x; }"
    server = nginx(server=echo, log_format=log_format("howto/post.md", "nginx"), escape="json")
    urlopen(f"{server.url}/login", data=b'user="a"&b=1').close()
    assert logreplay(["convert", "-q", written(server.log, 1), "-o", str(tmp_path / "a.csv")]) == 0
    row = scan(tmp_path / "a.csv").collect().row(0, named=True)
    assert (row["op"], row["url"]) == ("POST", "/login")
    assert zstd.decompress((tmp_path / "a.bodies.zst").read_bytes()) == b'user="a"&b=1'
    assert row["request_bytes"] > 100


@pytest.mark.slow
def test_the_log_format_for_apache_is_understood_by_sight(apache: ServerFactory, tmp_path: Path) -> None:
    server = apache(log_format=log_format("howto/logs.md", "apache"))
    for n in range(5):
        (server.files / str(n)).write_text("hello")
        urlopen(f"{server.url}/{n}").close()
    assert logreplay(["convert", "-q", written(server.log, 5), "-o", str(tmp_path / "a.csv")]) == 0
    rows = scan(tmp_path / "a.csv").collect()
    assert sorted(rows["url"]) == [f"/{n}" for n in range(5)]  # Apache stamps whole seconds
    assert 0 < rows["latency"].max() < 1  # type: ignore[operator]


def test_texts_quote_the_present_figures_of_the_page_beside_other_load_generators() -> None:
    """`python -m benchmarks.peers` writes them into the page and into the other texts."""
    quoted = [*quotes(ROOT)]  # it is empty if the page lacks a figure
    assert [path.name for path, _, _ in quoted] == ["README.md", "comparison.md"]
    assert [path for path, text, present in quoted if text != present] == []


def test_another_first_screen_replaces_that_of_the_readme() -> None:
    """A block was appended where none was found."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert first_screen.replaced(readme, "$ logreplay sweep 1..2").count(first_screen.BLOCK) == 1
    with pytest.raises(ValueError, match="no block that begins with"):
        first_screen.replaced(readme.replace("$ logreplay sweep", "$ logreplay find"), "")


def test_the_first_screen_quotes_the_promise_of_the_real_case() -> None:
    case = (ROOT / "docs" / "real-case.md").read_text("utf-8")
    promised, held = re.findall(r"\| (\d+)[\d.]*/s, the promise, first time \|.*\| (yes|no) \|", case)[0]
    over = re.findall(r"10 % above the stated capacity \|.*\| (yes|no) \|", case)
    assert (held, over) == ("yes", ["no"])
    assert f"the promised {promised} requests/s held for ten minutes, three times" in (ROOT / "README.md").read_text(
        "utf-8"
    )


def test_the_picture_of_the_terminal_shows_the_commands_and_the_lines_of_today() -> None:
    """No picture is edited by hand: `tox -e pictures` makes all of them from real runs."""
    commands = re.search(r"COMMANDS: Final = \((.*?)\n\)", (ROOT / "tools" / "pictures.py").read_text(), re.DOTALL)
    assert commands
    picture = unescape((ROOT / "docs" / "pictures" / "terminal.svg").read_text()).replace("\xa0", " ")
    for command in re.findall(r'f?"(.*)",', commands[1]):
        assert command.replace("{ADDRESS}", "http://127.0.0.1:8080") in picture
    assert re.search(r">10/s: 200 sent, \d+ failed, backlog \d+<", picture)
    assert "saturation at about " in picture
