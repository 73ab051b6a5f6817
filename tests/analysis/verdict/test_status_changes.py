"""Changes of status that a replay causes itself are explained."""

import pytest

from logreplay.analysis.verdict.status_changes import explained


@pytest.mark.parametrize("logged", ["200", "204", "302", "304"])
@pytest.mark.parametrize("replayed", ["401", "403"])
def test_a_replay_that_is_refused_lacks_credentials(logged: str, replayed: str) -> None:
    (note,) = explained([(logged, replayed)])
    text = "the replay has no cookies or passwords; give them with --auth, --header or --cookies"
    assert note == f"{logged} → {replayed}: {text}"


def test_other_known_changes_have_their_cause_and_the_rest_has_none() -> None:
    changes = [("200", "500"), ("304", "200"), ("none", "401"), ("404", "403"), ("206", "200")]
    assert explained(changes) == [
        "304 → 200: the replay sends no validators (If-Modified-Since)",
        "206 → 200: the replay sends no ranges",
    ]
