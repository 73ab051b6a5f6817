"""Whatever column and form a secret stands in, nothing of it is left; the log replays as before."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlencode

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from logreplay.analysis.input.routes import Routes
from logreplay.core.bodies import REF, StoredBodies, beside, named
from logreplay.core.headers import HEADERS
from logreplay.core.record import CORE_COLUMNS, ERRORS, SCHEMA
from logreplay.core.rows import scan
from logreplay.parsers.captures.capture import PAYLOAD
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.redaction.redact import Redactor
from logreplay.parsers.redaction.words import VOCABULARY

PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
SECRETS = st.text(st.one_of(PRINTABLE, st.sampled_from("aeiou01234@;=&/ é")), min_size=4, max_size=40)
MIXED = st.from_regex(r"[g-zG-Z]{1,8}[0-9]{1,6}[g-zG-Z]{1,8}[-_.@:=~]?[A-Za-z0-9]{0,9}", fullmatch=True)
"""Tokens: letters and digits in one run, which is neither a word nor a hash."""
KEPT = VOCABULARY | {
    *ERRORS,
    *("example", "host", "user", "http", "mozilla", "content", "filename", "digest", "bearer", "form", "cookie"),
    *("forwarded", "modified", "since", "protocol", "2026"),
}
"""Words that may stay, or that the places below, or the date of the row, have."""


def tokens(text: str) -> set[str]:
    return {token.lower() for token in re.findall(r"[A-Za-z0-9]{4,}", text)}


def without(*signs: str) -> Callable[[str], str]:
    """The secret without signs that end a value in a place."""
    return lambda secret: re.sub(f"[{re.escape(''.join(signs))}]", "", secret)


def row(**values: object) -> pl.DataFrame:
    core = dict(zip(CORE_COLUMNS, ("2026-11-20", "10:00:00", 0.1, 0.0, 0.0, 3, "/a", 200, "GET"), strict=True))
    every = {**core, **values}
    schema: dict[str, type[pl.DataType]] = {
        name: pl.Binary if name == PAYLOAD else SCHEMA.get(name, pl.String) for name in every
    }
    return pl.DataFrame([every], schema=schema, orient="row")


def url(secret: str) -> str:
    return quote(secret, safe="")


def body(text: str, kind: str) -> pl.DataFrame:
    return row(**{HEADERS: f"Content-Type: {kind}", PAYLOAD: text.encode()})


no_tab = without("\t")
PLACES: dict[str, Callable[[str], pl.DataFrame]] = {
    "query": lambda s: row(url=f"/a?x=1&q={url(s)}"),
    "query, not encoded": lambda s: row(url="/a?q=" + without("&", "#", " ", "é")(s)),
    "query, behind a semicolon": lambda s: row(url=f"/a?q=1;{url(s)}"),
    "query, bare": lambda s: row(url=f"/a?{url(s)}"),
    "query, bare, beside another": lambda s: row(url=f"/a?{url(s)}&x=1"),
    "path parameter": lambda s: row(url=f"/a;jsessionid={url(s)}/b"),
    "path parameter, bare": lambda s: row(url=f"/a;{url(s)}"),
    "fragment": lambda s: row(url=f"/a?x#{url(s)}"),
    "method": lambda s: row(op=s),
    "protocol": lambda s: row(protocol=s),
    "scheme": lambda s: row(scheme=s),
    "error": lambda s: row(error=s),
    "client": lambda s: row(client=s),
    "user": lambda s: row(user=s),
    "agent": lambda s: row(agent=f"Mozilla/5.0 ({s})"),
    "referer, user": lambda s: row(referer=f"https://{url(s)}:x@h/"),
    "referer, password": lambda s: row(referer="https://b:" + without("/", "?", "#", " ")(s) + "@h/"),
    "referer, query": lambda s: row(referer=f"https://h/?x={url(s)}"),
    "referer, fragment": lambda s: row(referer=f"https://h/#{url(s)}"),
    "referer, no url": lambda s: row(referer=f"x-app:{s}"),
    "extra column": lambda s: row(remark=s),
    "digest": lambda s: row(digest=s),
    "body as text": lambda s: row(body=without("=")(s)),
    "cookie": lambda s: row(headers="Cookie: a=b; t=" + without(";")(s)),
    "cookie, quoted": lambda s: row(headers=f'Cookie: t="{url(s)}"'),
    "cookie, bare": lambda s: row(headers="Cookie: " + without(";", "=")(s) + "; a=b"),
    "cookie, JSON": lambda s: row(headers="Cookie: p=" + json.dumps({"e": without(";")(s)})),
    "bearer": lambda s: row(headers=f"Authorization: Bearer {s}"),
    "credentials of an unknown scheme": lambda s: row(headers=f"Authorization: {s} x"),
    "digest, user": lambda s: row(headers=f'Authorization: Digest username="{without("=")(s)}, jr", realm="x"'),
    "unknown header": lambda s: row(headers=f"X-Y: {s}"),
    "header about formats": lambda s: row(headers=f"Accept: {s}"),
    "websocket protocol": lambda s: row(headers=f"Sec-WebSocket-Protocol: bearer, {s}"),
    "forwarded": lambda s: row(headers=f"Forwarded: for={s};proto=http"),
    "forwarded for": lambda s: row(headers=f"X-Forwarded-For: {s}, 192.0.2.1"),
    "date": lambda s: row(headers=f"If-Modified-Since: {s}"),
    "range": lambda s: row(headers=f"Range: bytes=x{s}"),
    "boundary": lambda s: row(headers=f"Content-Type: multipart/form-data; boundary={s}"),
    "form": lambda s: body(urlencode({"a": "b", "q": s}), "application/x-www-form-urlencoded"),
    "form, behind a semicolon": lambda s: body("q=1;" + url(s), "application/x-www-form-urlencoded"),
    "JSON value": lambda s: body(json.dumps({"a": [{"b": s}]}), "application/json"),
    "JSON value, not escaped": lambda s: body(json.dumps([s], ensure_ascii=False), "application/json"),
    "JSON without a type": lambda s: row(**{PAYLOAD: json.dumps({"a": s}).encode()}),
    "damaged JSON": lambda s: body(f'{{"a": "{s}"', "application/json"),
    "XML": lambda s: body(f"<a b='{s}'>{s}</a>", "text/xml"),
    "no type": lambda s: row(**{PAYLOAD: without("=")(s).encode()}),
    "part of a form": lambda s: body(
        f'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n{s}\r\n--B--', "multipart/form-data; boundary=B"
    ),
    "name of a file": lambda s: body(
        f'--B\r\nContent-Disposition: form-data; name="a"; filename="{without(";")(s)}"\r\n\r\nx\r\n--B--',
        "multipart/form-data; boundary=B",
    ),
    "header of a part": lambda s: body(
        f"--B\r\nX: {s}\r\n\r\nx\r\n--B\r\n{without('=', ';', ':')(s)}\r\n\r\nx\r\n--B--",
        "multipart/form-data; boundary=B",
    ),
    "around the parts": lambda s: body(f"{s}--B\r\n\r\n\r\nx\r\n--B--{s}", "multipart/form-data; boundary=B"),
}
OF_TOKENS: dict[str, Callable[[str], pl.DataFrame]] = {
    "segment of a path": lambda s: row(url=f"/a/{url(s)}/b"),
    "segment of a path, beside a word": lambda s: row(url=f"/a/reset-{url(s)}"),
    "file": lambda s: row(url=f"/a/{url(s)}.html"),
    "host": lambda s: row(host=f"{s}x.example"),
    "referer, host": lambda s: row(referer="https://" + without("@", ":")(s) + "4711x.example/"),
    "referer, path": lambda s: row(referer=f"https://h/{url(s)}"),
    "name in a query": lambda s: row(url=f"/a?{url(s)}4711x=1"),
    "name of a cookie": lambda s: row(headers="Cookie: " + without("=")(s) + "4711x=1"),
    "name of a header": lambda s: row(headers="X-" + without("@", ":", "=")(s) + "4711x: 1"),
    "key of JSON": lambda s: body(json.dumps({s + "4711x": 1}), "application/json"),
}


def left(secret: str, made: pl.DataFrame) -> set[str]:
    """Tokens of the secret in both of two redactions: by chance they are in one."""
    found = [Redactor(key).rows(made) for key in (b"one", b"two")]
    texts = [" ".join(str(value) for value in each.row(0)) for each in found]
    assert all(each.height == 1 for each in found)
    return tokens(secret) & tokens(texts[0]) & tokens(texts[1])


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=25, deadline=None)
@given(SECRETS)
def test_nothing_of_a_secret_is_left(place: str, secret: str) -> None:
    assume(tokens(secret).isdisjoint(KEPT))
    secret = secret.replace("\n", " ")
    assert left(secret, PLACES[place](secret)) == set()


@pytest.mark.parametrize("place", OF_TOKENS)
@settings(max_examples=25, deadline=None)
@given(MIXED)
def test_nothing_of_a_token_is_left_where_words_stay(place: str, secret: str) -> None:
    assert left(secret, OF_TOKENS[place](secret)) == set()


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA, "user", "remark"]), SECRETS, min_size=1))
def test_every_column_of_text_has_its_rule_and_numbers_stay(values: dict[str, str]) -> None:
    texts = {name: text for name, text in values.items() if SCHEMA.get(name, pl.String) == pl.String}
    for name in ("url", "referer", "host", "headers", "body"):  # names and words stay there
        texts.pop(name, None)
    texts.pop("body_ref", None)
    assume(all(tokens(text).isdisjoint(KEPT) for text in texts.values()))
    made = row(**texts)
    one, two = (Redactor(key).rows(made) for key in (b"one", b"two"))
    assert one.schema == two.schema == made.schema
    for name, text in texts.items():
        both = tokens(str(one[name][0])) & tokens(str(two[name][0]))
        assert not tokens(text) & both
    numbers = [name for name, kind in made.schema.items() if kind.is_numeric()]
    assert one.select(numbers).equals(made.select(numbers))


def test_equal_values_get_equal_pseudonyms_wherever_they_stand() -> None:
    made = row(
        url="/a?t=bob@example.org",
        referer="https://h/?t=bob%40example.org",
        remark="bob@example.org",
        headers='Cookie: t="bob@example.org"\tAuthorization: Bearer bob@example.org',
    )
    done = Redactor(b"key").rows(made)
    new = done["remark"][0]
    assert re.fullmatch(r"(?!bob)[a-z]{3}@[a-z]{7}\.[a-z]{3}", new)
    assert done["url"][0] == f"/a?t={new}"
    assert done["referer"][0] == "https://h/?t=" + new.replace("@", "%40")
    assert done["headers"][0] == f'Cookie: t="{new}"\tAuthorization: Bearer {new}'


def test_a_user_and_a_client_get_names_and_addresses_of_their_kind() -> None:
    rows = pl.DataFrame(
        {"client": ["192.0.2.1", "192.0.2.1", "2001:db8::1", "pc.example.com"], "user": ["bob", "bob", None, "-"]}
    )
    done = Redactor().rows(rows)
    assert done["client"][0] == done["client"][1]
    assert re.fullmatch(r"10\.[0-9.]+", done["client"][0])
    assert re.fullmatch(r"host-[a-z]{8}", done["client"][3])
    assert done["user"].to_list() == [done["user"][0], done["user"][0], None, "-"]
    assert re.fullmatch("user-[a-z]{8}", done["user"][0])


def test_a_column_that_is_not_there_is_not_made_and_nothing_stays_nothing() -> None:
    rows = pl.DataFrame({"url": ["/a?b=cdefghij"], "user": pl.Series([None], dtype=pl.String), "rc": [200]})
    done = Redactor(b"key").rows(rows)
    assert done.columns == rows.columns
    assert done["user"].to_list() == [None]
    assert done["rc"].to_list() == [200]
    assert Redactor(b"key").rows(rows.clear()).height == 0


@pytest.mark.parametrize("column", [name for name, kind in SCHEMA.items() if kind == pl.String and name != REF])
def test_letters_whose_bytes_look_like_blanks_are_redacted(column: str) -> None:
    """Bytes 85 and A0 are blanks of Latin-1, and parts of letters in UTF-8."""
    value = "Voil\u00e0/1.0 \u00c5/\u00e0 x\u2026, \u00e0"
    titles = ("Via", "X-Forwarded-For", "Cookie", "Referer", "Host", "Authorization", "X")
    text = "\t".join(f"{title}: {value}" for title in titles) if column == HEADERS else value
    new = Redactor(b"k" * 32).rows(pl.DataFrame({column: [text]}))[column][0]
    assert new != text
    assert "\u2026" not in new


def test_headers_of_any_length_are_redacted() -> None:
    long = "Cookie: t=" + "é" * 70_000
    assert len(Redactor(b"key").rows(row(headers=long))["headers"][0]) > 70_000


SECRET = "s3cr3tTok3n"
REFERER = f"https://h/?t={SECRET}"
STAMP = "20/Nov/2026:10:00:00 +0000"
AGENT = f"Mozilla/5.0 {SECRET}"
HAR = {
    "startedDateTime": "2026-11-20T10:00:00Z",
    "time": 5,
    "request": {
        "method": "POST",
        "url": f"https://h/a?t={SECRET}",
        "httpVersion": "HTTP/1.1",
        "headers": [{"name": "Cookie", "value": SECRET}, {"name": "Content-Type", "value": "application/json"}],
        "postData": {"mimeType": "application/json", "text": json.dumps({"p": SECRET})},
    },
    "response": {"status": 200, "content": {"size": 3}},
    "timings": {"wait": 5},
}
INPUTS: dict[str, str] = {
    "combined": f'192.0.2.1 - {SECRET} [{STAMP}] "GET /a?t={SECRET} HTTP/1.1" 200 3 "{REFERER}" "{AGENT}"\n',
    "JSON": json.dumps(
        {
            "time_iso8601": "2026-11-20T10:00:00+00:00",
            "remote_addr": "192.0.2.1",
            "request": f"POST /a;jsessionid={SECRET}?{SECRET} HTTP/1.1",
            "status": "200",
            "http_cookie": f"{SECRET}; a=b",
            "http_user_agent": AGENT,
            "http_referer": f"https://b:{SECRET}@h/",
            "request_body": f"p={SECRET}",
        }
    )
    + "\n",
    "LTSV": f"time:[{STAMP}]\tmethod:GET\turi:/a?t={SECRET}\tstatus:200\tua:{AGENT}\treferer:{SECRET}\tuser:{SECRET}\n",
    "W3C": "#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) cs(Cookie) cs-username\n"
    f"2026-11-20 10:00:00 GET /a t={SECRET} 200 {SECRET} {SECRET} {SECRET}\n",
    "HAR": json.dumps({"log": {"version": "1.2", "entries": [HAR]}}),
    "GoReplay": f"1 a1 1795168800250000000 0\nPOST /a?{SECRET} HTTP/1.1\r\nCookie: {SECRET}\r\nX: {SECRET}\r\n"
    f"Content-Length: {len(SECRET)}\r\n\r\n{SECRET}\n\U0001f435\U0001f648\U0001f649\n",
    "normalized CSV": ",".join([*CORE_COLUMNS, "client", "user", "error", "remark", "headers", "body"])
    + f"\n2026-11-20,10:00:00,0.1,0,0,3,/a?t={SECRET},200,GET,{4 * (SECRET + ',')}X: {SECRET},{SECRET}\n",
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("ending", ["csv", "parquet", "har", "gor"])
def test_no_format_of_input_or_output_carries_a_secret(tmp_path: Path, name: str, ending: str) -> None:
    log, out = tmp_path / "access.log", tmp_path / f"out.{ending}"
    log.write_text(INPUTS[name], encoding="utf-8")
    assert SECRET in log.read_text()
    report = convert([log], out, ConvertOptions(redact=True))
    assert report.converted == 1
    texts = [out.read_bytes()]
    if ending == "parquet":
        rows = scan(out).collect()
        texts = [str(rows.to_dicts()).encode()]
        if report.bodies:
            with StoredBodies() as reader:
                refs = rows.select(named(pl.col("body_ref"), str(out)))["literal"]
                texts += [value for value in reader.load(refs) if value]
            assert Path(report.bodies) == Path(beside(str(out)))
            assert len(texts) == 2
    assert not any(SECRET.lower().encode() in text.lower() for text in texts)


LOGS = Path(__file__).parents[3] / "sample_logs"
SHARED = Path(__file__).parents[3].parent / "shared" / "logs"


@pytest.mark.parametrize("log", [*sorted(LOGS.glob("*.log")), *sorted(SHARED.glob("nginx*"))], ids=lambda log: log.name)
def test_a_redacted_log_has_the_rows_and_the_routes_of_the_original(tmp_path: Path, log: Path) -> None:
    for name, redact in (("plain", False), ("redacted", True)):
        convert([log], tmp_path / f"{name}.csv", ConvertOptions(redact=redact))
    plain, redacted = (scan(tmp_path / f"{name}.csv").collect() for name in ("plain", "redacted"))
    same = ["date", "time", "latency", "xfertime", "bytes", "rc"]
    assert plain.select(same).equals(redacted.select(same))
    assert plain["url"].n_unique() == redacted["url"].n_unique()
    routes, new = Routes().of(plain["url"]), Routes().of(redacted["url"])
    assert len(set(zip(routes, new, strict=True))) <= len(set(routes)) * 1.02 + 1
