import pytest

from logreplay.replay.schedules.orders import Level, Order, parse_order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("raise 20%", Order("raise 20%", "raise", 0.2)),
        ("  lower   2.5% ", Order("lower 2.5%", "lower", 0.025)),
        ("rate 150", Order("rate 150", "rate", 150.0)),
        ("speed 0.5", Order("speed 0.5", "speed", 0.5)),
        ("pause", Order("pause", "pause")),
    ],
)
def test_an_order_is_read_as_people_write_it(text: str, order: Order) -> None:
    assert parse_order(text) == order


@pytest.mark.parametrize(
    "text", ["", "raise", "raise 20", "raise -20%", "rate nan", "rate 1e9", "RAISE 20%", "stop", "pause 3", "x" * 10**6]
)
def test_any_other_text_is_refused_with_the_words_that_are_expected(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected raise 20%, lower 20%, rate 150") as refused:
        parse_order(text)
    assert len(str(refused.value)) < 150


def test_a_load_says_what_it_is() -> None:
    assert [str(each) for each in (Level("rate", 120), Level("speed", 1.5), Level("rate", 3, paused=True))] == [
        "120 requests/s",
        "speed 1.5",
        "paused",
    ]
