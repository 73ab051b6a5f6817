"""A shop as many are written: Flask with a signed session cookie, CSRF tokens in its forms, and SQLite.

``gunicorn support.session_shop:app`` with the path of the database in ``SHOP_DATABASE``.
"""

import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from flask import Flask, abort, redirect, render_template_string, request, session
from werkzeug.wrappers import Response

FORM = """<!doctype html><title>{{ title }}</title><h1>{{ title }}</h1>{% for row in rows %}<p>{{ row }}</p>{% endfor %}
<form method=post action="{{ action }}"><input type="hidden" name="csrf_token" value="{{ token }}"><button>go</button>
</form>"""
DATABASE = Path(os.environ["SHOP_DATABASE"])
app = Flask(__name__)
app.secret_key = secrets.token_hex()  # cookies of another instance mean nothing to this one


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(DATABASE, timeout=20)) as opened, opened:
        yield opened


with database() as made:
    made.execute("CREATE TABLE IF NOT EXISTS purchase (user TEXT, product INTEGER)")


def page(title: str, rows: list[str], action: str) -> str:
    token = session.setdefault("csrf", secrets.token_urlsafe(24))
    return render_template_string(FORM, title=title, rows=rows, action=action, token=token)


@app.before_request
def check() -> Response | None:
    """Refuse forms without the session's token, and strangers where a user is needed."""
    if request.method == "POST":
        expected, given = session.get("csrf", ""), request.form.get("csrf_token", "")
        if not expected or not hmac.compare_digest(expected.encode(), given.encode()):
            abort(403)
    if "user" not in session and request.path.startswith(("/account", "/buy", "/orders")):
        return redirect("/login", 302)
    return None


@app.get("/")
def start() -> str:
    return page("The shop", [f"Product {number}" for number in range(20)], "/")


@app.get("/login")
def form() -> str:
    return page("Log in", [], "/login")


@app.post("/login")
def log_in() -> Response:
    user = request.form.get("user", "")
    if request.form.get("password") != f"secret of {user}":
        abort(401)
    session.clear()  # another token, as frameworks do it
    session["user"] = user
    return redirect("/account", 303)


@app.get("/account")
def account() -> str:
    return page(f"Account of {session['user']}", [], "/account")


@app.get("/product/<int:number>")
def product(number: int) -> str:
    if number >= 100:
        abort(404)
    return page(f"Product {number}", ["x" * 2000], f"/buy/{number}")


@app.post("/buy/<int:number>")
def buy(number: int) -> Response:
    with database() as shop:
        shop.execute("INSERT INTO purchase VALUES (?, ?)", (session["user"], number))
    return redirect("/orders", 303)


@app.get("/orders")
def orders() -> str:
    with database() as shop:
        bought = shop.execute("SELECT product FROM purchase WHERE user = ?", (session["user"],)).fetchall()
    return page("Orders", [f"Product {number}" for (number,) in bought], "/orders")
