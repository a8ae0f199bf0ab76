"""A communicator's messages from one member to another."""

from __future__ import annotations

import operator
import time
from typing import TYPE_CHECKING, Any

from ....graph.errors import BadValue, bad
from ..buffers import region
from ..mailboxes import EAGER, ReceiveFilter, Receiving, Sending
from ..payloads import Frozen
from ..values import values
from .base import Base
from .requests import Request, nothing_received, result, tell

if TYPE_CHECKING:
    from ..buffers import Bytes


class PointToPoint(Base):
    """Sends, receives and probes; `source` and `tag` of None are ANY_SOURCE and ANY_TAG."""

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        self._wait(self._post_object("send", obj, dest, tag))

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return Request(self._group, self._post_object("isend", obj, dest, tag))

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until it was received."""
        self._wait(self._post_object("ssend", obj, dest, tag, copies=False))

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; over when it was received."""
        return Request(self._group, self._post_object("issend", obj, dest, tag, copies=False))

    bsend = send
    ibsend = isend

    def recv(self, buf: Any = None, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """Receive an object; `buf` isn't needed."""
        return self._wait(self._post_receive("recv", None, source, tag), status)

    def irecv(self, buf: Any = None, source: int | None = None, tag: int | None = None) -> Request:
        """Begin to receive an object, which the request's `wait` returns."""
        return Request(self._group, self._post_receive("irecv", None, source, tag))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> Any:
        """Send an object and receive another."""
        receiving = self._post_receive("sendrecv", None, source, recvtag)
        sending = self._post_object("sendrecv", sendobj, dest, sendtag)
        received = self._wait(receiving, status)
        self._wait(sending)
        return received

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        self._wait(self._post_buffer("Send", buf, dest, tag))

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer, which must not change until the request is over."""
        return Request(self._group, self._post_buffer("Isend", buf, dest, tag))

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and wait until it was received."""
        self._wait(self._post_buffer("Ssend", buf, dest, tag, eager=-1))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer; over when it was received."""
        return Request(self._group, self._post_buffer("Issend", buf, dest, tag, eager=-1))

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of a buffer, without a wait."""
        self._wait(self._post_buffer("Bsend", buf, dest, tag, eager=None))

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a copy of a buffer."""
        return Request(self._group, self._post_buffer("Ibsend", buf, dest, tag, eager=None))

    Rsend = Send
    Irsend = Isend

    def Recv(self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None) -> None:
        """Receive into a buffer."""
        self._wait(self._post_receive("Recv", buf, source, tag), status)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> Request:
        """Begin to receive into a buffer."""
        return Request(self._group, self._post_receive("Irecv", buf, source, tag))

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        """Send a buffer and receive into another."""
        receiving = self._post_receive("Sendrecv", recvbuf, source, recvtag)
        sending = self._post_buffer("Sendrecv", sendbuf, dest, sendtag)
        self._wait(receiving, status)
        self._wait(sending)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        """Send what a buffer holds, and receive into it."""
        content = region("Sendrecv_replace", buf, False).flat.copy()
        receiving = self._post_receive("Sendrecv_replace", buf, source, recvtag)
        sending = self._post("Sendrecv_replace", content, dest, sendtag, len(content) <= EAGER)
        self._wait(receiving, status)
        self._wait(sending)

    def Probe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> bool:
        """Wait for a message, and tell the status of it without receiving it."""
        wanted = self._wanted("Probe", source, tag)
        if wanted is None:
            nothing_received(status)
            return True
        looking = Receiving(self._context, "Probe", self._rank, wanted)
        looking.look()
        self._group.wait(self._member, looking)
        tell(status, looking)
        return True

    def Iprobe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> bool:
        """Tell whether a message has come, and the status of it."""
        wanted = self._wanted("Iprobe", source, tag)
        if wanted is None:
            nothing_received(status)
            return True
        looking = Receiving(self._context, "Iprobe", self._rank, wanted)
        with self._group.lock:
            self._group.check()
            looking.message = self._context.boxes[self._rank].find(wanted, take=False)
        if looking.message is None:
            time.sleep(0)  # a program that asks again and again lets those run from whom it expects something
            return False
        tell(status, looking)
        return True

    probe = Probe
    iprobe = Iprobe

    def _wait(self, pending: Sending | Receiving | None, status: Any = None) -> Any:
        if pending is None:
            return nothing_received(status)
        if not pending.done:
            if isinstance(pending, Sending):
                pending.settle()
            self._group.wait(self._member, pending)
        elif pending.error is not None:
            raise pending.error
        return result(pending, status)

    def _post_object(self, call: str, obj: Any, dest: int, tag: int, copies: bool = True) -> Sending | None:
        return self._post(call, Frozen(obj), dest, tag, copies)

    def _post_buffer(self, call: str, buf: Any, dest: int, tag: int, eager: int | None = EAGER) -> Sending | None:
        if self._peer(call, "dest", dest) is None:
            return None
        content = region(call, buf, False).flat
        return self._post(call, content, dest, tag, eager is None or len(content) <= eager)

    def _post(self, call: str, content: Bytes | Frozen, dest: int, tag: int, copies: bool) -> Sending | None:
        """Begin to send; return None for a message to PROC_NULL."""
        to = self._peer(call, "dest", dest)
        label = operator.index(tag)
        if label < 0:
            raise BadValue(bad(call, "tag", tag, "0 or more"))
        if to is None:
            return None
        sending = Sending(self._context, call, self._rank, to, label, content, copies)
        sending.start()
        return sending

    def _post_receive(self, call: str, buf: Any, source: int | None, tag: int | None) -> Receiving | None:
        """Begin to receive, into a buffer if the call is in upper case; return None for PROC_NULL."""
        wanted = self._wanted(call, source, tag)
        if wanted is None:
            return None
        target = region(call, buf, True) if call[0].isupper() else None
        receiving = Receiving(self._context, call, self._rank, wanted, target)
        receiving.start()
        return receiving

    def _wanted(self, call: str, source: int | None, tag: int | None) -> ReceiveFilter | None:
        """Return which messages are asked for; None for those of PROC_NULL."""
        constants = values()
        if source == constants.any_source:
            source = None
        if tag == constants.any_tag:
            tag = None
        if source is not None:
            source = self._peer(call, "source", source)
            if source is None:
                return None
        return ReceiveFilter(source, tag)
