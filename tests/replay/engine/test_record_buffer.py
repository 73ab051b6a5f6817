"""Records come out as they went in, however many."""

import pytest

from logreplay.replay.engine import open_loop
from logreplay.replay.engine.open_loop import RecordBuffer
from logreplay.replay.senders.contract import FIELDS, RECORD


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
def test_records_come_out_once_in_order(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_loop, "_SIZE", 4 * RECORD.itemsize)
    buffer = RecordBuffer()
    expected = [tuple(range(seq, seq + len(FIELDS))) for seq in range(count)]
    for record in expected:
        buffer.add(*record)
    assert buffer.count == count
    assert buffer.take().tolist() == expected
    assert buffer.take().tolist() == []
    buffer.add(*[7] * len(FIELDS))
    assert buffer.take()["error"].tolist() == [7]
    assert buffer.count == count + 1
