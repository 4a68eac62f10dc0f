"""The names of layouts: all that are read, with auto for whichever recognises a key, and those that are written.

They stand here although ``discovery.codecs`` has them: every ``--help`` and every press of Tab wants the names, and the
layouts themselves take as long to import as all the rest. A test compares them.
"""

from typing import Final

LAYOUTS: Final = (
    "auto",
    "apisix",
    "skydns",
    "dubbo-interface",
    "ego",
    "jupiter-v0",
    "jupiter",
    "openim-v2",
    "rpcx",
    "kratos",
    "go-micro",
    "kratos-v1",
    "kitex",
    "hertz",
    "trpc-go",
    "dubbo-app",
    "etcd-naming",
    "grpc-lb",
    "trpc-cpp",
    "goframe",
    "go-zero",
    "json",
    "seed",
    "go-kit",
    "plain",
    "key-only",
)
WRITERS: Final = (
    "kratos",
    "go-micro",
    "kitex",
    "etcd-naming",
    "go-zero",
    "seed",
    "plain",
)
