"""URLs, headers and bodies are redacted in their form; equal values stay equal wherever they stand."""

import json
import re
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.redaction.pseudonyms import Pseudonyms
from logreplay.parsers.redaction.redact import Content, content_type

VALUES = st.text(
    alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='";,\\&%+#'), min_size=9
)


def content() -> Content:
    return Content(Pseudonyms(b"key"))


def header(name: str, value: str) -> str:
    return content().header(name, value)[1]


@settings(max_examples=50)
@given(VALUES)
def test_a_value_is_the_same_in_a_query_a_cookie_a_header_a_form_and_json(value: str) -> None:
    new = content().text(value)
    coded = quote(value, safe="")
    for place in (
        unquote_to_bytes(content().target(f"/a?t={coded}").partition("=")[2]).decode(),
        content().target(f"/a;t={value}?x").partition("=")[2][:-2] if {*"/?"}.isdisjoint(value) else new,
        unquote_to_bytes(content().url(f"https://h/a#{coded}").partition("#")[2]).decode(),
        header("Cookie", f"a=b; t={value}").partition("t=")[2],
        header("Cookie", f'a=b; t="{value}"').partition('t="')[2][:-1],
        header("X-CSRF-Token", value),
        header("Authorization", f"Bearer {value}").partition(" ")[2],
        header("Authorization", f'Digest t="{value}"').partition('t="')[2][:-1],
        unquote_to_bytes(content().body(f"t={coded}&u=1".encode(), "").partition(b"&")[0][2:]).decode(),
        json.loads(content().body(json.dumps({"t": value}).encode(), "application/json"))["t"],
    ):
        assert place == new


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("/a", "/a"),
        ("/a?", r"/a\?"),
        ("/a?x=", r"/a\?x="),
        ("/a?x=1&y=2;z=ab", r"/a\?x=[0-9]&y=[0-9];[a-z]=[a-z]{2}"),
        ("/a?x=a=b?c", r"/a\?x=[a-z]=[a-z]\?[a-z]"),
        ("/a?x=abc#frag", r"/a\?x=(?!abc)[a-z]{3}#(?!frag)[a-z]{4}"),
        ("/a?bob@example.org&x=1", r"/a\?(?!bob)[a-z]{3}@(?!example)[a-z]{7}\.[a-z]{3}&x=[0-9]"),
        ("/a?debugging&wsdl", r"/a\?(?!debug)[a-z]{9}&(?!wsdl)[a-z]{4}"),
        ("/a?c2VjcmV0==", r"/a\?(?!c2)[a-z][0-9][a-z]{5}[0-9]=="),
        ("/a?utm_source=x&filter%5Bname%5D=y", r"/a\?utm_source=[a-z]&filter%5Bname%5D=[a-z]"),
        ("/a;jsessionid=AB12CD;v/b", r"/a;jsessionid=[a-z]{2}[0-9]{2}[a-z]{2};[a-z]/b"),
        ("/a;AB12CD34/b", r"/a;(?!ab12)[a-z]{2}[0-9]{2}[a-z]{2}[0-9]{2}/b"),
        (
            "/users/bob%40example.org/orders/4711",
            r"/users/(?!bob)[a-z]{3}%40[a-z]{7}\.[a-z]{3}/orders/(?!4711)[0-9]{4}",
        ),
        ("/wiki/M%c3%bcnchen", "/wiki/M%c3%bcnchen"),
        ("*", r"\*"),
    ],
)
def test_words_of_paths_and_names_of_fields_stay(target: str, kept: str) -> None:
    assert re.fullmatch(kept, content().target(target))


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), max_size=40))
def test_a_redacted_target_has_the_length_and_the_signs_of_the_original(text: str) -> None:
    done = content().target("/" + text)
    assert len(done) == len(text) + 1
    assert re.sub("[A-Za-z0-9]", "a", done) == re.sub("[A-Za-z0-9]", "a", "/" + text)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://shop.example.org:8443/a?q=me", r"https://shop\.example\.org:8443/a\?q=(?!me)[a-z]{2}"),
        ("https://bob:pw@h/", r"https://(?!bob)[a-z]{3}:[a-z]{2}@h/"),
        ("https://bob:p@w@h/", r"https://[a-z]{3}:[a-z]@[a-z]@h/"),
        ("http://192.0.2.1:8080/a", r"http://10\.[0-9.]+:8080/a"),
        ("http://[2001:db8::1]:80/", r"http://\[fd[0-9a-f:]+\]:80/"),
        ("http://4711abc.tunnel.example/", r"http://(?!4711)[0-9]{4}[a-z]{3}\.[a-z]{6}\.[a-z]{7}/"),
        ("android-app://com.bob/", r"(?!android)[a-z]{7}-[a-z]{3}://[a-z]{3}\.(?!bob)[a-z]{3}/"),
        ("/relative?q=me", r"/relative\?q=(?!me)[a-z]{2}"),
    ],
)
def test_a_referer_keeps_a_host_of_words_without_user_and_password(url: str, kept: str) -> None:
    assert re.fullmatch(kept, content().url(url))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"),
        ("Accept-Language", "de-DE,de;q=0.9"),
        ("sec-ch-ua", '"Chromium";v="120", "Not_A Brand";v="24"'),
        ("Sec-Fetch-Site", "same-origin"),
        ("User-Agent", "curl/8.5.0"),
        ("Range", "bytes=0-1048575, -500"),
        ("If-Modified-Since", "Sat, 21 Nov 2026 08:00:00 GMT"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("Host", "shop.example.org:8080"),
        ("Origin", "https://shop.example.org"),
        ("X-Requested-With", "XMLHttpRequest"),
        ("Upgrade-Insecure-Requests", "1"),
        ("Authorization", "Bearer"),
    ],
)
def test_headers_that_say_nothing_of_a_person_stay(name: str, value: str) -> None:
    assert content().header(name, value) == (name, value)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Cookie", "SECRETBARE; theme=dark", r"(?!secret)[a-z]{10}; theme=(?!dark)[a-z]{4}"),
        ("Cookie", 'p={"email":"bob@h.org"}; a', r'p=\{"(?!email)[a-z]{5}":"(?!bob)[a-z]{3}@[a-z]\.[a-z]{3}"\}; [a-z]'),
        (
            "Authorization",
            'Digest username="Smith, jr", uri="/a"',
            r'Digest username="(?!smi)[a-z]{5}, [a-z]{2}", uri="/[a-z]"',
        ),
        ("Authorization", "Basic Ym9iOnB3==", r"Basic (?!Ym)[a-z]{2}[0-9][a-z]{4}[0-9]=="),
        ("Authorization", "Secret 4711abcd", r"(?!secret)[a-z]{6} (?!4711)[0-9]{4}[a-z]{4}"),
        ("Sec-WebSocket-Protocol", "bearer, 4711abcd", r"(?!bearer)[a-z]{6}, (?!4711)[0-9]{4}[a-z]{4}"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZQ==", "(?!dGhl)[a-z]{14}=="),
        ("X-Forwarded-For", "192.0.2.1, bob.example", r"10\.[0-9.]+, host-[a-z]{8}"),
        ("Accept", "secretive/4711", "(?!secret)[a-z]{9}/(?!4711)[0-9]{4}"),
        ("Range", "bytes=secret", "(?!bytes)[a-z]{5}=(?!secret)[a-z]{6}"),
        ("If-Modified-Since", "secret", "(?!secret)[a-z]{6}"),
        ("Content-Type", "text/plain; boundary=secretly", "text/plain; boundary=(?!secret)[a-z]{8}"),
        ("Host", "bob:pw@h", "(?!bob)[a-z]{3}:[a-z]{2}@[a-z]"),
    ],
)
def test_what_is_not_recognised_in_a_header_is_replaced(name: str, value: str, kept: str) -> None:
    assert re.fullmatch(kept, header(name, value))


