"""What is secret, and that hiding it hides nothing else."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logreplay.parsers
from logreplay.core.masking import MASK, is_secret, masked
from support.linear_time import is_linear

SECRET = "hunter2-0123456789"


@pytest.mark.parametrize(
    "text",
    [
        "GET /a?token={} HTTP/1.1",
        "/a?x=1&access_token={}&y=2",
        "/a?accessToken={}",
        "/a?api_key={}#top",
        "/a?%74oken={}",
        "/login;jsessionid={}",
        "/a?PHPSESSID={}",
        "/f?X-Amz-Algorithm=A&X-Amz-Signature={}",
        "/cb?code={}",
        "/r?next=%2Fcb%3Ftoken%3D{}%26y%3D1",
        "/r?next=%252Fcb%253Ftoken%253D{}",
        "http://bob:{}@example.org/",
        "https://{}@example.org/",
        "target 'user:{}@h': no such host",
        "Authorization: Bearer {}",
        "curl --header Digest {}",
        "Proxy-Authorization: Basic {}",
        "Cookie: theme=dark; id={}",
        "set-cookie: id={}; Path=/",
        "X-Api-Key: {}",
        "X-Auth-Token: {}",
        "Referer: http://example.org/reset?sig={}",
        "user=bob&password={}",
        '{{"user": "bob", "password": "{}"}}',
        "ConnectionError: could not get http://h/a?key={}",
        "the server said: Bearer {}",
    ],
)
def test_a_secret_is_not_shown(text: str) -> None:
    shown = masked(text.format(SECRET))
    assert SECRET not in shown
    assert MASK in shown


@pytest.mark.parametrize("scheme", ["http://", "https://", ""])
@pytest.mark.parametrize("sign", "@:/?#'!$&()*+,;=[]%")
def test_no_part_of_a_password_is_shown_whatever_sign_it_holds(scheme: str, sign: str) -> None:
    for secret in (f"pa{sign}ss", f"{sign}pass", f"pass{sign}", f"pa{sign}{sign}ss@pa"):
        shown = masked(f"{scheme}user:{secret}@h:80/a failed")
        assert "pa" not in shown
        assert "ss" not in shown
        assert shown.endswith("@h:80/a failed")


@pytest.mark.parametrize(
    "text",
    [
        "GET /a?x=1&page=2&author=bob HTTP/1.1",
        "/monkey?sort=asc&q=token",
        "Host: key.example.org",
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
        "log.csv: no such file",
        "target 'ftp://h': the scheme must be http or https; write http://HOST:PORT",
        '{"user": "bob", "n": 17}',
        "/a//b@c",
        "http://h:80/a@b",
        "http://h/a@b",
        "connect to [::1]:80 or h:80: refused",
        "session.har: no such file",
        "auth.log.1: no such file",
        "csrf.csv: exists already; choose another with -o",
        "key.pem: no certificates can be read",
        "--ignore and --no-digest exclude each other: --no-digest compares no answers",
        "--digest exceeds nothing",
        "--extract csrf needs --use csrf=...: nothing else takes a value of this name",
        "--use csrf=header:X-Csrf and --header 'X-Csrf: ...' exclude each other",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_tokens_are_known_by_their_looks() -> None:
    assert masked("/r/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln/x") == f"/r/{MASK}/x"
    assert masked("AKIAIOSFODNN7EXAMPLE") == MASK


_FORMS = (
    "Authorization: Bearer {}",
    "Cookie: a={}",
    "X-Api-Key: {}",
    "/a?x=1&token={}",
    "--use /a?token={}",
    "http://user:{}@host/",
    '{{"password": "{}"}}',
    "user=bob&password={}",
)


@given(
    st.sampled_from(_FORMS),
    st.from_regex(r"[A-Za-z0-9_-]{16,30}", fullmatch=True),
    st.sampled_from(("", "session.har: ", "--use csrf=header:X: ", "Error: auth.log:3: ")),
)
def test_no_secret_of_a_known_form_survives(form: str, secret: str, before: str) -> None:
    assert secret not in masked(f"{before}\n{form.format(secret)}")


@pytest.mark.parametrize("name", ["token", "Session_ID", "apikey", "signature", "passwd", "csrfToken", "key", "X-Key"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@given(st.text())
def test_hiding_twice_hides_no_more(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize(
    "piece",
    ["a", "=a", '"a":"', "eyJ", "://", "://a:b", "a:b", " a:b", "a:@", "token ", "%3Fa", "a;", "basic !", " ", '"a" '],
)
def test_the_time_it_takes_is_linear_in_the_text(piece: str) -> None:
    assert is_linear(lambda length: masked(piece * (length // len(piece))), 2_000)


def test_examples_in_messages_are_not_masked() -> None:
    root = Path(logreplay.parsers.__path__[0]).parent
    for path in (path for room in ("parsers", "replay", "analysis", "cli") for path in (root / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "such as " in text else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "such as " in node.value:
                example = node.value[node.value.index("such as ") :]
                assert masked(example) == example, f"{path}:{node.lineno}"
