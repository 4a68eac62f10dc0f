"""nginx's selection of a server, without a look at all of them.

Servers at their full weight grow alike at every selection, and take turns. Those whose effective weight comes back
after failures grow by another amount each time, so these are looked at one by one; and those that are out wait for the
second when they may be tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from lbctl.balance.currents import Currents, Taker
from lbctl.balance.nginx_peers import Server, choose


class Turns:
    """Selects as ``choose`` does; where nobody is left, all that are out may be selected."""

    def __init__(self, servers: Sequence[Server], fail_timeout: float) -> None:
        self._servers = servers
        self._fail_timeout = fail_timeout
        self._away_s = int(fail_timeout) + 1  # whole seconds
        self._index = {server: index for index, server in enumerate(servers)}
        size = len(servers)
        self._takers = [Taker(index, server.weight * server.part * size, 0) for index, server in enumerate(servers)]
        self._full = Currents(self._takers)
        self._steady: set[Server] = set()  # those in full
        self._growing: set[Server] = set()
        self._back: list[tuple[int, int]] = []  # a heap: when who is out may be back
        for server in servers:
            out = bool(server.max_fails) and server.fails >= server.max_fails
            self._enter(server, out=out)

    def select(self, now: int, tried: Sequence[Server]) -> Server:
        """Return the server that takes the request: one that was not tried, if there is any."""
        if self._back and self._back[0][0] <= now:
            self._admit(now)
        best = (tried and self._untried(now, tried)) or self._selected(now) or choose(self._servers, now, -1.0)
        assert best is not None, "a time-out below 0 leaves nobody out"
        return best

    def changed(self, server: Server, now: int) -> None:
        """A call to this one succeeded or failed."""
        if server in self._steady or server in self._growing:
            self._leave(server)
            self._enter(server, out=server.is_out(now, self._fail_timeout))
        elif server in self._index and not server.is_out(now, self._fail_timeout):
            self._enter(server)

    def settle(self) -> None:
        """Write down what everybody has come to."""
        for server in self._steady:
            index = self._index[server]
            server.current = (self._full.current(self._takers[index]) + index) // len(self._servers)

    def _admit(self, now: int) -> None:
        """Let those who may be tried again take part."""
        back = self._back
        while back and back[0][0] <= now:
            server = self._servers[heappop(back)[1]]
            if server not in self._steady and server not in self._growing:
                self._enter(server, out=server.is_out(now, self._fail_timeout))

    def _untried(self, now: int, tried: Iterable[Server]) -> Server | None:
        """Make a selection among the others."""
        left_out = [server for server in {*tried} if server in self._steady or server in self._growing]
        for server in left_out:
            self._leave(server)
        best = self._selected(now)
        for server in left_out:
            self._enter(server)
        return best

    def _selected(self, now: int) -> Server | None:
        """Make a selection among those who take part now."""
        full = self._full
        if self._growing:
            best = self._grown(full.grow() if full.total else None)
        elif full.total:
            best = self._servers[full.turn().index]
        else:
            return None
        if now - best.checked > self._fail_timeout:
            best.checked = now
            self.changed(best, now)
        return best

    def _grown(self, most: int | None) -> Server:
        """Let those grow who have not their full weight, and the best of all pay; ``most`` is that of the others."""
        full, growing, size = self._full, self._growing, len(self._servers)
        best, price = None, full.total
        for server in growing:
            growth = server.effective * server.part
            server.current += growth
            price += growth * size
            current = server.current * size - self._index[server]
            if most is None or current > most:
                best, most = server, current
        if best is None:
            best = self._servers[full.best().index]
            full.pay(price)
        else:
            best.current -= price // size
        for server in [*growing]:
            server.effective += 1
            if server.effective == server.weight:
                self._leave(server)
                self._enter(server)
        return best

    def _enter(self, server: Server, *, out: bool = False) -> None:
        index = self._index[server]
        if out:
            heappush(self._back, (server.checked + self._away_s, index))
        elif server.effective < server.weight:
            self._growing.add(server)
        else:
            self._steady.add(server)
            taker = self._takers[index]
            taker.standing = server.current * len(self._servers) - index
            self._full.add(taker)

    def _leave(self, server: Server) -> None:
        if server in self._growing:
            self._growing.remove(server)
            return
        self._steady.remove(server)
        index = self._index[server]
        taker = self._takers[index]
        self._full.remove(taker)
        server.current = (taker.standing + index) // len(self._servers)
