"""The events of an agent."""

import base64
import secrets
from typing import Any, NamedTuple


class Part(dict[str, Any]):
    """A Part of A2A v1.0 as JSON, such as Part(url="https://…", mediaType="image/png")."""


# Content is text, bytes, any other JSON value, or a whole Part of A2A v1.0 in a Part.
Content = str | bytes | Part | dict[str, Any] | list[Any]


class Event(NamedTuple):
    """A StreamResponse of A2A v1.0 as JSON: an object with one member."""

    json: dict[str, Any]

    @property
    def state(self) -> str:
        """The state that the event sets, such as COMPLETED; empty if it sets none."""
        value = self.json.get("statusUpdate") or self.json.get("task") or {}
        return str(value.get("status", {}).get("state", "")).removeprefix("TASK_STATE_")

    @property
    def final(self) -> bool:
        """Whether no event may follow."""
        return "message" in self.json or self.state in {"COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED"}


class Failed(Exception):
    """Fails the task with a reason that the caller may read. Of other exceptions only the hub's log has the text."""


class Refused(Exception):
    """Refuses a cancellation, with a reason for the caller: see Worker.on_cancel."""


def message(*content: Content, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns a message of the agent."""
    about = {"metadata": metadata} if metadata else {}
    return {"messageId": secrets.token_hex(8), "role": "ROLE_AGENT", "parts": [_part(c) for c in content], **about}


def _part(content: Content) -> dict[str, Any]:
    if isinstance(content, bytes):
        return {"raw": base64.b64encode(content).decode()}
    return dict(content) if isinstance(content, Part) else {"text" if isinstance(content, str) else "data": content}


def status(state: str, *content: Content, metadata: dict[str, Any] | None = None) -> Event:
    """Sets the state of the task, such as WORKING; content is for the caller, metadata belongs to the message."""
    about = {"message": message(*content, metadata=metadata)} if content else {}
    return Event({"statusUpdate": {"status": {"state": "TASK_STATE_" + state, **about}}})


def working(*content: Content) -> Event:
    """Reports progress."""
    return status("WORKING", *content)


def completed(*content: Content) -> Event:
    """Ends the task."""
    return status("COMPLETED", *content)


def artifact(id: str, *content: Content, name: str = "", append: bool = False, last: bool = True) -> Event:
    """Returns an artifact, or with append a further chunk of it; last is False until the last chunk."""
    value = {"artifactId": id, **({"name": name} if name else {}), "parts": [_part(c) for c in content]}
    return Event({"artifactUpdate": {"artifact": value, "append": append, "lastChunk": last}})


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of a message."""
    return "".join(part.get("text", "") for part in message.get("parts", []))
