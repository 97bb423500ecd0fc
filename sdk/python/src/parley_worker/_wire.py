"""The wire contract between hubs and workers (docs/wire.md): limits, signatures, envelopes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_ENVELOPE = 960 << 10
MAX_PIECE = 512 << 10  # bytes of content that does not fit into an envelope
MAX_LARGE = 64 << 20  # bytes of the content of work, and of an event
MAX_NAME = 200
MAX_DELIVERIES = 5
CLAIM_AGAIN = 2.0  # seconds without an answer
RESEND_AFTER = 10.0  # seconds without a confirmation
ANNOUNCE_EVERY = 120.0
BEAT_EVERY = 7.5

Json = dict[str, Any]

_ADDRESS = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_SIGNED = frozenset(
    "v id type time source destination replyTo correlation task owner epoch seq deadline chain "
    "principal label trace contentType body".split()
)


class Invalid(ValueError):
    """The reason why a worker does not act on an envelope."""


class Number(str):
    """A number exactly as it stands in the JSON."""


def form(value: object) -> bytes:
    """Returns the bytes of a JSON value that a hub signs."""
    if isinstance(value, Number):
        return b"#" + value.encode() + b";"
    if isinstance(value, str):
        text = re.sub("[\ud800-\udfff]", "\ufffd", value).encode()
        return b"%d:" % len(text) + text
    if isinstance(value, list):
        return b"[" + b"".join(map(form, value)) + b"]"
    if isinstance(value, dict):
        return b"{" + b"".join(form(name) + form(value[name]) for name in sorted(value)) + b"}"
    return b"n" if value is None else b"t" if value else b"f"


def address(field: str, value: object) -> str:
    """Returns value if it is the name of a queue or a topic."""
    if not isinstance(value, str) or len(value) > MAX_NAME or not _ADDRESS.fullmatch(value):
        raise Invalid(f"{field}: {value!r} is not an address of at most {MAX_NAME} letters, digits, '-' and '_', joined by dots")
    return value


class Keys:
    """The public keys of the trusted hubs, each as HUB:BASE64. Without keys, every hub is trusted."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._keys: dict[str, tuple[str, Ed25519PublicKey]] = {}
        for i, text in enumerate(texts):
            hub, _, key = text.partition(":")
            try:
                public = base64.b64decode(key, validate=True)
                self._keys[hashlib.sha256(public).hexdigest()[:16]] = hub, Ed25519PublicKey.from_public_bytes(public)
            except ValueError as e:
                raise ValueError(f"hubs[{i}]: {text!r} is not HUB:KEY with a key of 32 bytes in base64: {e}") from None

    def verify(self, data: bytes) -> None:
        """Raises Invalid unless a trusted hub has signed the envelope in data."""
        if not self._keys:
            return
        envelope = json.loads(data, parse_int=Number, parse_float=Number)
        signature = envelope.get("signature")
        if not isinstance(signature, dict):
            raise Invalid("is not signed")
        hub, key = self._keys.get(str(signature.get("key")), ("", None))
        if key is None:
            raise Invalid(f"key {signature.get('key')} is not trusted")
        if envelope.get("source") != "hub/" + hub:
            raise Invalid(f"key {signature['key']} is of hub {hub}")
        signed = {name: value for name, value in envelope.items() if name in _SIGNED}
        try:
            key.verify(base64.b64decode(str(signature.get("value"))), b"parley-bus-1\n" + form(signed))
        except (InvalidSignature, ValueError):
            raise Invalid("something was changed, or signed with another key") from None


def decode(data: bytes) -> Json:
    """Returns the envelope in data. The error is Invalid and names the member."""
    try:
        envelope = json.loads(data, parse_constant=_constant)
    except (ValueError, RecursionError) as e:
        raise Invalid(f"decode envelope: {e}") from None
    if not isinstance(envelope, dict):
        raise Invalid("decode envelope: not a JSON object")
    if envelope.get("v") != 1:
        raise Invalid(f"v: version {envelope.get('v')}, 1 is known")
    for name in ("id", "type", "source"):
        if not isinstance(envelope.get(name), str) or not envelope[name]:
            raise Invalid(f"{name}: missing, or not text")
    if not isinstance(envelope.setdefault("body", {}), dict):
        raise Invalid("body: not an object")
    return envelope


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def check_work(envelope: Json) -> None:
    """Raises Invalid, with the name of the member, unless the envelope is work that can be claimed."""
    body = envelope["body"]
    if envelope["type"] != "job.work":
        raise Invalid(f"type: {envelope['type']} is not known at the queue of an agent")
    if not envelope["source"].startswith("hub/") or not isinstance(envelope.get("task"), str):
        raise Invalid("source, task: work has a task and comes from a hub")
    address("replyTo", envelope.get("replyTo"))
    address("body.reports", body.get("reports"))
    if not isinstance(body.get("delivery"), int) or body["delivery"] < 1:
        raise Invalid(f"body.delivery: {body.get('delivery')!r} is not a positive number")
    large = body.get("large")
    if large is not None and (not isinstance(large.get("size"), int) or not 0 < large["size"] <= MAX_LARGE):
        raise Invalid(f"body.large.size: {large.get('size')!r}: 1 to {MAX_LARGE} bytes are allowed")


def letter(data: bytes, reason: str, queue: str, source: str) -> tuple[str, bytes]:
    """Returns the id and the bytes of the envelope that takes the place of data at the queue dead."""
    reason = reason[:1000]
    try:
        envelope = decode(data)
        if len(data) > MAX_ENVELOPE:
            raise Invalid("too large")
        # The bytes stay as they are, so that the signature stays valid.
        return envelope["id"] + "-dead", data.rstrip()[:-1] + b"," + json.dumps({"reason": reason, "queue": queue}).encode()[1:]
    except Invalid:
        name = "unreadable-" + hashlib.sha256(data).hexdigest()[:32]
        body = {"bytes": base64.b64encode(data[: 640 << 10]).decode(), "size": len(data)}
        now = int(time.time() * 1000)
        unreadable = {"v": 1, "id": name, "type": "bus.unreadable", "time": now, "source": source}
        return name, json.dumps({**unreadable, "reason": reason, "queue": queue, "body": body}).encode()
