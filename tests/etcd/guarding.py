"""Authentication switched on in a real etcd, and its users and roles changed while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.ranges import prefix_range
from lbctl.etcd.stubs import Message, pb

READER = ("reader", "secret")
ROOT = ("root", "root")
ROLE = "ok"


async def admin(etcd: Etcd, method: str, request: Message) -> None:
    await etcd.session.call(lambda channel: getattr(channel.auth, method), request, repeatable=False)


async def guard(config: EtcdConfig, prefixes: Sequence[bytes]) -> None:
    """Switch authentication on: root may do all, the reader may read under these prefixes."""
    async with Etcd(config) as etcd:
        await admin(etcd, "UserAdd", pb.AuthUserAddRequest(name=ROOT[0], password=ROOT[1]))
        await admin(etcd, "UserGrantRole", pb.AuthUserGrantRoleRequest(user="root", role="root"))
        await admin(etcd, "RoleAdd", pb.AuthRoleAddRequest(name=ROLE))
        for prefix in prefixes:
            await permit(etcd, prefix)
        await admin(etcd, "UserAdd", pb.AuthUserAddRequest(name=READER[0], password=READER[1]))
        await admin(etcd, "UserGrantRole", pb.AuthUserGrantRoleRequest(user=READER[0], role=ROLE))
        await admin(etcd, "AuthEnable", pb.AuthEnableRequest())


async def permit(etcd: Etcd, prefix: bytes) -> None:
    """Let the reader read a prefix."""
    from etcd3.etcdrpc import auth_pb2

    keys = prefix_range(prefix)
    permission = auth_pb2.Permission(permType=auth_pb2.Permission.READ, key=keys.start, range_end=keys.end)
    await admin(etcd, "RoleGrantPermission", pb.AuthRoleGrantPermissionRequest(name=ROLE, perm=permission))


async def forbid(etcd: Etcd, prefix: bytes) -> None:
    """Take that back."""
    keys = prefix_range(prefix)
    request = pb.AuthRoleRevokePermissionRequest(role=ROLE, key=keys.start, range_end=keys.end)
    await admin(etcd, "RoleRevokePermission", request)


async def set_password(etcd: Etcd, user: str, password: str) -> None:
    await admin(etcd, "UserChangePassword", pb.AuthUserChangePasswordRequest(name=user, password=password))
