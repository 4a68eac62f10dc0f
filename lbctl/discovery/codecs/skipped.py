"""Keys that are known to be no registrations, whatever their values look like."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.codecs.record import Record

# Often many, or secret: a scan counts them and does not read their values.
TREES: Final = {
    "/lbctl/": "lbctl's own notes",
    "/registry/": "Kubernetes data",
    "/kubernetes.io/": "Kubernetes data, as OpenShift keeps it",
    "/openshift.io/": "OpenShift data",
    "/calico/": "Calico data",
    "/prometheus/job/": "a Prometheus target: an HTTP governor, not gRPC",
    "/dubbo/mapping/": "Dubbo's mapping of interfaces to applications",
    "/dubbo/metadata/": "Dubbo's metadata reports",
    "/dubbo/config/": "Dubbo's configuration",
    "/apisix/ssls/": "APISIX certificates and keys",
    "/apisix/ssl/": "APISIX certificates and keys",
    "/apisix/consumers/": "APISIX credentials",
    "/apisix/consumer_groups/": "APISIX plugins of consumers, with their credentials",
    "/apisix/global_rules/": "APISIX plugins, with their credentials",
    "/apisix/plugin_configs/": "APISIX plugins, with their credentials",
    "/apisix/plugin_metadata/": "APISIX plugins, with their credentials",
    "/apisix/secrets/": "APISIX secrets",
}
_ALL: Final = tuple(TREES)

CANARY: Final = ".lbctl-canary/"  # the folder of keys that doctor writes, beside services and gone at once


def why_skipped(record: Record) -> str:
    """Return why a key is no registration; nothing where it may be one."""
    lease = record.entry.lease
    if lease and record.leaf == f"{lease & (1 << 64) - 1:x}":
        return "a lock or an election: the key ends in its lease"
    if CANARY in record.key and f"/{CANARY}" in f"/{record.key}":
        return "a canary of lbctl doctor"
    if not record.key.startswith(_ALL):
        return ""
    return next(reason for tree, reason in TREES.items() if record.key.startswith(tree))
