from __future__ import annotations

from dataclasses import replace
from math import inf

from lbctl.model import Code, Event, Origin
from lbctl.stats.report import Balance, ErrorGroup, Recounted
from lbctl.view.summary import brief, summary
from lbctl.view.text import cell_len
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.view.sample import EVENTS, explained, left_and_joined, load_aware, overridden, sample, simulated

GROUPS = (
    ErrorGroup(Code.UNAVAILABLE, Origin.TRANSPORT, "connection reset by peer, once more", 40, {"127.0.0.1:33127": 30}),
    ErrorGroup(Code.DEADLINE_EXCEEDED, Origin.CLIENT, "timeout", 2, {"127.0.0.1:33128": 1}),
)


def section(text: str, title: str) -> list[str]:
    """The lines of one part of the summary."""
    lines = next(part for part in text.split("\n\n") if part.startswith(title)).rstrip("\n").split("\n")
    return lines[1:]


def test_an_error_that_is_too_wide_for_one_line_has_its_backend_below() -> None:
    text = summary(sample(3, error_groups=GROUPS))
    assert section(text, "Errors") == [
        "    40 UNAVAILABLE        transport  connection reset by peer, once more",
        "                                     127.0.0.1:33127 75%",
        "     2 DEADLINE_EXCEEDED  client     timeout",
        "                                     127.0.0.1:33128 50%",
    ]


def test_no_line_is_wider_than_80_cells_when_backends_came_and_went() -> None:
    text = summary(left_and_joined())
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    busy = left_and_joined()
    rows = tuple(replace(row, picks=row.picks * 1000, errors=row.errors * 1000) for row in busy.backends)
    text = summary(replace(busy, backends=rows))
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_what_happened_during_the_run_is_told_and_how_it_began_is_not() -> None:
    resolved = Event(0.0, "joined", None, "resolved /services/echo/: 3 backends of echo")
    drained = Event(4.2, "drain", "10.0.0.11:50051", "drained in this client", "change")
    text = summary(sample(3, events=(resolved, drained)))
    assert section(text, "Events") == ["     4.2s ! 10.0.0.11:50051 drained in this client"]
    assert "Events" not in summary(sample(3, events=(resolved,)))


def test_more_than_a_dozen_events_are_counted() -> None:
    lines = section(summary(sample(3, events=EVENTS[1:] * 3)), "Events")
    assert len(lines) == 13
    assert lines[-1] == "  3 more, all in the JSON document"


def test_shares_are_of_what_was_sent_and_picks_that_were_not_are_told() -> None:
    report = sample(3, in_flight=0)
    rows = [replace(row, picks=300, expected=300.0, weight=1) for row in report.backends]
    rows[1] = replace(rows[1], given_back=91)
    text = summary(replace(report, backends=tuple(rows)))
    assert [line.split()[2:6] for line in section(text, "Distribution")[1:4]] == [
        ["33.3", "37.1", "+3.7", "300"],
        ["33.3", "25.8", "-7.5", "209"],
        ["33.3", "37.1", "+3.7", "300"],
    ]
    assert "  judged by 900 picks: for 91 of them nothing was sent, since the calls went" in text.splitlines()
    assert "nothing was sent" not in summary(
        replace(report, backends=tuple(replace(row, given_back=0) for row in rows))
    )


def test_what_is_longer_than_a_line_goes_on_below_and_is_not_cut() -> None:
    words = "a sentence of a load generator that has a good deal more to say than what one line of a terminal takes"
    event = Event(1.5, "info", None, words, "change")
    report = sample(3, events=(event,))
    report = replace(report, generator=replace(report.generator, warnings=(words,)))
    assert section(summary(report), "Load generator") == [
        "  ! a sentence of a load generator that has a good deal more to say than what",
        "    one line of a terminal takes",
    ]
    assert section(summary(report), "Events") == [
        "     1.5s ! a sentence of a load generator that has a good deal more to say than",
        "            what one line of a terminal takes",
    ]


def test_a_short_run_has_a_duration_and_a_slow_one_a_rate() -> None:
    assert "in 4.5ms (" in summary(sample(1, elapsed_s=0.0045))
    assert "in 80.0s (0.05/s)" in summary(sample(1, elapsed_s=80.0, completed=4, ok=4, errors=0))


def test_counts_that_are_more_even_than_chance_are_said_to_be_and_the_figures_are_below() -> None:
    note = "more even than chance would be: chi-square 0.0002, 2 degrees of freedom, p 1"
    balance = Balance("multinomial", "balanced", 0.0, 0.0002, 2, 0.9999, 1.0, "10.0.0.11:50051", note, 0.0)
    lines = summary(replace(sample(3), balance=balance)).splitlines()
    assert "Distribution  balanced, more even than chance would be" in lines
    assert "  chi-square 0.0002, df 2, p=1.00, effect 0.000; largest actual/expected 1.00" in lines


