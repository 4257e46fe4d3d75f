"""The worker's side of the protocol of calibrax/perf/launch/PROTOCOL.md: JSON lines and descriptors over one socket.

Nothing here knows a framework, so a worker can speak, and report what went wrong, before any framework is imported.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

VERSION = 1
MAX_LINE_BYTES = 64 * 1024
MAX_MESSAGE_CHARS = 400
MAX_DESCRIPTORS = 253  # what Linux lets ride on one message (SCM_MAX_FD)


class WorkerError(Exception):
    """A failure whose cause is known.  `cause` is a word of the table in calibrax/perf/case/failure.h."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class ParentGone(Exception):
    """The parent closed its end: no one is left to report to."""


def violation(message: str) -> WorkerError:
    """A message that breaks the protocol, or asks for something that does not exist here."""
    return WorkerError("protocol", message)


def require(fact: object, message: str) -> None:
    """Refuses what breaks the protocol, or what does not exist here: a fact does not hold."""
    if not fact:
        raise violation(message)


class Channel:
    """One end of the socket pair.  Descriptors are kept in order of arrival until a message claims them."""

    def __init__(self, fd: int) -> None:
        # A compiler started by a framework must not keep the channel open after the worker's death.
        os.set_inheritable(fd, False)
        self._socket = socket.socket(fileno=fd)
        self._buffer = bytearray()
        self._descriptors: list[int] = []

    def send(self, **message: Any) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise ParentGone from error

    def receive(self) -> dict[str, Any]:
        """The next message.  Raises ParentGone at end of file, WorkerError for a line that is not a message."""
        line = self._next_line()
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise violation(f"the message is not JSON: {error}") from error
        require(isinstance(message, dict) and isinstance(message.get("op"), str), "the message is not an object with an 'op'")
        return message

    def take_descriptors(self, count: int) -> list[int]:
        require(len(self._descriptors) >= count, f"the message names {count} arrays but brought {len(self._descriptors)} descriptors")
        taken, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return taken

    def _next_line(self) -> bytes:
        while True:
            end = self._buffer.find(b"\n")
            require((len(self._buffer) if end < 0 else end) <= MAX_LINE_BYTES, f"the message is longer than {MAX_LINE_BYTES} bytes")
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                return line
            self._fill()

    def _fill(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(
                self._socket, MAX_LINE_BYTES, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except OSError as error:
            raise ParentGone from error
        self._descriptors += descriptors
        if not data:
            raise ParentGone
        self._buffer += data


def one_line(error: BaseException) -> str:
    """An exception as one line for a failure's record: its type, and the first line that says something."""
    for line in str(error).splitlines():
        if line.strip():
            return f"{type(error).__name__}: {line.strip()}"[:MAX_MESSAGE_CHARS]
    return type(error).__name__
