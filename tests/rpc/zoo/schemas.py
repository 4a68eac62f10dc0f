"""Random schemas: files in proto2, proto3 and editions with all that they may have, and a file that nobody imports."""

from __future__ import annotations

from random import Random
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from lbctl.rpc.messages.own_types import own_files
from tests.rpc.zoo.keeper import UNPACKABLE

F = FieldDescriptorProto
SCALARS: Final = [kind for kind in F.Type.values() if kind not in (F.TYPE_GROUP, F.TYPE_MESSAGE, F.TYPE_ENUM)]
KEYS: Final = [kind for kind in SCALARS if kind not in (F.TYPE_DOUBLE, F.TYPE_FLOAT, F.TYPE_BYTES)]
WELL_KNOWN: Final = tuple(
    f"google.protobuf.{name}"
    for name in (
        *("Any", "Duration", "Empty", "FieldMask", "Struct", "Value", "ListValue", "Timestamp", "NullValue"),
        *("BoolValue", "StringValue", "BytesValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value"),
        *("FloatValue", "DoubleValue"),
    )
)
IMPORTS: Final = ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")
SYNTAXES: Final = ("proto2", "proto3", "editions")


class Schema:
    """Draws a schema: ``files`` in an order in which each comes after what it imports."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.syntax = rng.choice(SYNTAXES)
        self.main = self._file("main.proto", "m")
        self._enums = [self._enum(name) for name in ("Size", "Shape")]
        for name in ("A", "B", "C"):
            self._message(name)
        self.main.service.add(name="S").method.add(name="M", input_type=".m.A", output_type=".m.B")
        self.unlinked = self._unlinked()
        own = [own_files()[f"google/protobuf/{stem}.proto"] for stem in IMPORTS]
        self.files = [*own, self.main, self.unlinked]

    @property
    def contents(self) -> tuple[str, ...]:
        """What an Any may hold."""
        return ("u.Far", "u.Far", "m.A", "m.C", *WELL_KNOWN[:4], "google.protobuf.Value", "google.protobuf.BytesValue")

    def _file(self, name: str, package: str) -> FileDescriptorProto:
        file = FileDescriptorProto(name=name, package=package, syntax=self.syntax)
        if self.syntax == "editions":
            file.edition = Edition.EDITION_2023
        file.dependency.extend(f"google/protobuf/{stem}.proto" for stem in IMPORTS)
        return file

    def _enum(self, name: str) -> EnumDescriptorProto:
        enum = self.main.enum_type.add(name=name)
        closed = self.syntax == "editions" and name == "Shape"
        if closed:
            enum.options.features.enum_type = FeatureSet.CLOSED
        first = 1 if closed or (self.syntax == "proto2" and name == "Shape") else 0
        for number in (first, 2, -3, 2**31 - 1):
            enum.value.add(name=f"{name.upper()}_{'N' if number < 0 else ''}{abs(number)}", number=number)
        return enum

    def _message(self, name: str) -> None:
        message = self.main.message_type.add(name=name)
        if self.syntax != "proto3":
            message.extension_range.add(start=1000, end=2000)
            message.extension_range.add(start=100_000, end=2**29)
        count = self.rng.randint(4, 12)
        has_oneof = self.rng.random() < 0.5
        if has_oneof:
            message.oneof_decl.add(name="one")
            self._single(message, 998, F.TYPE_STRING, "").oneof_index = 0
        for number in self._numbers(count):
            self._field(message, number, has_oneof=has_oneof)

    def _numbers(self, count: int) -> list[int]:
        return self.rng.sample([*range(1, 40), 127, 128, 500, 997], count)

    def _field(self, message: DescriptorProto, number: int, *, has_oneof: bool) -> None:
        kind, type_name = self._kind()
        shape = self.rng.choice(("single", "single", "list", "map", "oneof"))
        if shape == "map" and kind != F.TYPE_GROUP and not self._is_closed_without_zero(type_name):
            self._map(message, number, kind, type_name)
            return
        field = self._single(message, number, kind, type_name)
        if shape == "list":
            self._list(field)
        elif shape == "oneof" and has_oneof:
            field.oneof_index = 0
        elif self.syntax == "proto3" and kind not in (F.TYPE_MESSAGE, F.TYPE_GROUP) and self.rng.random() < 0.4:
            self._optional(message, field)
        else:
            self._presence(field)

    def _single(self, message: DescriptorProto, number: int, kind: F.Type.ValueType, type_name: str) -> F:
        name = self.rng.choice((f"f{number}", f"a_field_{number}", f"_x{number}__y_", f"camelCase{number}"))
        if kind == F.TYPE_GROUP:
            name = f"group{number}"
            inner = message.nested_type.add(name=name.title())
            inner.field.add(name="v", number=1, type=F.TYPE_SINT64, label=F.LABEL_OPTIONAL)
            type_name = f".m.{message.name}.{inner.name}"
        field = message.field.add(name=name, number=number, type=kind, label=F.LABEL_OPTIONAL)
        if type_name:
            field.type_name = type_name
        if self.rng.random() < 0.2:
            field.json_name = f"json {number} name"
        if kind == F.TYPE_MESSAGE and self.syntax == "editions" and self.rng.random() < 0.4:
            field.options.features.message_encoding = FeatureSet.DELIMITED
        return field

    def _list(self, field: F) -> None:
        field.label = F.LABEL_REPEATED
        if field.type in UNPACKABLE or self.rng.random() < 0.5:
            return
        if self.syntax == "editions":
            encoding = self.rng.choice((FeatureSet.PACKED, FeatureSet.EXPANDED))
            field.options.features.repeated_field_encoding = encoding
        else:
            field.options.packed = self.rng.random() < 0.5

    def _optional(self, message: DescriptorProto, field: F) -> None:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")

    def _presence(self, field: F) -> None:
        scalar = field.type not in (F.TYPE_MESSAGE, F.TYPE_GROUP)
        draw = self.rng.random()
        if self.syntax == "proto2" and scalar and draw < 0.2:
            field.label = F.LABEL_REQUIRED
        elif self.syntax == "editions" and scalar and draw < 0.2:
            field.options.features.field_presence = FeatureSet.LEGACY_REQUIRED
        elif self.syntax == "editions" and field.type in SCALARS and draw < 0.5:
            field.options.features.field_presence = FeatureSet.IMPLICIT

    def _map(self, message: DescriptorProto, number: int, kind: F.Type.ValueType, type_name: str) -> None:
        entry = message.nested_type.add(name=f"Map{number}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=self.rng.choice(KEYS), label=F.LABEL_OPTIONAL)
        value = entry.field.add(name="value", number=2, type=kind, label=F.LABEL_OPTIONAL)
        if type_name:
            value.type_name = type_name
        message.field.add(
            name=f"map{number}",
            number=number,
            type=F.TYPE_MESSAGE,
            label=F.LABEL_REPEATED,
            type_name=f".m.{message.name}.{entry.name}",
        )

    def _kind(self) -> tuple[F.Type.ValueType, str]:
        draw = self.rng.random()
        if draw < 0.5:
            return self.rng.choice(SCALARS), ""
        if draw < 0.6:
            return F.TYPE_ENUM, f".m.{self.rng.choice(self._enums).name}"
        if draw < 0.75:
            return F.TYPE_MESSAGE, f".m.{self.rng.choice('ABC')}"
        if draw < 0.8 and self.syntax == "proto2":
            return F.TYPE_GROUP, ""
        name = self.rng.choice(WELL_KNOWN)
        return (F.TYPE_ENUM if name.endswith("NullValue") else F.TYPE_MESSAGE), f".{name}"

    def _is_closed_without_zero(self, type_name: str) -> bool:
        return type_name == ".m.Shape" and self.syntax != "proto3"

    def _unlinked(self) -> FileDescriptorProto:
        file = self._file("unlinked.proto", "u")
        file.dependency.append(self.main.name)
        far = file.message_type.add(name="Far")
        far.field.add(name="n", number=1, type=F.TYPE_FIXED64, label=F.LABEL_OPTIONAL)
        far.field.add(
            name="any", number=2, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".google.protobuf.Any"
        )
        if self.syntax == "proto3":
            return file
        for number in (1000, 1999, 100_000, 2**29 - 1):
            field = file.extension.add(name=f"e{number}", number=number, extendee=f".m.{self.rng.choice('ABC')}")
            field.type = self.rng.choice((*SCALARS, F.TYPE_MESSAGE, F.TYPE_MESSAGE))
            field.label = self.rng.choice((F.LABEL_OPTIONAL, F.LABEL_REPEATED))
            if field.type == F.TYPE_MESSAGE:
                field.type_name = self.rng.choice((".u.Far", ".m.C", ".google.protobuf.Any"))
        return file