def test_the_effect_of_a_difference_is_beside_its_chi_square() -> None:
    balance = Balance("multinomial", "skewed", 0.05, 99.0, 1, 2e-23, 1.1, "10.0.0.11:50051", "", 0.0995)
    assert "  chi-square 99, df 1, p<0.001, effect 0.100; largest actual/expected 1.10" in summary(
        replace(sample(2), balance=balance)
    )


def test_bands_are_in_whole_per_cent_and_never_narrower_than_they_are() -> None:
    head, *rows = [line.split() for line in section(summary(simulated()), "Distribution")[:4]]
    assert [row[2] for row in rows] == ["38-52", "25-34", "0-1"]
    assert head[2:4] == ["EXP%", "ACT%"]
    assert "Δpp" not in head


def test_no_line_of_an_explanation_or_a_simulation_is_wider_than_80_cells() -> None:
    for report in (explained(), explained(40), simulated(), simulated(skewed=True)):
        assert max(cell_len(line) for line in summary(report).splitlines()) <= 80


def test_what_explains_a_call_is_cleaned() -> None:
    why = explained().explanation
    assert why is not None
    hostile = replace(why, hash_key="\x1b[2Jkey", text="\x1b]0;title\x07because")
    text = summary(replace(explained(), explanation=hostile))
    assert "\x1b" not in text
    assert "\\x1b[2Jkey" in text


def test_a_pick_without_candidates_has_its_sentence_alone() -> None:
    lines = section(summary(explained(0)), "Why")
    assert len(lines) == 2
    assert lines[0].startswith("  ring_hash: its key is hashed")


def test_the_source_of_hash_keys_is_beside_the_policy() -> None:
    report = replace(sample(3), policy="ring_hash", policy_options={"min-ring-size": "2048"}, hash_key="zipf(1.1,100)")
    wanted = ["  policy    ring_hash (min-ring-size=2048), keys zipf(1.1,100), seed 7,", "            deadline 20s"]
    lines = summary(report).splitlines()
    start = lines.index(wanted[0])
    assert lines[start : start + 2] == wanted


def test_a_reason_that_is_longer_than_a_line_goes_on_below() -> None:
    assert max(cell_len(line) for line in summary(load_aware()).splitlines()) <= 80
    assert section(summary(load_aware()), "Distribution")[0] == "    feedback"


def test_where_attempts_failed_that_were_made_again_is_a_column() -> None:
    rows = [line.split() for line in section(summary(overridden()), "Distribution")[:4]]
    at = rows[0].index("RETRY")
    assert [row[at] for row in rows[1:]] == ["0", "7", "0"]
    assert "RETRY" not in summary(sample(3))


def test_a_run_that_was_begun_anew_says_what_is_not_counted() -> None:
    text = summary(sample(5, recounted=Recounted(2, 6292, 29, 12.1)))
    assert "    begun anew after 6,292 calls" in text


def test_a_schedule_in_many_words_goes_over_two_lines() -> None:
    load = replace(sample(1).load, mode="open", rps=None, arrival="poisson", stages=((20, 50, 200), (inf, 200, 200)))
    text = summary(sample(1, load=load))
    assert "/s), open loop from 50/s to" in text
    assert "in 20s, then at 200/s by chance (poisson), times from the plan" in " ".join(text.split())
    assert max(map(cell_len, text.splitlines())) <= 80


def test_whoever_could_not_wait_gets_two_lines() -> None:
    report = replace(sample(), end_reason="interrupted", stopped_by="Ctrl-C")
    assert brief(report, Look(PLAIN, UNICODE)).splitlines() == [
        "Stopped by Ctrl-C after 12.1s (6,244 of 10,000)",
        "ok 6,219 (99.60%)  errors 25 (0.40%)  cancelled 0  516/s  p50 2.2ms  p99 15ms",
    ]


def test_a_policy_that_was_changed_by_hand_is_not_said_to_have_made_all_picks() -> None:
    report = replace(
        sample(), policy="p2c", policy_options={}, events=(Event(2.94, "policy", None, "policy -> p2c", "change"),)
    )
    assert "  policy    p2c since 2.9s, another before, seed 7, deadline 20s" in summary(report).splitlines()
    ejected = Event(2.0, "policy", None, "weights renewed", "change")
    assert "  policy    p2c, seed 7, deadline 20s" in summary(replace(report, events=(ejected,))).splitlines()
