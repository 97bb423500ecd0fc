"""The events of an agent, and its questions."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from ._worker import Job

T = TypeVar("T")
_ENDS = {"COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED"}


class Part(dict[str, Any]):
    """A Part of A2A v1.0 as JSON, such as Part(url="https://…", mediaType="image/png")."""


# Content is text, bytes, any other JSON value, or a whole Part of A2A v1.0 in a Part.
Content = str | bytes | Part | dict[str, Any] | list[Any]


@dataclass(frozen=True)
class Event:
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
        return "message" in self.json or self.state in _ENDS


class Failed(Exception):
    """Fails the task with a reason that the caller may read. Of other exceptions only the hub's log has the text."""


class Refused(Exception):
    """Refuses a cancellation, with a reason for the caller: see Worker.on_cancel."""


def message(*content: Content, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns a message of the agent."""
    about = {"metadata": metadata} if metadata else {}
    return {"messageId": secrets.token_hex(8), "role": "ROLE_AGENT", "parts": [_part(c) for c in content], **about}


def _part(content: Content) -> dict[str, Any]:
    if isinstance(content, Part):
        return dict(content)
    if isinstance(content, bytes):
        return {"raw": base64.b64encode(content).decode()}
    return {"text" if isinstance(content, str) else "data": content}


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


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to the caller. Yield it: it ends the job, and the answer is a new job for any free worker.

    parse turns the text of the answer into a value; on ValueError the worker asks again.
    """

    id: str
    text: str
    parse: Callable[[str], T] = str  # type: ignore[assignment]

    def event(self, why: str = "") -> Event:
        """Returns the question as an event; why is the reason for asking again."""
        return status("INPUT_REQUIRED", f"{why}: {self.text}" if why else self.text, metadata={"question": self.id})

    def answer(self, job: Job) -> T | None:
        """Returns the caller's answer, or None if the question was not asked in this task."""
        said = job.conversation
        turns = [(a, b) for a, b in zip(said, said[1:]) if a.get("role") == "ROLE_AGENT" and b.get("role") != "ROLE_AGENT"]
        answers = [text_of(answer) for asked, answer in turns if (asked.get("metadata") or {}).get("question") == self.id]
        try:
            return self.parse(answers[-1]) if answers else None
        except ValueError as e:
            raise Unanswered(self, str(e)) from e


class Unanswered(Exception):
    """Raised for an answer that does not parse. The worker asks again, unless the agent handles it."""

    def __init__(self, question: Question[Any], why: str) -> None:
        super().__init__(why)
        self.question = question
