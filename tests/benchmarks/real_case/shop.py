"""A small shop, as many are written: Flask, templates, PostgreSQL, a start page that is computed now and then.

``gunicorn 'shop:app'`` with the connection string in ``SHOP_DATABASE``. Nobody has tuned it or written down what it
carries: that is what the replay is to find out.
"""

import os
import time

from flask import Flask, abort, redirect, render_template_string, request
from psycopg import Connection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool
from werkzeug.wrappers import Response

PAGE = """<!doctype html><title>{{ title }}</title><link rel=stylesheet href=/static/style.css>
<h1>{{ title }}</h1>
{% for each in products %}<p><a href="/product/{{ each.id }}">{{ each.name }}</a>
  {{ "%.2f"|format(each.price / 100) }} {% if each.stars %}{{ "%.1f"|format(each.stars) }} stars{% endif %}</p>
{% else %}<p>nothing found</p>{% endfor %}
{% for each in reviews %}<blockquote>{{ each.stars }}: {{ each.words }}</blockquote>{% endfor %}"""
START_PAGE_S = 5.0

app = Flask(__name__)
pool: ConnectionPool[Connection[DictRow]] = ConnectionPool(
    os.environ["SHOP_DATABASE"],
    connection_class=Connection[DictRow],
    min_size=4,
    max_size=4,
    kwargs={"row_factory": dict_row},
    open=True,
)
start_page: tuple[float, str] = (0.0, "")


@app.get("/")
def start() -> str:
    """The products that are bought most, computed when the last time is a while ago."""
    global start_page
    made, page = start_page
    if time.monotonic() - made > START_PAGE_S:
        with pool.connection() as database:
            best = database.execute(
                "SELECT product.*, NULL AS stars FROM product JOIN (SELECT product, count(*) AS n FROM purchase"
                " GROUP BY product ORDER BY n DESC LIMIT 20) AS best ON best.product = product.id ORDER BY n DESC"
            ).fetchall()
        page = render_template_string(PAGE, title="The shop", products=best, reviews=())
        start_page = (time.monotonic(), page)
    return page


@app.get("/product/<int:number>")
def product(number: int) -> str:
    """One product and what was said of it."""
    with pool.connection() as database:
        found = database.execute(
            "SELECT product.*, (SELECT avg(stars) FROM review WHERE review.product = product.id) AS stars"
            " FROM product WHERE id = %s",
            (number,),
        ).fetchall()
        reviews = database.execute("SELECT * FROM review WHERE product = %s LIMIT 10", (number,)).fetchall()
    if not found:
        abort(404)
    return render_template_string(PAGE, title=found[0]["name"], products=found, reviews=reviews)


@app.get("/search")
def search() -> str:
    """The slow one: it reads the descriptions of all products."""
    words = request.args.get("q", "")
    with pool.connection() as database:
        found = database.execute(
            "SELECT *, NULL AS stars FROM product WHERE description ILIKE %s ORDER BY price LIMIT 20", (f"%{words}%",)
        ).fetchall()
    return render_template_string(PAGE, title=f"Search: {words}", products=found, reviews=())


@app.post("/buy/<int:number>")
def buy(number: int) -> Response:
    """A purchase."""
    with pool.connection() as database:
        database.execute("INSERT INTO purchase (product) VALUES (%s)", (number,))
    return redirect(f"/product/{number}", 303)
