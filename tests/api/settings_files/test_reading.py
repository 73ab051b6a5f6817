"""Parameters from a settings file: those of the command line with its limits, and no permission."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.options.keywords import read


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "logreplay.toml"


def test_options_of_the_top_and_of_the_section_become_parameters(file: Path) -> None:
    file.write_text(
        'log = "a.csv"\ntimeout = "10s"\nheader = ["X-A: 1", "X-B: 2"]\nno-keep-alive = true\nquiet = true\n'
        '[run]\ntps = 100\nfor = "1m"\nfrom = 5\nloop = false\nmax-in-flight = 7\n[sweep]\nrates = "1,2"\n'
    )
    given = logreplay.settings("run")
    assert given == {
        "log": "a.csv", "timeout": "10s", "header": ["X-A: 1", "X-B: 2"], "keep_alive": False, "tps": "100",
        "duration": "1m", "since": "5", "loop": False, "max_in_flight": "7",
    }  # fmt: skip
    values = read("run", {name: value for name, value in given.items() if name != "log"})
    assert (values["tps"], values["duration"], values["keep_alive"]) == (100, 60, False)
    assert logreplay.settings("sweep", file)["rates"] == "1,2"


def test_numbers_of_functions_that_send_nothing_are_read(file: Path) -> None:
    file.write_text('[serve]\nport = 8081\nservice-time = "20ms"\n[capacity]\ntps = 200\nwithin = "300ms"\n')
    assert logreplay.settings("serve") == {"port": 8081, "service_time": 0.02}
    assert logreplay.settings("capacity") == {"demand": 200, "within": 0.3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timeuot = 5", "line 1: there is no option 'timeuot' for all commands; did you mean timeout"),
        ("tps = 5", r"'tps' for all commands; it is not the same in all commands, so put it into \[run\]"),
        ("tpz = 5", "line 1: there is no option 'tpz' for all commands; did you mean tps"),
        ("xyzzy = 5", "for all commands; logreplay COMMAND --help lists the options of a command$"),
        ("[run]\nxyzzy = 5", "line 2: run has no option 'xyzzy'; logreplay run --help lists its options$"),
        ("[run]\ntpz = 5", "line 2: run has no option 'tpz'; did you mean tps"),
        ("run = 5", r"line 1: there is no option 'run' for all commands; run is a command, .* under \[run\]"),
        ("[rum]\ntps = 5", "line 1: there is no command 'rum'; did you mean run"),
        ("[run]\nloop = 1", "line 2: 'loop' is a switch: write true or false, not 1"),
        ("[run]\ntps = true", "line 2: 'tps' needs a value, not true"),
        ("[run]\nhost = ' '", "line 2: 'host' is empty"),
        ("tps =", "is not TOML"),
        ("[run]\nhook = 'm:f'", "line 2: 'hook' cannot be set in a file: it runs code"),
        ("[run]\nno-force = false", "line 2: 'force' cannot be set in a file: it overwrites results"),
        ("[run]\ncluster = 'tcp://h:1'", "line 2: 'cluster' cannot be set in a file"),
        ("[run]\nwatch = ['x=!id']", "line 2: 'watch' cannot be set in a file: it runs a command"),
        ("target = 'unix:/run/docker.sock'", "a file cannot name the socket of another program"),
        ("[run]\noutput = '../rows.csv'", "a file cannot name a path outside of its folder"),
        ("dry-run = true", "line 1: run.. would send what 'dry-run' on the command line only prints"),
        ("[run]\nno-dry-run = false", "line 2: run.. would send what 'no-dry-run'"),
        ("[run]\nlive = '0.0.0.0:80'", "a file cannot open a port to other machines"),
        ("log = 's3://bucket/key'", "a file cannot have a store read with your credentials"),
        ("target = 'http://a'\nmethods = 'DELETE'", "sets methods and the target; a file cannot do both"),
        ("target = 'http://a'\nauth = 'bearer:token'", "sets auth and the target; a file cannot do both"),
    ],
)
def test_what_the_command_line_refuses_is_refused(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(logreplay.LogreplayError, match=said):
        logreplay.settings("run", "logreplay.toml")


@pytest.mark.parametrize("key", ["vusers = 5", "think = '1s'"])
def test_an_option_that_a_duet_refuses_on_the_command_line_is_refused_in_its_section(file: Path, key: str) -> None:
    file.write_text(f"[duet]\n{key}\n")
    with pytest.raises(logreplay.LogreplayError, match=f"line 2: duet has no option '{key.split()[0]}'"):
        logreplay.settings("duet")


def test_a_dry_run_that_is_off_or_of_another_function_changes_nothing(file: Path) -> None:
    file.write_text("[run]\ndry-run = false\n")
    assert logreplay.settings("run") == {}
    file.write_text("dry-run = true\n")
    assert logreplay.settings("sweep") == {}


@pytest.mark.parametrize("how", ["auto", "json", "none"])
def test_options_whose_values_only_the_terminal_has_are_left_out(file: Path, how: str) -> None:
    file.write_text(f"progress = '{how}'\nquiet = true\n[run]\nverbose = true\noutput = 'rows.csv'\n")
    assert logreplay.settings("run") == {"output": "rows.csv"}
    read("run", logreplay.settings("run"))


def test_a_file_gives_no_permission(file: Path) -> None:
    file.write_text('target = "http://192.0.2.1"\nallow-target = ["192.0.2.1"]\n[run]\ntps = 1\n')
    given = logreplay.settings("run", file)
    assert given == {"target": "http://192.0.2.1", "tps": "1"}
    (file.parent / "a.csv").write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0,0,0,5,/,200,GET\n"
    )
    with pytest.raises(logreplay.LogreplayError, match="allow_target"):
        logreplay.run("a.csv", target=given["target"], tps=1)


def test_what_widens_counts_only_in_a_file_that_nobody_else_can_write(file: Path) -> None:
    file.write_text('methods = "POST"\n')
    assert logreplay.settings("run") == {"methods": "POST"}
    file.chmod(0o666)
    with pytest.raises(logreplay.LogreplayError, match="counts only in a file that is yours"):
        logreplay.settings("run")


def test_a_function_or_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(logreplay.UsageError, match="'rum' is not a function; did you mean run"):
        logreplay.settings("rum")
    with pytest.raises(logreplay.LogreplayError, match=r"logreplay\.toml: cannot be read: No such file"):
        logreplay.settings("run")


@pytest.mark.parametrize("value", [5, None, [], b"run", "\0"])
@pytest.mark.parametrize("name", ["function", "path"])
def test_a_function_and_a_path_that_are_no_texts_are_refused(name: str, value: Any) -> None:
    """They ended in an AttributeError, a TypeError and a ValueError from inside."""
    arguments = {"function": "run", "path": "logreplay.toml", name: value}
    with pytest.raises(logreplay.UsageError) as refused:
        logreplay.settings(**arguments)
    assert refused.value.parameters == (name,) or value == "\0"


@pytest.mark.parametrize(
    ("function", "line", "said"),
    [
        ("run", "tps = 'fast'", "line 2: tps='fast': expected a rate above 0"),
        ("run", "for = 'long'", "line 2: for='long': expected a duration above 0"),
        ("run", "header = ['X: 1', 'Y']", r"line 2: header=\['X: 1', 'Y'\]: 'Y'"),
        ("sweep", "rates = 'many'", "line 2: rates='many'"),
        ("sweep", "order = 'x'", "line 2: order='x': expected one of given, up, down, shuffle"),
        ("serve", "workers = 0", "line 2: workers='0': expected a whole number, 1 or more"),
        ("capacity", "demand = 'a'", "line 2: demand='a': expected a rate above 0"),
        ("compare", "junit = '.'", "line 2: junit='.': .: is a folder; name a file"),
        ("convert", "since = 'gestern'", "line 2: since 'gestern': not a time; write 2026-11-20"),
        ("inspect", "timezone = 'Mars'", "line 2: timezone 'Mars': no such time zone"),
        ("plan", "match = '('", "line 2: match '[(]': not a regular expression"),
        ("convert", "max-rejects = 'x'", "line 2: max-rejects 'x': expected a number of lines"),
        ("run", "timeout = ['10s', '20s']", "line 2: 'timeout' takes one value, not a list: keep one of 10s, 20s"),
        ("run", "tps = [1, 2]", "line 2: 'tps' takes one value, not a list: keep one of 1, 2"),
        ("run", "for = []", "line 2: 'for' is empty: give a value, or leave it out"),
        ("sweep", "rates = ['x', true]", r'line 2: .rates. needs numbers or texts in its list, not \["x", true\]'),
        ("run", "tps = {a = 'X'}", 'line 2: .tps. needs a value, not {"a": "X"}'),
        ("run", "log = ['a', 'b']", "line 2: 'log' takes one value, not a list"),
        ("run", "header = [true]", "line 2: 'header' needs a value, not true"),
        ("convert", "client = ['10.0.0.7', '10.0.0.8']", "not a list: write it as one text, '10.0.0.7,10.0.0.8'"),
        ("convert", "logs = []", "line 2: 'logs' is empty"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_place(file: Path, function: str, line: str, said: str) -> None:
    """Those of `run` were returned as they were, a list as one text, and those of `serve` ended in a ValueError."""
    file.write_text(f"[{function}]\n{line}\n")
    with pytest.raises(logreplay.LogreplayError, match=said):
        logreplay.settings(function)


@pytest.mark.parametrize(
    ("function", "line", "value"),
    [
        ("run", "ramp = [10, 200]", ("ramp", "10..200")),
        ("run", "steps = [[50, '10s'], [100, 20]]", ("steps", "50:10s,100:20")),
        ("run", "status = [404, '5xx']", ("status", "404,5xx")),
        ("sweep", "rates = [50, 100]", ("rates", "50,100")),
        ("convert", "match = ['^/a']", ("match", "^/a")),
    ],
)
def test_a_list_of_parts_is_one_value(file: Path, function: str, line: str, value: tuple[str, str]) -> None:
    file.write_text(f"[{function}]\n{line}\n")
    assert logreplay.settings(function) == dict([value])


def test_a_log_for_all_commands_is_that_of_commands_that_take_several(file: Path) -> None:
    """`convert` and `inspect` took ``logs`` only."""
    file.write_text("log = 'a.log'\n[inspect]\nlog = ['b.log', 'c.log']\n")
    given = {function: logreplay.settings(function)["log"] for function in ("run", "convert", "plan", "inspect")}
    assert given == {"run": "a.log", "convert": "a.log", "plan": "a.log", "inspect": ["b.log", "c.log"]}
    file.write_text("log = 'a.csv'\nlogs = ['a.log', 'b.log']\n")
    assert logreplay.settings("run") == {"log": "a.csv"}
    assert logreplay.settings("convert") == {"log": ["a.log", "b.log"]}


def test_no_file_outside_of_the_folder_is_read_to_check_a_value(file: Path) -> None:
    file.write_text("[run]\nheader = ['@/etc/hostname']\n")
    with pytest.raises(logreplay.LogreplayError, match="a file cannot name a path outside of its folder"):
        logreplay.settings("run")


def test_two_values_of_an_option_are_read(file: Path) -> None:
    file.write_text('[duet]\nswap = ["http://127.0.0.1:1", "http://127.0.0.1:2"]\nswap-every = "1s"\n')
    values = read("duet", logreplay.settings("duet"))
    assert (
        values["swap"] == ("http://127.0.0.1:1", "http://127.0.0.1:2") == read("duet", {"swap": values["swap"]})["swap"]
    )
    assert values["swap_every"] == 1.0


def test_the_logs_of_a_file_are_those_that_the_function_takes(file: Path) -> None:
    both = ["a.log", "b.log"]
    for function in ("convert", "inspect", "plan"):
        for written, log in (("a.log", "a.log"), (["a.log"], "a.log"), (both, both)):
            file.write_text(f"[{function}]\nlogs = {written!r}\n")
            given = logreplay.settings(function)
            assert given == {"log": log}
            inspect.signature(getattr(logreplay, function)).bind(**given)


def test_several_logs_of_a_file_are_converted_and_inspected_together(file: Path) -> None:
    """A file could not give them."""
    for name, minute in (("a.log", 1), ("b.log", 0)):
        line = f'10.0.0.1 - - [01/Jan/2026:00:{minute:02}:00 +0000] "GET /{name} HTTP/1.1" 200 5\n'
        file.with_name(name).write_text(line)
    file.write_text("[convert]\nlogs = ['a.log', 'b.log']\n[inspect]\nlogs = ['a.log', 'b.log']\n")
    with logreplay.convert(**logreplay.settings("convert")) as result:
        assert list(result.requests["url"]) == ["/b.log", "/a.log"]
    assert logreplay.inspect(**logreplay.settings("inspect")).logs == ("a.log", "b.log")
    with pytest.raises(logreplay.UsageError, match="log=list: expected the path of a log, or a list of paths"):
        logreplay.inspect([])


def test_several_results_stay_apart(file: Path) -> None:
    file.write_text('[capacity]\nresults = ["a,b", "c"]\n')
    assert logreplay.settings("capacity") == {"results": ["a,b", "c"]}


def test_what_a_function_takes_only_before_its_keywords_is_refused(file: Path) -> None:
    file.write_text('[compare]\nmore = "a"\n')
    with pytest.raises(logreplay.LogreplayError, match=r"line 2: compare\(\) takes .* only before its keywords"):
        logreplay.settings("compare")
    assert logreplay.settings("run") == {}


@pytest.mark.parametrize("section", ["[plot]\nresults", "[seconds]\nresults", "[urls]\ntemplates"])
def test_sections_of_commands_that_are_no_functions_change_nothing(file: Path, section: str) -> None:
    file.write_text(f'{section} = "a"\n')
    assert logreplay.settings("run") == {}


def test_an_option_is_set_under_any_of_its_names(file: Path) -> None:
    file.write_text("query = 'a=1'\n[run]\nrate = 5\nduration = '1m'\n[find]\nrate = 6\n")
    assert logreplay.settings("run") == {"param": ["a=1"], "tps": "5", "duration": "1m"}
    assert logreplay.settings("find") == {"param": ["a=1"], "demand": "6"}
    file.write_text("since = '2026-01-01'\n")  # `inspect` has it, too, with another meaning
    with pytest.raises(logreplay.LogreplayError, match=r"not the same in all commands, so put it into \[run\]"):
        logreplay.settings("run")


def test_two_names_of_an_option_in_one_section_are_refused(file: Path) -> None:
    file.write_text("[run]\nrate = 5\ntps = 5\n")
    with pytest.raises(logreplay.LogreplayError, match="line 2: 'rate' and 'tps' set the same option"):
        logreplay.settings("run")


def test_a_second_name_of_an_option_that_widens_counts_only_in_a_file_that_nobody_else_can_write(file: Path) -> None:
    file.write_text("[run]\nmethod = 'POST'\n")
    file.chmod(0o660)
    with pytest.raises(logreplay.LogreplayError, match="'methods' counts only in a file that is yours"):
        logreplay.settings("run")
    file.chmod(0o600)
    assert logreplay.settings("run") == {"methods": "POST"}