def test_a_header_whose_name_is_a_token_is_renamed() -> None:
    assert content().header("X-4711abcd", "1")[0] != "X-4711abcd"


@settings(max_examples=50)
@given(
    st.recursive(
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.booleans(), st.none()),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=8,
    ).map(lambda value: {"a": value}),
    st.booleans(),
)
def test_json_stays_json_of_the_same_form(value: object, ascii: bool) -> None:
    def form(value: object) -> object:
        if isinstance(value, dict):
            return [form(inner) for inner in value.values()]
        return [form(inner) for inner in value] if isinstance(value, list) else type(value)

    text = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "replace")
    done = json.loads(content().body(text, "application/json"))
    assert form(done) == form(json.loads(text))


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ('{"lat":52.5200066}', r'\{"lat":[1-9][0-9]\.(?!5200066)[0-9]{7}\}'),
        ('{"n":-4711, "x":[1e5,0]}', r'\{"n":-(?!4711)[1-9][0-9]{3}, "x":\[[0-9]e5,[0-9]\]\}'),
        ('{"bob@example.org":true}', r'\{"(?!bob)[a-z]{3}@[a-z]{7}\.[a-z]{3}":true\}'),
        ('{"4711":null}', r'\{"(?!4711)[0-9]{4}":null\}'),
        ('{"t":"a\\"b\\u00e9\\n"}', r'\{"t":"[a-z]\\"[a-z]{4}"\}'),
    ],
)
def test_numbers_and_keys_of_json_are_replaced_to_their_last_digit(text: str, like: str) -> None:
    assert re.fullmatch(like, content().body(text.encode(), "application/json").decode())


@settings(max_examples=50)
@given(
    st.binary(max_size=100), st.sampled_from(["", "text/plain", "application/json", "multipart/form-data; boundary=B"])
)
def test_any_body_keeps_its_length_or_is_json(body: bytes, kind: str) -> None:
    done = content().body(body, kind)
    assert len(done) == len(body) or json.loads(done) is not None


def test_a_form_with_files_keeps_its_parts_and_the_boundary_of_the_header() -> None:
    part = (
        b'--Bound4711\r\nContent-Disposition: form-data; name="f"; filename="bob.txt"\r\nX: abcd\r\n\r\nsecret text\r\n'
    )
    body = b"before" + part + part.replace(b"secret", b"public") + b"--Bound4711--\r\nafter"
    done = content().body(body, "multipart/form-data; boundary=Bound4711")
    boundary = header("Content-Type", "multipart/form-data; boundary=Bound4711").partition("boundary=")[2].encode()
    assert len(done) == len(body)
    assert done.count(b'Content-Disposition: form-data; name="f"; filename="') == 2
    assert done.count(b"--" + boundary) == 3
    assert not any(
        word in done for word in (b"bob", b"secret", b"public", b"before", b"after", b"abcd", b"Bound", b"4711")
    )


def test_the_content_type_is_known_by_its_header() -> None:
    assert (
        content_type("Accept: */*\tContent-Type: Multipart/Form-Data; boundary=Ab")
        == "multipart/form-data; boundary=Ab"
    )
