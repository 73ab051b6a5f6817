"""Lines are selected, joined and copied to the byte, however long they are and in however many buffers they lie."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.lines.csv_lines import Lines

LENGTHS = st.sampled_from((0, 1, 100, 255, 256, 257, 511, 512, 4095, 4096, 5000))
TEXTS = st.lists(st.lists(st.tuples(LENGTHS, st.sampled_from("abc")), max_size=5), max_size=80)


def texts_of(lines: Lines, room: int = 0) -> list[bytes]:
    text, places = lines.joined(room)
    return [bytes(text[place + room : place + room + width]) for place, width in zip(places, lines.width, strict=True)]


@given(TEXTS, st.randoms(use_true_random=False), st.sampled_from((0, 27)))
def test_any_lines_of_any_buffers_are_joined_in_any_order(
    buffers: list[list[tuple[int, str]]], order: random.Random, room: int
) -> None:
    texts = [[letter.encode() * length + b"\n" for length, letter in buffer] for buffer in buffers]
    lines = Lines.concat([Lines.split(b"".join(buffer)) for buffer in texts])
    plain = [text for buffer in texts for text in buffer]
    chosen = order.sample(range(len(plain)), order.randint(0, len(plain)))
    taken = lines.take(np.array(chosen, np.intp))
    assert texts_of(lines, room) == plain
    assert texts_of(taken, room) == texts_of(taken.compact()) == [plain[number] for number in chosen]


def test_more_buffers_than_a_byte_can_number_are_joined() -> None:
    texts = [f"{number:04}\n".encode() for number in range(700)]
    lines = Lines.concat([Lines.split(text) for text in texts])
    assert texts_of(lines) == texts
