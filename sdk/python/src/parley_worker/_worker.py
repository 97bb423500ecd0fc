"""The worker of an agent, and its jobs: each is one message for the agent, from its delivery to its acknowledgment."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import itertools
import json
import logging
import os
import secrets
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ._brokers import NATS, Delivery, RabbitMQ, attempt
from ._events import Event, Failed, Question, Refused, Unanswered, completed, status, text_of, working
from ._wire import (
    ANNOUNCE_EVERY, BEAT_EVERY, CLAIM_AGAIN, MAX_DELIVERIES, MAX_LARGE, MAX_PIECE, RESEND_AFTER,
    Invalid, Json, Keys, check, check_address, check_work, decode, encode, letter,
)  # fmt: skip

log = logging.getLogger("parley_worker")
GRACE = 3.0  # seconds that hubs have to confirm at the end
MAX_REPORT = 256 << 10  # bytes of events in one report
MAX_WAITING = 1 << 20  # bytes of unconfirmed events; an agent that is further ahead waits


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


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
        self._worker, self._deliveries, self._nonce = worker, [delivery], secrets.token_hex(8)
        self._epoch, self._token, self._lease = 0, "", 30.0  # since the grant
        self._answers: asyncio.Queue[Json] = asyncio.Queue()  # to claims and fetches
        self._items: deque[tuple[Json, int]] = deque()  # unconfirmed: members of the report, size
        self._confirmed = self._sent = self._waiting = 0  # the last numbers, and the unconfirmed bytes
        self._closed, self._over, self._news, self._room = False, asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._verdict, self._gone = "ack", asyncio.Event()
        self._read()

    def _read(self) -> None:
        body = self.work["body"]
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
        """Performs the job, and settles its deliveries."""
        self._run, sender = asyncio.create_task(self._execute()), asyncio.create_task(self._report())
        try:
            await self._over.wait()
        finally:
            await end(self._run, sender)
        while self._deliveries:
            await attempt(getattr(self._deliveries.pop(), self._verdict)())

    def _stop(self, verdict: str) -> None:
        """Ends the job without a report; verdict settles its deliveries."""
        self._closed, self._verdict = True, verdict
        self._over.set()

    async def _send(self, address: str, type: str, body: Json, **members: Any) -> bool:
        about: Json = {name: self.work[name] for name in ("task", "owner", "correlation", "trace") if name in self.work}
        proof = {"worker": self._worker.id}
        if self._epoch:
            about["epoch"], proof["token"] = self._epoch, self._token
        return await self._worker._publish(address, type, proof | body, **about, destination=self.work["source"], **members)

    async def _ask(self, type: str, body: Json) -> Json:
        """Sends a message to the hub, again after a while, until the hub answers."""
        while True:
            await self._send("topic." + self.work["replyTo"], type, body)
            with suppress(TimeoutError):
                async with asyncio.timeout(CLAIM_AGAIN):
                    return await self._answers.get()

    def _handle(self, type: str, epoch: int, seq: int, body: Json) -> None:
        """Handles a message of the hub."""
        if type in ("job.grant", "job.denial") and body.get("nonce") == self._nonce and self._epoch in (0, epoch):
            again = self._epoch > 0  # the hub was restarted
            if type == "job.grant":
                self._epoch, self._token, self._lease = epoch, str(body["token"]), body["lease"] / 1000
            if not again:
                self._answers.put_nowait(body)
        elif not self._epoch or epoch != self._epoch:
            pass  # about another run
        elif type == "job.confirm":
            while self._items and self._confirmed < seq:
                self._waiting -= self._items.popleft()[1]
                self._confirmed += 1
            self._room.set()
            self._resend(self._sent)
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
            self._stop("ack")

    async def _cancel(self, metadata: Json) -> None:
        try:
            if self._worker.cancel_handler:
                await self._worker.cancel_handler(self, metadata)
        except Refused as e:
            await self._send("queue." + self.work["body"]["reports"], "job.report", {"cancelRefused": str(e)})
            return
        except Exception:
            log.exception("task %s: cancel handler failed", self.task_id)
        if not self._closed:
            await end(self._run)
            self._put(status("CANCELED"))

    async def _execute(self) -> None:
        """Claims the job, and runs the agent."""
        claim = {"delivery": self.work["body"]["delivery"], "nonce": self._nonce, "idempotent": self._worker.idempotent}
        while (answer := await self._ask("job.claim", claim)).get("later"):
            await asyncio.sleep(CLAIM_AGAIN)
        if not self._epoch:
            log.info("task %s: claim denied: %s", self.task_id, answer.get("reason"))
            return self._over.set()
        state = ""
        try:
            if "large" in self.work["body"]:
                await self._fetch(self.work["body"]["large"])
            async for event in _events(self._worker.handler(self)):
                state = event.state or state
                while self._waiting >= MAX_WAITING:
                    self._room.clear()
                    await self._room.wait()
                self._put(event)
                if self._closed:
                    return
            self._add({"ended": True} if state == "AUTH_REQUIRED" else {"error": "agent ended without a final state", "public": True})
        except Unanswered as e:
            self._put(e.question.event(str(e)))
        except Failed as e:
            self._add({"error": str(e) or "failed", "public": True})
        except Exception as e:
            log.exception("task %s: agent failed", self.task_id)
            self._add({"error": f"{type(e).__name__}: {e}"})

    async def _fetch(self, large: Json) -> None:
        """Fetches the content of work that is too large for an envelope."""
        for _ in range(3):
            content = bytearray()
            while len(content) < large["size"]:
                piece = await self._ask("job.fetch", {"blob": large["id"], "offset": len(content)})
                if piece.get("blob") == large["id"] and piece.get("offset") == len(content):
                    content += base64.b64decode(piece["data"])
            if hashlib.sha256(content).digest() == base64.b64decode(large["sha256"]):
                self.work["body"].update(json.loads(content))
                return self._read()
        raise Failed("the message has not arrived as it was sent: its content and its SHA-256 differ")

    def _put(self, event: Event) -> None:
        """Adds an event to the reports, or its pieces."""
        text = json.dumps(event.json).encode()
        if len(text) > MAX_LARGE:
            reason = f"the agent has sent {len(text)} bytes in one event: {MAX_LARGE} are allowed, and any number in chunks of an artifact"
            return self._add({"error": reason, "public": True})
        if len(text) <= MAX_PIECE:
            return self._add({"events": [event.json]}, len(text), event.final)
        sha = hashlib.sha256(text).digest()
        large = {"id": sha.hex()[:32], "size": len(text), "sha256": base64.b64encode(sha).decode()}
        for at in range(0, len(text), MAX_PIECE):
            data = text[at : at + MAX_PIECE]
            piece = {"blob": large["id"], "offset": at, "data": base64.b64encode(data).decode()}
            self._add({"large": large, "piece": piece}, len(data), event.final and at + MAX_PIECE >= len(text))

    def _add(self, members: Json, size: int = 0, last: bool = True) -> None:
        if not self._closed:
            self._items.append((members, size))
            self._waiting, self._closed = self._waiting + size, last
            self._news.set()

    def _resend(self, after: int = 0) -> None:
        """Publishes the unconfirmed events above a number, even if they were sent."""
        self._sent = max(self._confirmed, min(self._sent, after))
        self._news.set()

    async def _report(self) -> None:
        """Publishes the events, and again those that the hub does not confirm."""
        while not self._over.is_set():  # clients of brokers may swallow a cancellation
            self._news.clear()
            body, count = self._next()
            if count:
                before, self._sent = self._sent, self._sent + count
                if not await self._send("queue." + self.work["body"]["reports"], "job.report", body, seq=before + 1):
                    self._resend(before)
                    await asyncio.sleep(1)
                continue
            try:
                async with asyncio.timeout(RESEND_AFTER if self._items else None):
                    await self._news.wait()
            except TimeoutError:
                self._resend()

    def _next(self) -> tuple[Json, int]:
        """Returns the members of the next report, and the number of its events."""
        events: list[Json] = []
        total = 0
        for members, size in itertools.islice(self._items, self._sent - self._confirmed, None):
            total += size
            if events and ("events" not in members or total > MAX_REPORT):
                break
            if "events" not in members:
                return members, 1
            events += members["events"]
        return {"events": events}, len(events)


async def _events(answer: Any) -> AsyncIterator[Event]:
    """The events of an agent: a coroutine that returns the answer, or a generator."""
    if inspect.isawaitable(answer):
        result = await answer
        yield completed(result) if isinstance(result, str) else _event(result)
        return
    async for item in answer:
        yield _event(item)


def _event(item: Any) -> Event:
    if isinstance(item, (str, Question)):
        return working(item) if isinstance(item, str) else item.event()
    check(isinstance(item, Event), f"an agent yields events, questions and text, not {type(item).__name__}")
    return item  # type: ignore[no-any-return]


Handler = TypeVar("Handler", bound=Callable[[Job], AsyncIterator[Any] | Awaitable[Any]])
CancelHandler = Callable[[Job, Json], Awaitable[None]]


class Worker:
    """Performs the tasks of the agent name, beside any number of other workers.

    url is that of the broker; by default $PARLEY_BUS, else that of the hub whose data folder is data
    (./parley-data). hubs are the keys HUB:KEY of the trusted hubs; by default that of bus.json, else all are
    trusted. key is that of the agent at a hub's own broker, ca the file of its authority. card replaces
    members of the agent's card. idempotent lets a hub give a task to another worker if this one is lost.
    At most concurrency jobs run at one time; drain is the seconds that they have to end after SIGTERM.
    """

    def __init__(
        self, name: str, *, url: str | None = None, hubs: Sequence[str] = (), data: str | None = None, key: str | None = None, ca: str | None = None,
        description: str = "", card: Json | None = None, idempotent: bool = False, concurrency: int = 8, drain: float = 10.0,
    ) -> None:  # fmt: skip
        self.name, self.idempotent, self.concurrency, self.drain = name, idempotent, concurrency, drain
        self.id, self.queue = f"{name}.{secrets.token_hex(8)}", "agent.task." + name
        self.topics = ["worker." + self.id, "discovery.inquire"]
        for address in (self.queue, self.topics[0]):
            check_address("name", address)
        if concurrency < 1:
            raise ValueError(f"concurrency: {concurrency} is less than 1")
        description = description or name
        skill = {"id": name, "name": name, "description": description, "tags": ["agent"]}
        modes = {"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "capabilities": {"streaming": True}}
        self.card: Json = {"name": name, "description": description, "version": "1.0.0", **modes, "skills": [skill], **(card or {})}
        self.cancel_handler: CancelHandler | None = None
        self._contact, self._keys = (url, data, key, ca), Keys(hubs)
        self._jobs: dict[tuple[str, str, str], Job] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started, self._leaving = int(time.time() * 1000), False

    def agent(self, handler: Handler) -> Handler:
        """Makes handler the agent: a coroutine that returns the answer, or a generator of events.

        A generator yields text (progress), events and questions; the last event ends the job.
        """
        self.handler: Callable[[Job], Any] = handler
        return handler

    def on_cancel(self, handler: CancelHandler) -> CancelHandler:
        """Calls handler when the caller cancels. If it raises Refused, the agent continues; else it is canceled."""
        self.cancel_handler = handler
        return handler

    def run(self) -> None:
        """Serves until SIGTERM or SIGINT. A second signal ends the process at once."""
        asyncio.run(self.serve())

    async def serve(self, stop: asyncio.Event | None = None) -> None:
        """Serves until stop is set or a signal arrives. The error is BusRefused, or ValueError for a field."""
        if not hasattr(self, "handler"):
            raise ValueError("agent: not set; decorate a function with @worker.agent")
        loop, stop, self._bus = asyncio.get_running_loop(), stop or asyncio.Event(), self._open()
        self.slots, self.refused = asyncio.Semaphore(self.concurrency), loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # on Windows, or beside the main thread
                loop.add_signal_handler(number, self._signal, number, stop)
        receiving, stopped = asyncio.create_task(self._bus.receive(self)), asyncio.create_task(stop.wait())
        self.spawn(self._keep_alive())
        try:
            await asyncio.wait([receiving, stopped, self.refused], return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                await self._leave()
        finally:
            await end(stopped, *self._tasks)
            await end(receiving)
        for future in (receiving, self.refused):
            if future.done() and not future.cancelled():
                future.result()

    @staticmethod
    def _signal(number: signal.Signals, stop: asyncio.Event) -> None:
        asyncio.get_running_loop().remove_signal_handler(number)  # the next one ends the process
        stop.set()

    def _open(self) -> NATS | RabbitMQ:
        """Returns the bus. The error is ValueError and names the field."""
        url, data, key, ca = self._contact
        url, key = url or os.environ.get("PARLEY_BUS"), key or os.environ.get("PARLEY_BUS_KEY")
        if not url:
            path = Path(data or os.environ.get("PARLEY_DATA") or "parley-data", "bus.json")
            if not path.exists():
                raise ValueError(f"url: not set, and there is no {path}: start parley serve in this folder, or set url or data")
            contact = json.loads(path.read_text())
            if contact.get("certificate") and not ca:
                raise ValueError("ca: not set, and the hub's broker needs TLS; set it to the file of its certificate")
            url, key, self._keys = contact["url"], contact["token"], self._keys or Keys([contact["hub"]])
        if not self._keys:
            log.warning("hubs: not set, so every program at the broker may act as a hub")
        scheme = url.partition("://")[0]
        if scheme not in ("nats", "tls", "amqp", "amqps"):
            raise ValueError(f"url: {scheme}:// is no address of a broker; nats, tls, amqp and amqps are known")
        return NATS(url, self.name, key, ca) if scheme in ("nats", "tls") else RabbitMQ(url, ca)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Starts a task that ends with the worker at the latest."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _leave(self) -> None:
        """Takes no more work, lets jobs end, and returns the others to their hubs."""
        self._leaving = True
        for job in self._jobs.values():
            if not job._epoch:
                job._stop("nak")
        await attempt(self._bus.release())
        free = 0
        for seconds in (self.drain, GRACE):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while free < self.concurrency:
                        await self.slots.acquire()
                        free += 1
            for job in self._jobs.values():
                job._add({"givenBack": True})
                job._run.cancel()
        await self._publish("topic.discovery.announce", "agent.leave", {"agent": self.name, "worker": self.id}, source="agent/" + self.name)

    async def on_work(self, delivery: Delivery) -> None:
        """Performs the job of a delivery, for which a slot was taken."""
        try:
            check(delivery.number <= MAX_DELIVERIES, f"delivered {MAX_DELIVERIES} times at queue {self.queue} and never acknowledged")
            work = self._decode(delivery.data, "agent/" + self.name)
            check_work(work)
            await self._perform(work, delivery)
        except Invalid as e:
            log.warning("work refused: %s", e)
            id, data = letter(delivery.data, str(e), self.queue, "worker/" + self.id)
            while not await attempt(self._bus.publish("queue.dead", id, data)):
                await asyncio.sleep(1)
            await attempt(delivery.ack())
        finally:
            self.slots.release()

    async def _perform(self, work: Json, delivery: Delivery) -> None:
        key, number = (work["source"], work.get("owner", ""), work["task"]), work["body"]["delivery"]
        while other := self._jobs.get(key):
            newest = other.work["body"]["delivery"]
            if newest == number:
                return other._deliveries.append(delivery)  # the same work again
            if newest > number or self._leaving:
                await attempt(delivery.nak() if self._leaving else delivery.ack())
                return
            other._stop("ack")  # the newer delivery replaces it
            await other._gone.wait()
        job = self._jobs[key] = Job(self, work, delivery)
        if self._leaving:
            job._stop("nak")
        try:
            await job._perform()
        finally:
            del self._jobs[key]
            job._gone.set()

    def on_topic(self, topic: str, data: bytes) -> None:
        """Handles a message of a hub."""
        if topic != self.topics[0]:
            return self.spawn(self._announce())
        try:
            envelope = self._decode(data, "worker/" + self.id)
            hub, owner, task, type, body = envelope["source"], envelope.get("owner", ""), envelope.get("task", ""), envelope["type"], envelope["body"]
            epoch = int(envelope.get("epoch", 0))
            if job := self._jobs.get((hub, owner, task)):
                job._handle(type, epoch, int(envelope.get("seq", 0)), body)
            elif type == "job.grant":  # for a claim that the worker has dropped
                about = {"destination": hub, "owner": owner, "task": task, "epoch": epoch, "seq": 1}
                report = {"token": body["token"], "worker": self.id, "givenBack": True}
                self.spawn(self._publish("queue.hub.report." + hub.removeprefix("hub/"), "job.report", report, **about))
        except (Invalid, KeyError, TypeError, ValueError) as e:
            log.warning("message ignored: %r", e)

    async def on_connected(self) -> None:
        """Is called after each connection."""
        log.info("connected; performing the tasks of agent %s as worker %s", self.name, self.id)
        for job in self._jobs.values():
            job._resend()
        await self._announce()

    def _decode(self, data: bytes, me: str) -> Json:
        envelope = decode(data)
        check(envelope.get("destination", me) == me, f"destination: {envelope.get('destination')}, not {me}")
        self._keys.verify(data)
        return envelope

    async def _keep_alive(self) -> None:
        """Sends beats and announcements."""
        announced = beaten = time.monotonic()
        while True:
            interval = max(0.1, min([BEAT_EVERY] + [job._lease / 4 for job in self._jobs.values()]))
            await asyncio.sleep(min(interval, 0.5))
            if (now := time.monotonic()) - beaten >= interval:
                beaten = now
                await self._beat()
            if now - announced >= ANNOUNCE_EVERY:
                announced = now
                await self._announce()

    async def _beat(self) -> None:
        """Extends the deliveries, and shows each hub which of its jobs are alive."""
        for delivery in [delivery for job in self._jobs.values() for delivery in job._deliveries]:
            await attempt(delivery.extend())
        held = [job for job in self._jobs.values() if job._epoch]
        for hub, topic in {(job.work["source"], job.work["replyTo"]) for job in held}:
            mine = [job for job in held if job.work["source"] == hub]
            jobs = [{"task": job.task_id, "owner": job.caller["owner"], "epoch": job._epoch, "token": job._token} for job in mine]
            await self._publish("topic." + topic, "job.beat", {"worker": self.id, "jobs": jobs}, destination=hub)

    async def _announce(self) -> None:
        body = {"agent": self.name, "card": self.card, "worker": self.id, "idempotent": self.idempotent, "started": self._started}
        await self._publish("topic.discovery.announce", "agent.announce", body, source="agent/" + self.name)

    async def _publish(self, address: str, type: str, body: Json, **members: Any) -> bool:
        """Publishes an envelope, and returns whether the broker has accepted it."""
        id, members = secrets.token_hex(16), {"source": "worker/" + self.id, "replyTo": self.topics[0], **members}
        return await attempt(self._bus.publish(address, id, encode(id, type, body=body, **members)))
