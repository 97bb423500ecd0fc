"""The wire contract between hubs and workers (docs/wire.md): limits, signatures, envelopes."""

import base64
import hashlib
import json
import re
import time
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

VERSION = 2  # of the contract
MAX_ENVELOPE = 960 << 10
MAX_PIECE = 512 << 10  # bytes of content that does not fit into an envelope
MAX_LARGE = 64 << 20  # bytes of the content of work, and of an event

Json = dict[str, Any]

_ADDRESS = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_SIGNED = set(
    "v id type time source destination replyTo correlation task owner epoch seq deadline chain principal label trace contentType body".split()
)


class Invalid(ValueError):
    """The reason why a worker does not act on an envelope."""


class Number(str):
    """A number exactly as it stands in the JSON."""


def form(value: object) -> bytes:
    """Returns the bytes of a JSON value that a hub signs."""
    if isinstance(value, str):
        text = re.sub("[\ud800-\udfff]", "\ufffd", value).encode()
        return b"#%b;" % text if isinstance(value, Number) else b"%d:%b" % (len(text), text)
    if isinstance(value, list):
        return b"[%b]" % b"".join(map(form, value))
    if isinstance(value, dict):
        return b"{%b}" % b"".join(form(name) + form(value[name]) for name in sorted(value))
    return b"n" if value is None else b"t" if value else b"f"


def check(right: object, reason: str) -> None:
    """Raises Invalid with the reason unless right is true."""
    if not right:
        raise Invalid(reason)


def check_address(field: str, value: object) -> None:
    """Raises Invalid unless value is the name of a queue or a topic."""
    right = isinstance(value, str) and len(value) <= 200 and _ADDRESS.fullmatch(value)
    check(right, f"{field}: {value!r} is not an address of at most 200 letters, digits, '-' and '_', joined by dots")


class Keys(dict[str, tuple[str, Ed25519PublicKey]]):
    """The public keys of the trusted hubs, each as HUB:BASE64. Without keys, every hub is trusted."""

    def __init__(self, texts: list[str]) -> None:
        for i, text in enumerate(texts):
            check(re.fullmatch("[^:]*:[A-Za-z0-9+/]{43}=", text), f"hubs[{i}]: {text!r} is not HUB:KEY with a key of 32 bytes in base64")
            hub, _, key = text.partition(":")
            public = base64.b64decode(key)
            self[hashlib.sha256(public).hexdigest()[:16]] = hub, Ed25519PublicKey.from_public_bytes(public)

    def verify(self, data: bytes) -> None:
        """Raises Invalid unless a trusted hub has signed the envelope in data."""
        envelope = json.loads(data, parse_int=Number, parse_float=Number)
        signature = envelope.get("signature")
        check(isinstance(signature, dict), "is not signed")
        id = str(signature.get("key"))
        check(id in self, f"key {id} is not trusted")
        hub, key = self[id]
        check(envelope.get("source") == "hub/" + hub, f"key {id} is of hub {hub}")
        signed = b"parley-bus-1\n" + form({name: value for name, value in envelope.items() if name in _SIGNED})
        try:
            key.verify(base64.b64decode(str(signature.get("value"))), signed)
        except (InvalidSignature, ValueError):
            raise Invalid("the content was changed or signed with another key") from None


def decode(data: bytes, me: str = "", keys: Keys | None = None) -> Json:
    """Returns the envelope in data, sent to me by one of the hubs if there are any. The error is Invalid and names the member."""
    try:
        envelope = json.loads(data, parse_constant=lambda text: check(False, f"{text} is not JSON"))
    except (ValueError, RecursionError) as e:
        raise Invalid(f"decode envelope: {e}") from None
    check(isinstance(envelope, dict), "decode envelope: not a JSON object")
    check(envelope.get("v") == VERSION, f"v: version {envelope.get('v')} of the wire contract, version {VERSION} is required")
    for name in ("id", "type", "source"):
        check(isinstance(envelope.get(name), str) and envelope[name], f"{name}: missing, or not text")
    check(isinstance(envelope.setdefault("body", {}), dict), "body: not an object")
    check(not me or envelope.get("destination", me) == me, f"destination: {envelope.get('destination')}, not {me}")
    if keys:
        keys.verify(data)
    return dict(envelope)


def check_work(envelope: Json) -> None:
    """Raises Invalid, with the name of the member, unless the envelope is work that can be claimed."""
    body, large = envelope["body"], envelope["body"].get("large", {"size": 1})
    check(envelope["type"] == "job.work", f"unknown type {envelope['type']} at the queue of an agent")
    check(envelope["source"].startswith("hub/") and isinstance(envelope.get("task"), str), "source, task: work has a task and comes from a hub")
    check_address("replyTo", envelope.get("replyTo"))
    check_address("body.reports", body.get("reports"))
    number, size = body.get("delivery"), large.get("size") if isinstance(large, dict) else None
    check(isinstance(number, int) and number > 0, f"body.delivery: {number!r} is not a positive number")
    check(isinstance(size, int) and 0 < size <= MAX_LARGE, f"body.large.size: {size!r}: 1 to {MAX_LARGE} bytes are allowed")


def encode(id: str, type: str, source: str, body: Json, **members: Any) -> bytes:
    """Returns the bytes of an envelope, without the members that are None."""
    envelope = {"v": VERSION, "id": id, "type": type, "time": int(time.time() * 1000), "source": source, **members, "body": body}
    return json.dumps({name: value for name, value in envelope.items() if value is not None}, ensure_ascii=False).encode("utf-8", "replace")


def letter(data: bytes, reason: str, queue: str, source: str) -> tuple[str, bytes]:
    """Returns the id and the bytes of the envelope that takes the place of data at the queue dead."""
    why = {"reason": reason[:1000], "queue": queue}
    try:
        id = decode(data)["id"] + "-dead"
        check(len(data) <= MAX_ENVELOPE, "too large")
        # The bytes stay as they are, so that the signature stays valid.
        return id, data.rstrip()[:-1] + b"," + json.dumps(why).encode()[1:]
    except Invalid:
        id = "unreadable-" + hashlib.sha256(data).hexdigest()[:32]
        body = {"bytes": base64.b64encode(data[: 640 << 10]).decode(), "size": len(data)}
        return id, encode(id, "bus.unreadable", source, body, **why)
