"""What the tests of requests share."""

from pathlib import Path

import pytest

from support.shaped_replay import written


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A log of ten requests of a shop, two of them writes, one of them not found."""
    return written(
        tmp_path / "shop.csv",
        "GET /old/2026-01-01/list?page=1 200 10.0.0.1 shop.example - Firefox",
        "GET /old/item/1 200 10.0.0.2 shop.example https://shop.example/list Chrome",
        "POST /cart 201 10.0.0.1 shop.example - Firefox 11 a=1&b=2&c=3",
        "GET /old/item/2 404 10.0.0.3 shop.example - Firefox",
        "HEAD /health 200 10.0.0.4 - - probe",
        "GET /api/items?page=2&sort=up 200 10.0.0.2 shop.example - Chrome",
        "PUT /cart/1 200 10.0.0.1 shop.example - Firefox 3 xyz",
        "GET /api/items?sort=up&page=3 200 10.0.0.5 shop.example - Chrome",
        "GET /api/items 304 10.0.0.2 shop.example - Chrome",
        "GET /end 200 10.0.0.1 shop.example - Firefox",
    )
