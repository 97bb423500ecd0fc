"""A job: one message for the agent, from its delivery to its acknowledgment."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import json
import logging
import secrets
from collections import deque
from typing import TYPE_CHECKING, Any

from ._brokers import BusError, Delivery
from ._events import Event, Failed, Question, Refused, Unanswered, completed, status, text_of, working
from ._wire import CLAIM_AGAIN, MAX_LARGE, MAX_PIECE, RESEND_AFTER, Invalid, Json

if TYPE_CHECKING:
    from ._worker import Worker

log = logging.getLogger("parley_worker")
MAX_REPORT = 256 << 10  # bytes of events in one report
MAX_WAITING = 1 << 20  # bytes of unconfirmed events; an agent that is further ahead waits


class Job:
    """One message for the agent, as the hub has signed it.

    message is the Message of A2A v1.0 and text its text; task is the Task before it, from the second message of
    a task on. caller has id and owner, and displayName, org, orgs, roles and claims if there are any. key is the
    same for each attempt of the message: use it to apply side effects once. message_waiting is set once a further
    message of the caller waits for the end of this job. work is the whole envelope.
    """

    def __init__(self, worker: Worker, work: Json, delivery: Delivery) -> None:
        self.work, self.task_id, self.message_waiting = work, str(work["task"]), asyncio.Event()
        self.caller: Json = {"id": "local", **(work.get("principal") or {}), "owner": work.get("owner", "")}
        self._worker, self._body, self._deliveries, self._nonce = worker, work["body"], [delivery], secrets.token_hex(8)
        self._epoch, self._token, self._lease = 0, "", 30.0  # since the grant
        self._answers: asyncio.Queue[Json] = asyncio.Queue()  # to claims and fetches
        self._items: deque[tuple[int, Json, int]] = deque()  # unconfirmed: number, members of the report, size
        self._last = self._sent = self._waiting = 0  # the last number, the last one published, unconfirmed bytes
        self._closed, self._over, self._news, self._room = False, asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._agent: asyncio.Task[None] | None = None
        self._performing: asyncio.Task[None] | None = None
        self._read()

    def _read(self) -> None:
        body = self._body
        self.message, self.task, self.metadata = body.get("message") or {}, body.get("task"), body.get("metadata") or {}
        self.text, self.context_id, self.skill = text_of(self.message), body.get("contextId", ""), body.get("skill", "")
        self.key, self.attempt = body.get("key", ""), body.get("attempt", 1)

    @property
    def conversation(self) -> list[Json]:
        """The messages of the task so far, with this one as the last."""
        before = self.task or {}
        asked = before.get("status", {}).get("message")
        return [*before.get("history", []), *([asked] if asked else []), self.message]

    async def _perform(self) -> None:
        claim = {"delivery": self._body["delivery"], "worker": self._worker.id, "nonce": self._nonce, "idempotent": self._worker.idempotent}
        answer = await self._ask("job.claim", claim)
        while answer.get("later"):
            await asyncio.sleep(CLAIM_AGAIN)
            answer = await self._ask("job.claim", claim)
        if not self._epoch:
            return log.info("task %s: claim denied: %s", self.task_id, answer.get("reason"))
        self._agent, sender = asyncio.create_task(self._execute()), asyncio.create_task(self._report())
        try:
            await self._over.wait()
        finally:
            self._agent.cancel()
            sender.cancel()
            await asyncio.gather(self._agent, sender, return_exceptions=True)

    async def _ask(self, type: str, body: Json) -> Json:
        """Sends a message to the hub, again after a while, until the hub answers."""
        while True:
            await self._worker.publish("topic", self.work["replyTo"], type, body, self)
            try:
                async with asyncio.timeout(CLAIM_AGAIN):
                    return await self._answers.get()
            except TimeoutError:
                pass

    async def _settle(self, verdict: str) -> None:
        """Settles all deliveries of the work: verdict is ack, nak or extend."""
        deliveries = list(self._deliveries)
        if verdict != "extend":
            self._deliveries.clear()
        for delivery in deliveries:
            try:
                await delivery.settle(verdict)
            except BusError as e:
                log.debug("delivery not settled: %s", e)  # the broker redelivers

    def _handle(self, type: str, epoch: int, seq: int, body: Json) -> None:
        """Handles a message of the hub."""
        if type in ("job.grant", "job.denial") and body.get("nonce") == self._nonce and self._epoch in (0, epoch):
            if type == "job.grant" and epoch > 0:
                again, self._epoch = self._epoch > 0, epoch
                self._token, self._lease = str(body["token"]), body["lease"] / 1000
                if again:
                    return  # the hub was restarted
            self._answers.put_nowait(body)
        elif not self._epoch or epoch != self._epoch:
            pass  # about another run
        elif type == "job.confirm":
            while self._items and self._items[0][0] <= seq:
                self._waiting -= self._items.popleft()[2]
            self._room.set()
            self._news.set()
            if body.get("final"):
                self._over.set()
        elif type == "job.resend":
            self._resend(seq - 1)
        elif type == "job.piece":
            self._answers.put_nowait(body)
        elif type == "job.asked":
            self.message_waiting.set()
        elif type == "job.cancel":
            self._worker.spawn(self._cancel(body.get("metadata") or {}))
        elif type == "job.stop":
            log.info("task %s: the hub stops the run: %s", self.task_id, body.get("reason"))
            self._closed = True
            self._over.set()

    def _resend(self, after: int = 0) -> None:
        """Publishes the unconfirmed events above a number again."""
        self._sent = min(self._sent, after)
        self._news.set()

    def _give_back(self) -> None:
        """Returns the job to the hub, unless it is complete."""
        self._end({"givenBack": True})
        if self._agent:
            self._agent.cancel()

    async def _cancel(self, metadata: Json) -> None:
        try:
            if self._worker.cancel_handler:
                await self._worker.cancel_handler(self, metadata)
        except Refused as e:
            refusal = {"token": self._token, "worker": self._worker.id, "cancelRefused": str(e)}
            return await self._worker.publish("queue", self._body["reports"], "job.report", refusal, self)
        except Exception:
            log.exception("task %s: cancel handler failed", self.task_id)
        if self._agent and not self._closed:
            self._agent.cancel()
            await asyncio.wait([self._agent])
            self._put(status("CANCELED"))

    async def _execute(self) -> None:
        """Runs the agent."""
        state = ""
        try:
            if "large" in self._body:
                await self._fetch(self._body["large"])
            answer = self._worker.handler(self)
            if inspect.isawaitable(answer):
                result = await answer
                self._put(completed(result) if isinstance(result, str) else _event(result))
                return self._end({"error": "agent ended without a final state", "public": True})
            async for item in answer:
                event = _event(item)
                state = event.state or state
                while self._waiting >= MAX_WAITING:
                    self._room.clear()
                    await self._room.wait()
                if not self._put(event):
                    return
            self._end({"ended": True} if state == "AUTH_REQUIRED" else {"error": "agent ended without a final state", "public": True})
        except Unanswered as e:
            self._put(e.question.event(str(e)))
        except Failed as e:
            self._end({"error": str(e) or "failed", "public": True})
        except Exception as e:
            log.exception("task %s: agent failed", self.task_id)
            self._end({"error": f"{type(e).__name__}: {e}"})

    async def _fetch(self, large: Json) -> None:
        """Fetches the content of work that is too large for an envelope."""
        for _ in range(3):
            content = bytearray()
            while len(content) < large["size"]:
                fetch = {"token": self._token, "worker": self._worker.id, "blob": large["id"], "offset": len(content)}
                piece = await self._ask("job.fetch", fetch)
                if piece.get("blob") == large["id"] and piece.get("offset") == len(content):
                    content += base64.b64decode(piece["data"])
            if hashlib.sha256(content).digest() == base64.b64decode(large["sha256"]):
                self._body.update(json.loads(content))
                return self._read()
        raise Failed("the message has not arrived as it was sent: its content and its SHA-256 differ")

    def _put(self, event: Event) -> bool:
        """Numbers an event, or its pieces. It returns False if no event may follow."""
        text = json.dumps(event.json).encode()
        if len(text) > MAX_LARGE:
            reason = f"the agent has sent {len(text)} bytes in one event: {MAX_LARGE} are allowed, and any number in chunks of an artifact"
            self._end({"error": reason, "public": True})
        elif len(text) <= MAX_PIECE:
            self._add({"events": [event.json]}, len(text), event.final)
        else:
            sha = hashlib.sha256(text).digest()
            large = {"id": sha.hex()[:32], "size": len(text), "sha256": base64.b64encode(sha).decode()}
            for at in range(0, len(text), MAX_PIECE):
                data = text[at : at + MAX_PIECE]
                piece = {"blob": large["id"], "offset": at, "data": base64.b64encode(data).decode()}
                self._add({"large": large, "piece": piece}, len(data), event.final and at + MAX_PIECE >= len(text))
        return not self._closed

    def _end(self, members: Json) -> None:
        self._add(members, 0, last=True)

    def _add(self, members: Json, size: int, last: bool) -> None:
        if not self._closed:
            self._last += 1
            self._items.append((self._last, members, size))
            self._waiting, self._closed = self._waiting + size, last
            self._news.set()

    async def _report(self) -> None:
        """Publishes the events, and again those that the hub does not confirm."""
        while not self._over.is_set():  # clients of brokers may swallow a cancellation
            self._news.clear()
            if items := [item for item in self._items if item[0] > self._sent]:
                await self._publish(items)
                continue
            try:
                async with asyncio.timeout(RESEND_AFTER if self._items else None):
                    await self._news.wait()
            except TimeoutError:
                self._sent = 0

    async def _publish(self, items: list[tuple[int, Json, int]]) -> None:
        """Publishes as many of the events as fit into one report."""
        first, size = items[0][0], 0
        body: Json = {"token": self._token, "worker": self._worker.id}
        for number, members, length in items:
            size += length
            if number > first and ("piece" in members or "piece" in body or size > MAX_REPORT):
                break
            body |= {**members, "events": [*body.get("events", []), *members["events"]]} if "events" in members else members
            self._sent = number
        try:
            await self._worker.publish("queue", self._body["reports"], "job.report", body, self, must=True, seq=first)
        except BusError as e:
            log.warning("task %s: report not published: %s", self.task_id, e)
            self._sent = min(self._sent, first - 1)
            await asyncio.sleep(1)


def _event(item: Any) -> Event:
    if isinstance(item, (Event, Question)):
        return item if isinstance(item, Event) else item.event()
    if isinstance(item, str):
        return working(item)
    raise Invalid(f"an agent yields events, questions and text, not {type(item).__name__}")
