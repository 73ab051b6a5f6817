"""Headers and bodies are redacted in their form; equal tokens stay equal wherever they stand."""

import json
from urllib.parse import quote, unquote_to_bytes

from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.redaction.content import content_type
from logreplay.parsers.redaction.redact import Redactor

TOKENS = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='";,\\&%+'), min_size=9)


@settings(max_examples=50)
@given(TOKENS)
def test_a_token_is_the_same_in_a_query_a_cookie_a_header_a_form_and_json(token: str) -> None:
    redactor = Redactor(b"key")
    new = redactor.same_shape(token)
    coded = quote(token, safe="")
    for place in (
        unquote_to_bytes(redactor.target(f"/a?t={coded}").partition("=")[2]).decode(),
        redactor.headers(f"Cookie: a=b; t={token}").rpartition("=")[2],
        redactor.headers(f"X-CSRF-Token: {token}").partition(": ")[2],
        redactor.headers(f"Authorization: Bearer {token}").rpartition(" ")[2] if "=" not in token else new,
        unquote_to_bytes(redactor.content.body(f"t={coded}&u=1".encode(), "").partition(b"&")[0][2:]).decode(),
        json.loads(redactor.content.body(json.dumps({"t": token}).encode(), "application/json"))["t"],
    ):
        assert place == new


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text(max_size=5),
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.booleans(), st.none()),
    )
)
def test_json_stays_json_with_its_keys_and_types(value: dict[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    kinds = {key: type(one) for key, one in json.loads(text).items()}
    done = json.loads(Redactor(b"key").content.body(text, "application/json"))
    assert {key: type(one) for key, one in done.items()} == kinds


@settings(max_examples=50)
@given(
    st.binary(max_size=100), st.sampled_from(["", "text/plain", "application/json", "multipart/form-data; boundary=B"])
)
def test_any_body_keeps_its_length_or_is_json(body: bytes, kind: str) -> None:
    done = Redactor(b"key").content.body(body, kind)
    assert len(done) == len(body) or json.loads(done) is not None


def test_a_form_with_files_keeps_its_parts() -> None:
    part = b'--B\r\nContent-Disposition: form-data; name="f"; filename="bob.txt"\r\n\r\nsecret text\r\n'
    body = part + part.replace(b"secret", b"public") + b"--B--\r\n"
    done = Redactor(b"key").content.body(body, "multipart/form-data; boundary=B")
    assert len(done) == len(body)
    assert done.count(b'Content-Disposition: form-data; name="f"; filename="') == 2
    assert not any(word in done for word in (b"bob", b"secret", b"public"))


def test_headers_that_say_nothing_of_a_person_stay() -> None:
    text = 'Accept: */*\tsec-ch-ua: "x"\tUser-Agent: curl\tContent-Type: Multipart/Form-Data; boundary=Ab'
    assert Redactor(b"key").headers(text) == text
    assert content_type(text) == "multipart/form-data; boundary=Ab"
