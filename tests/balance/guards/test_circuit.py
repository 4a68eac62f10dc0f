"""The circuit breaker of each backend: when it opens, for how long, how many calls try it, and when it closes."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.balance.guards.base import codes_of, split
from lbctl.balance.guards.circuit import CircuitBreakers, CircuitOptions
from lbctl.balance.policies.options import parse
from lbctl.errors import UsageError
from lbctl.model import Code
from tests.balance.guards.ward import SECOND, Ward


def ward(keys: str = "ABC", **values: object) -> Ward:
    chosen = CircuitOptions(**values)  # type: ignore[arg-type]
    return Ward(keys, lambda balancer: [CircuitBreakers(chosen, balancer, Random(7))])


def test_only_failures_in_a_row_open_it() -> None:
    one = ward(failures=3)
    for _ in range(5):
        one.fail("A", 2)
        one.ok("A")
    assert one.inside == "ABC"
    one.fail("A", 3)
    assert one.inside == "BC"
    assert one.events("breaker") == ["A: breaker open for 10s: 3 failures in a row, last UNAVAILABLE"]


def test_too_few_successes_in_the_window_open_it() -> None:
    """Finagle's: below 80 % of at least 5 calls within 30 s."""
    one = ward(failures=100, success_rate=80.0)
    one.ok("A", 8)
    one.fail("A", 2)
    assert one.inside == "ABC"  # 80 % is enough
    one.fail("A")
    assert one.inside == "BC"
    assert one.events("breaker") == ["A: breaker open for 10s: 8 of 11 calls succeeded in 30s, last UNAVAILABLE"]


def test_of_few_calls_the_successes_do_not_matter() -> None:
    one = ward(failures=100, success_rate=80.0)
    one.fail("A", 4)
    assert one.inside == "ABC"
    one.fail("A", code=Code.NOT_FOUND)  # a success, but the fifth call
    assert one.inside == "BC"


def test_calls_before_the_window_are_forgotten() -> None:
    one = ward(failures=100, success_rate=50.0, window=30)
    one.ok("A", 100)
    one.pass_(30)
    one.fail("A", 4)
    assert one.inside == "ABC"
    one.fail("A")
    assert one.inside == "BC"


def test_after_it_was_closed_successes_are_counted_anew() -> None:
    one = ward(failures=100, success_rate=80.0, open_time=1, window=1000)
    one.ok("A", 10)
    one.fail("A", 3)
    assert one.inside == "BC"
    one.pass_(1)
    one.ok("A", trial_ns=one.now_ns)
    assert one.inside == "ABC"
    one.fail("A", 4)
    assert one.inside == "ABC"  # 4 calls
    one.fail("A")
    assert one.inside == "BC"


def test_a_code_that_says_nothing_against_the_server_counts_as_a_success() -> None:
    one = ward(failures=2)
    one.fail("A")
    one.fail("A", code=Code.NOT_FOUND)
    one.fail("A")
    assert one.inside == "ABC"
    one.fail("A", code=Code.RESOURCE_EXHAUSTED)
    assert one.inside == "BC"


def test_the_codes_that_count_can_be_chosen() -> None:
    one = ward(failures=1, codes="NOT_FOUND+aborted")
    one.fail("A")
    assert one.inside == "ABC"
    one.fail("A", code=Code.ABORTED)
    one.fail("B", code=Code.NOT_FOUND)
    assert one.inside == "C"


def test_it_is_open_for_exactly_its_time_and_then_tries_exactly_so_many_calls() -> None:
    one = ward(failures=1, open_time=2, probes=3)
    one.fail("A")
    one.pass_(1.999_999_999)
    assert (one.inside, one.trials()) == ("BC", "")
    one.pass_(0.000_000_001)
    assert (one.inside, one.trials()) == ("BC", "AAA")
    assert one.events("breaker")[1:] == ["A: breaker half-open: 3 calls to try"]
    one.pass_(100)
    assert one.trials() == "AAA"  # no more than these, however long it takes


def test_it_closes_when_all_probes_have_succeeded() -> None:
    one = ward(failures=1, open_time=2, probes=3)
    one.fail("A")
    one.pass_(2)
    one.balancer.trials.clear()  # sent
    one.ok("A", 2, trial_ns=one.now_ns)
    assert one.inside == "BC"
    one.ok("A", trial_ns=one.now_ns)
    assert one.inside == "ABC"
    assert one.events("breaker")[-1] == "A: breaker closed"
    assert one.guards[0].counts(one.peer("A")) == {"trips": 1}


def test_one_failed_probe_opens_it_again_and_calls_the_others_off() -> None:
    one = ward(failures=1, open_time=2, probes=3)
    one.fail("A")
    one.pass_(2)
    one.balancer.trials.popleft()
    one.fail("A", trial_ns=one.now_ns)
    assert (one.inside, one.trials()) == ("BC", "")
    assert one.guards[0].counts(one.peer("A")) == {"trips": 2}


def test_only_probes_count_while_it_is_half_open() -> None:
    one = ward(failures=1, open_time=2)
    one.fail("A")
    earlier = one.now_ns
    one.pass_(2)
    one.ok("A", 5)  # calls that were under way before
    one.fail("A", 5)
    one.ok("A", trial_ns=earlier)  # a probe of an earlier time
    assert one.inside == "BC"
    one.ok("A", trial_ns=one.now_ns)
    assert one.inside == "ABC"


def test_nothing_counts_while_it_is_open() -> None:
    one = ward(failures=1, open_time=2)
    one.fail("A")
    one.ok("A", 50)
    one.fail("A", 50)
    one.pass_(2)
    assert one.trials() == "A"
    assert one.guards[0].counts(one.peer("A")) == {"trips": 1}


