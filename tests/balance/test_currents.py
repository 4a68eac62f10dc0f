"""Turns of takers that come and go, by brute force."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.balance.currents import Currents, Taker


class Pair:
    """The same members in turns, and in a list that the rule is applied to."""

    def __init__(self, weights: list[int], rng: Random) -> None:
        self.size, self.weights, self.rng = len(weights), weights, rng
        self.current = [rng.randint(-5, 5) for _ in weights]
        self.takers = [
            Taker(index, weight * self.size, current * self.size - index)
            for index, (weight, current) in enumerate(zip(weights, self.current, strict=True))
        ]
        self.turns = Currents(self.takers)
        self.inside: list[int] = []

    def come_and_go(self) -> None:
        for index in self.rng.sample(range(self.size), self.rng.choice([0, 0, 1, min(self.size, 3)])):
            if index in self.inside:
                self.inside.remove(index)
                self.turns.remove(self.takers[index])
            else:
                self.inside = sorted([*self.inside, index])
                self.turns.add(self.takers[index])

    def ruled(self, surcharge: int) -> int:
        """The index that the rule chooses, and that pays."""
        for index in self.inside:
            self.current[index] += self.weights[index]
        best = max(self.inside, key=self.current.__getitem__)
        self.current[best] -= sum(self.weights[index] for index in self.inside) + surcharge
        return best


@pytest.mark.parametrize("weights", [range(1, 2), range(3, 6), range(1, 1000)], ids=["alike", "few", "many"])
def test_selections_are_those_of_the_rule_whoever_comes_and_goes(weights: range) -> None:
    for size in (1, 7, 80):
        rng = Random(size)
        pair = Pair([rng.choice(weights) for _ in range(size)], rng)
        for _ in range(600):
            pair.come_and_go()
            if pair.inside:
                assert pair.turns.turn() is pair.takers[pair.ruled(0)]
        for index in pair.inside:
            pair.turns.remove(pair.takers[index])
        found = [(taker.standing + taker.index) // size for taker in pair.takers]
        assert (found, pair.turns.total) == (pair.current, 0)


def test_a_selection_can_be_undone_and_cost_more_where_others_take_part() -> None:
    rng = Random(3)
    pair = Pair([rng.randint(1, 1000) for _ in range(60)], rng)
    for _ in range(600):
        pair.come_and_go()
        if not pair.inside:
            continue
        pair.turns.grow()
        if rng.random() < 0.3:
            pair.turns.undo()
            continue
        surcharge = rng.choice([0, 400])
        best = pair.takers[pair.ruled(surcharge)]
        assert pair.turns.best() is best
        pair.turns.pay(pair.turns.total + 60 * surcharge)
        assert pair.turns.current(best) == pair.current[best.index] * 60 - best.index
