"""Every sentence on a limit, with its figures."""

import pytest

from logreplay.analysis.limit import sentences
from logreplay.analysis.limit.sentences import TargetLimit

OF_ALL = [
    (sentences.workers(4, 3.9, 4.1, 0.016, 250),
     "the target behaves like 4 workers (3.9–4.1) of 16 ms, first come first served",
     "raise the number of workers, threads or connections, or make each faster, and sweep again"),
    (sentences.workers(2.13, 2, 2.3, 0.0213, 100),
     "the target behaves like 2 workers (2.0–2.3) of 20 ms, first come first served; one request alone takes 21.3 ms, "
     "as the client sees it",
     "raise the number of workers, threads or connections, or make each faster, and sweep again"),
    (sentences.workers(2.4, 2.2, 2.6, 0.016, 150),
     "the target behaves like 2.4 workers (2.2–2.6) of 16 ms, first come first served",
     "raise the number of workers, threads or connections, or make each faster, and sweep again"),
    (sentences.sharing(1.98, 1.8, 2.2, 0.01),
     "requests in the target share the equivalent of 2 processors (1.8–2.2); one alone takes 10 ms",
     "add processors, or limit how many requests are worked on at once; more workers do not help"),
    (sentences.slowed(4, 2.1, 1.9, 2.3, 0.01),
     "the target works on 4 requests at a time, and each takes 1.9 times as long when all are busy: together they are "
     "worth 2 (1.9–2.3); one alone takes 10 ms",
     "look at the processors, or at what the workers share; more workers do not help"),
    (sentences.inner(1, 125, 8.1, 0.064, exact=True),
     "requests pass one at a time through a part inside the target, at most 125/s, and 8 are in the target when it is "
     "just busy; one alone takes 64 ms",
     "look for a lock, a pool of one, or a single connection; more workers do not help"),
    (sentences.inner(3, 125, 8.1, 0.064, exact=False),
     "requests pass 1 to 3 at a time through a part inside the target, at most 125/s, and 8 are in the target when it "
     "is just busy; one alone takes 64 ms",
     "look for a lock or a small pool; more workers do not help"),
    (sentences.rate_limit(200.2, 0.001, 0.01),
     "the target has a limit of 200.2/s: it refuses requests above it in 1 ms",
     "look for the limit that is configured: the target may carry more without it"),
    (sentences.refuses(12, 12, 12, 0.001, 0.02),
     "the target refuses requests beyond 12 at once (12–12), in 1 ms",
     "raise this number, or that of the workers behind it, or make each request faster"),
    (sentences.paced(100.04, 0.0001),
     "one request alone takes 100 µs, and only 100/s pass: the target delays what comes faster",
     "look for a limit of 100/s that is configured"),
    (sentences.retrograde(200, 60),
     "throughput falls with the backlog: the target carries 200/s, and 60/s under overload",
     "limit how many requests it lets in at once, and look for contention"),
    (sentences.pauses(4, 0.3, 3.02, 0.11),
     "the target pauses: nothing is answered in 4 spells of 300 ms, one every 3 s, 11 % of the time",
     "look for garbage collection, or for what else stops the whole process"),
    (sentences.batch(10.2, 0.05),
     "responses leave in batches of about 10; one request alone takes 50 ms",
     "look for the size of a batch, or for a timer that writes responses"),
    (sentences.split(4.04, 3.8, 4.3, 0.02, 200),
     "the target behaves like 4 workers (3.8–4.3) of 20 ms, each with a queue of its own",
     "look at how requests are spread: one queue for all keeps no worker idle while requests wait"),
    (sentences.route("/db", None),
     "only route /db slows down; the others do not", "look at what /db alone uses, such as a pool of its own"),
    (sentences.route("/db", sentences.workers(3, 2.8, 3.2, 0.025, 120)),
     "only route /db slows down, the others do not: it behaves like 3 workers (2.8–3.2) of 25 ms, first come first "
     "served", "look at what /db alone uses, such as a pool of its own"),
    (sentences.cannot_tell("the rows fit 4 workers and a lock alike", "the processors", "the pools"),
     "the cause of the limit cannot be told: the rows fit 4 workers and a lock alike",
     "--watch decides: watch the processors and the pools"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "text", "advice"), OF_ALL, ids=lambda each: getattr(each, "kind", None))
def test_a_sentence_says_the_figures_and_what_to_do(found: TargetLimit, text: str, advice: str) -> None:
    assert found.text == text
    assert found.advice == advice
    assert found.sentence == f"{text}; {advice}"


def test_each_kind_has_a_sentence() -> None:
    kinds = {found.kind for found, _, _ in OF_ALL}
    assert kinds == {
        *("workers", "sharing", "slowed", "inner", "rate_limit", "refuses", "paced", "route", "pauses", "batch"),
        *("retrograde", "split", None),
    }


def test_the_name_of_a_route_hides_secrets_and_steers_no_terminal() -> None:
    found = sentences.route("/db\x1b[2J?token=hunter2", None)
    assert found.text == "only route /db?[2J?token=*** slows down; the others do not"
    assert "hunter2" not in found.advice


def test_a_limit_of_a_route_has_the_number_of_the_route() -> None:
    found = sentences.route("/db", sentences.workers(3, 2.8, 3.2, 0.025, 120))
    assert (found.kind, found.at_once, found.low, found.high, found.service_s) == ("route", 3, 2.8, 3.2, 0.025)


def test_a_large_number_has_a_range_without_decimals() -> None:
    assert sentences.span(110.2, 131.7) == "110–132"
    assert sentences.count(120.4) == "120"