def test_a_probe_that_told_nothing_is_made_again_while_it_is_half_open() -> None:
    one = ward(failures=1, open_time=2)
    one.fail("A")
    one.pass_(2)
    since = one.now_ns
    one.balancer.trials.clear()
    one.balancer.untried(one.peer("A"), since)
    assert one.trials() == "A"
    one.balancer.trials.clear()
    one.fail("A", trial_ns=since)
    one.balancer.untried(one.peer("A"), since)
    assert one.trials() == ""


def test_each_time_it_does_not_recover_it_is_open_longer_up_to_a_limit() -> None:
    one = ward(failures=1, open_time=1, backoff=2, max_open_time=5)
    one.fail("A")
    for seconds in (1, 2, 4, 5, 5):
        one.pass_(seconds - 0.001)
        assert one.trials() == ""
        one.pass_(0.001)
        assert one.trials() == "A"
        one.balancer.trials.clear()
        one.fail("A", trial_ns=one.now_ns)
    one.pass_(5)
    one.balancer.trials.clear()
    one.ok("A", trial_ns=one.now_ns)
    one.fail("A")
    assert one.events("breaker")[-1].startswith("A: breaker open for 1s")


def test_a_thousand_times_open_is_no_overflow() -> None:
    one = ward(failures=1, open_time=1, backoff=100, max_open_time=2)
    one.fail("A")
    for _ in range(1100):
        one.pass_(2)
        one.balancer.trials.clear()
        one.fail("A", trial_ns=one.now_ns)
    assert one.guards[0].counts(one.peer("A")) == {"trips": 1101}


def test_chance_makes_the_time_longer_never_shorter() -> None:
    one = ward("ABCDEFGH", failures=1, open_time=10, jitter=0.5)
    for key in "ABCDEFGH":
        one.fail(key)
    times = [float(text.split()[4].rstrip("s:")) for text in one.events("breaker")]
    assert all(10 <= time <= 15 for time in times)
    assert len(set(times)) > 4


def test_a_backend_that_left_comes_back_closed_and_keeps_its_count() -> None:
    one = ward(failures=1, open_time=1)
    one.fail("A")
    one.pass_(1)
    listed = [peer.instance for peer in one.balancer.peers.values()]
    one.set(*listed[1:])
    assert one.trials() == ""
    one.set(*listed)
    assert one.inside == "ABC"
    assert one.guards[0].counts(one.peer("A")) == {"trips": 1}


class Machine:
    """The three states, written down plainly."""

    def __init__(self, failures: int, probes: int, lasts: int) -> None:
        self.failures, self.probes, self.lasts_ns = failures, probes, lasts * SECOND
        self.state, self.row, self.good, self.until_ns, self.since_ns = "closed", 0, 0, 0, 0

    def call(self, *, good: bool, now_ns: int) -> None:
        if self.state == "closed":
            self.row = 0 if good else self.row + 1
            if self.row == self.failures:
                self.open(now_ns)

    def probe(self, *, good: bool, now_ns: int) -> None:
        self.good += good
        if not good:
            self.open(now_ns)
        elif self.good == self.probes:
            self.state, self.row = "closed", 0

    def open(self, now_ns: int) -> None:
        self.state, self.until_ns = "open", now_ns + self.lasts_ns

    def time(self, now_ns: int) -> bool:
        """Whether probes begin."""
        if self.state != "open" or now_ns < self.until_ns:
            return False
        self.state, self.good, self.since_ns = "half-open", 0, now_ns
        return True


@pytest.mark.slow
def test_it_agrees_with_a_plain_machine_of_three_states() -> None:
    rng = Random(5)
    for _ in range(300):
        failures, probes, lasts = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 5)
        one, machine = ward("AB", failures=failures, probes=probes, open_time=lasts), Machine(failures, probes, lasts)
        for _ in range(60):
            _step(one, machine, rng)
            assert ("A" in one.inside) == (machine.state == "closed")


def _step(one: Ward, machine: Machine, rng: Random) -> None:
    event, good = rng.choice(("call", "call", "call", "probe", "time")), rng.random() < 0.4
    if event == "time":
        one.pass_(1)
        if machine.time(one.now_ns):
            assert one.trials() == "A" * machine.probes
            one.balancer.trials.clear()
    elif event == "call":
        (one.ok if good else one.fail)("A")
        machine.call(good=good, now_ns=one.now_ns)
    elif machine.state == "half-open":
        if good:
            one.ok("A", trial_ns=machine.since_ns)
        else:
            one.fail("A", trial_ns=machine.since_ns)
        machine.probe(good=good, now_ns=one.now_ns)


def test_codes_are_joined_by_a_plus() -> None:
    assert codes_of("unavailable+INTERNAL") == {Code.UNAVAILABLE, Code.INTERNAL}
    for text in ("", "OK", "BROKEN", "INTERNAL+"):
        with pytest.raises(ValueError, match="not a status code"):
            codes_of(text)
    with pytest.raises(UsageError, match="'BROKEN' is not a status code"):
        parse("--breaker consecutive", CircuitOptions(), {"codes": "BROKEN"})


def test_what_is_typed_after_a_flag() -> None:
    assert split("--x", "on") == {}
    assert split("--x", "") == {}
    assert split("--x", "a=1, b=2") == {"a": "1", "b": "2"}
    assert split("--x", "5,a=1", "size") == {"size": "5", "a": "1"}
    assert split("--x", "size=5", "size") == {"size": "5"}
    for text in ("5", "a=1,5", "on,a=1"):
        with pytest.raises(UsageError, match="is not name=value"):
            split("--x", text)
    with pytest.raises(UsageError, match="a is given twice"):
        split("--x", "a=1,a=2")
