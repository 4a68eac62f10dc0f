from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class SayRequest(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class RepeatRequest(_message.Message):
    __slots__ = ("message", "count")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    message: str
    count: int
    def __init__(self, message: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class SayReply(_message.Message):
    __slots__ = ("message", "backend", "sequence", "index")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    message: str
    backend: str
    sequence: int
    index: int
    def __init__(self, message: _Optional[str] = ..., backend: _Optional[str] = ..., sequence: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class CollectReply(_message.Message):
    __slots__ = ("message", "backend", "sequence", "count")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    message: str
    backend: str
    sequence: int
    count: int
    def __init__(self, message: _Optional[str] = ..., backend: _Optional[str] = ..., sequence: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...
