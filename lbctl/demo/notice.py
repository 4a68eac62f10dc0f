"""What the demo says about itself, as plain lines."""

from __future__ import annotations

import shlex

from lbctl.demo.certificates import Tls, client_environment
from lbctl.demo.scene import Death, Facts

ASKED = "exit status 0"  # somebody told it to stop, and it took its key along


def standing(facts: Facts) -> str:
    """Where everything is, and what to try; for a demo that waits in the foreground."""
    service = facts.setup.services[0]
    rows = [f"  {backend.endpoint}  weight {backend.weight}  pid {backend.pid}" for backend in facts.backends]
    return "\n".join(
        (
            f"etcd      {facts.etcd}   data {facts.data_dir} (removed at exit)",
            f"backends  {len(rows)}",
            *rows,
            "try, in another terminal:",
            f"  export LBCTL_ENDPOINTS={facts.etcd}",
            *(f"  export {name}={shlex.quote(value)}" for name, value in client_environment(facts.setup.tls).items()),
            f"  lbctl watch {service}",
            f"  lbctl hammer {service} Echo/Say --policy smooth_wrr -z 30s",
            "Ctrl-C stops everything.",
        )
    )


def summary(facts: Facts) -> str:
    """The same in one line, for a demo that only carries a command."""
    weights = ",".join(str(backend.weight) for backend in facts.backends)
    noun = "backend" if len(facts.backends) == 1 else "backends"
    tls = {Tls.OFF: "", Tls.SERVER: ", by TLS", Tls.MUTUAL: ", by mutual TLS"}[facts.setup.tls]
    return f"demo: etcd {facts.etcd}, {len(facts.backends)} {noun}, weights {weights}{tls}"


def obituary(death: Death, ttl_s: int) -> str:
    """A backend's unexpected end, and what follows from it."""
    if death.end == ASKED:
        return f"backend {death.backend.endpoint} ended ({death.end})"
    return f"backend {death.backend.endpoint} died ({death.end}); etcd drops its key within {ttl_s}s"
