"""The worker of an agent, its questions, and its jobs: each is one message for the agent, from its delivery to its acknowledgment."""

import asyncio
import base64
import hashlib
import itertools
import json
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ._brokers import NATS, RabbitMQ, attempt, log
from ._events import Event, Failed, Refused, completed, status, text_of, working
from ._wire import MAX_LARGE, MAX_PIECE, Invalid, Json, Keys, check, check_address, check_work, decode, encode, letter

T = TypeVar("T")
AGAIN, RESEND = 2.0, 10.0  # seconds without an answer, and without a confirmation
BEAT, ANNOUNCE = 7.5, 120.0  # seconds
GRACE = 3.0  # seconds that hubs have to confirm at the end
MAX_DELIVERIES = 5
MAX_REPORT = 256 << 10  # bytes of events in one report
MAX_WAITING = 1 << 20  # bytes of unconfirmed events; an agent that is further ahead waits


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits for their end. Every 10 s it cancels again: asyncio.wait_for of Python 3.11 can lose a cancellation."""
    while any([task.cancel() for task in tasks]):
        await asyncio.wait(tasks, timeout=10)
    await asyncio.gather(*tasks, return_exceptions=True)


async def repeat(seconds: float, action: Callable[[], Awaitable[Any]]) -> None:
    """Acts after each interval, until it is canceled."""
    while True:
        await asyncio.sleep(seconds)
        await action()


def identity(envelope: Json) -> tuple[str, str, str]:
    """Returns the hub, the owner and the id of the task that an envelope is about."""
    return envelope["source"], envelope.get("owner", ""), envelope.get("task", "")


def batch(items: list[tuple[Json, int]]) -> tuple[Json, int]:
    """Returns the members of a report with the first of some items, and the number of events in it. Each item has its size."""
    totals = itertools.accumulate(size if "events" in members else MAX_REPORT + 1 for members, size in items)
    count = max(1, sum(total <= MAX_REPORT for total in totals))
    return items[0][0] if count == 1 else {"events": [event for members, _ in items[:count] for event in members["events"]]}, count


class Question(NamedTuple, Generic[T]):
    """A question to the caller. Yield it: it ends the job, and the answer is a new job for any free worker.

    parse turns the text of the answer into a value; on ValueError the worker asks again.
    """

    id: str
    text: str
    parse: Callable[[str], T] = str  # type: ignore[assignment]

    def event(self, why: str = "") -> Event:
        """Returns the question as an event; why is the reason for asking again."""
        return status("INPUT_REQUIRED", f"{why}: {self.text}" if why else self.text, metadata={"question": self.id})

    def answer(self, job: "Job") -> T | None:
        """Returns the caller's answer, or None if the question was not asked in this task."""
        turns = [(a, b) for a, b in itertools.pairwise(job.conversation) if a.get("role") == "ROLE_AGENT" and b.get("role") != "ROLE_AGENT"]
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


class Job:
    """One message for the agent, as the hub has signed it.

    message is the Message of A2A v1.0 and text its text; task is the Task before it, from the second message of
    a task on. caller has id and owner, and displayName, org, orgs, roles and claims if there are any. key is the
    same for each attempt of the message: use it to apply side effects once. message_waiting is set once a further
    message of the caller waits for the end of this job. work is the whole envelope.
    """

    def __init__(self, worker: "Worker", work: Json) -> None:
        self.work, self.task_id, self.message_waiting = work, str(work["task"]), asyncio.Event()
        self.caller: Json = {"id": "local", **(work.get("principal") or {}), "owner": work.get("owner", "")}
        self._worker, self._nonce = worker, secrets.token_hex(8)
        self._epoch, self._proof, self._lease = 0, {"worker": worker.id}, 30.0  # changed by the grant
        self._answers: asyncio.Queue[Json] = asyncio.Queue()  # to claims and fetches
        self._items: dict[int, tuple[Json, int]] = {}  # unconfirmed events with their sizes, by number
        self._last = self._sent = 0  # the number of the last event, and of the last one that was sent
        self._state, self._closed, self._changed = "", False, asyncio.Event()
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()  # with the settlement of the deliveries
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
        return list(filter(None, [*before.get("history", []), before.get("status", {}).get("message"), self.message]))

    async def _perform(self) -> str:
        """Performs the job, and returns the settlement of its deliveries."""
        self._run, reporting = asyncio.create_task(self._execute()), asyncio.create_task(self._report())
        try:
            return await self._over
        finally:
            await end(self._run, reporting)

    def _stop(self, verdict: str = "ack") -> None:
        """Ends the job without a report; verdict settles its deliveries."""
        self._closed = True
        if not self._over.done():
            self._over.set_result(verdict)

    async def _send(self, address: str, type: str, body: Json, **members: Any) -> bool:
        about = {name: self.work.get(name) for name in ("task", "owner", "correlation", "trace")} | {"epoch": self._epoch or None}
        return await self._worker._publish(address, type, self._proof | body, **about, destination=self.work["source"], **members)

    async def _ask(self, type: str, body: Json) -> Json:
        """Sends a message to the hub, again after a while, until the hub answers."""
        while True:
            await self._send("topic." + self.work["replyTo"], type, body)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN):  # without a task of its own, which asyncio.wait_for starts
                    return await self._answers.get()

    def _handle(self, type: str, epoch: int, seq: int, body: Json) -> None:
        """Handles a message of the hub."""
        claims, answers = not self._epoch, type in ("job.grant", "job.deny") and body.get("nonce") == self._nonce
        if (claims and not answers) or (not claims and epoch != self._epoch):
            return  # about another run
        if answers and type == "job.grant":  # a second one if the hub was restarted
            self._epoch, self._proof["token"], self._lease = epoch, str(body["token"]), body["lease"] / 1000
        if type == "job.deny" and not (claims and body.get("later")):
            log.info("task %s: %s: %s", self.task_id, "claim denied" if claims else "the hub stops the run", body.get("reason"))
            self._stop()
        elif claims or type == "job.piece":
            self._answers.put_nowait(body)
        elif type == "job.confirm":
            self._items = {number: item for number, item in self._items.items() if number > seq}
            self._resend(body.get("resend") or self._sent + 1)
            if body.get("messageWaiting"):
                self.message_waiting.set()
            if body.get("final"):
                self._stop()
        elif type == "job.cancel":
            self._worker.spawn(self._cancel(body.get("metadata") or {}))

    async def _cancel(self, metadata: Json) -> None:
        try:
            if self._worker.cancel_handler:
                await self._worker.cancel_handler(self, metadata)
        except Refused as e:
            await self._send("queue." + self.work["body"]["reports"], "job.report", {"cancelRefused": str(e)})
            return
        except Exception:
            log.exception("task %s: cancel handler failed", self.task_id)
        await end(self._run)
        self._put(status("CANCELED"))

    async def _execute(self) -> None:
        """Claims the job, and runs the agent."""
        claim = {"delivery": self.work["body"]["delivery"], "nonce": self._nonce, "idempotent": self._worker.idempotent}
        while (await self._ask("job.claim", claim)).get("later"):
            await asyncio.sleep(AGAIN)
        try:
            if "large" in self.work["body"]:
                await self._fetch(self.work["body"]["large"])
            items = self._worker.handler(self)
            async for item in _result(items) if isinstance(items, Awaitable) else items:
                while sum(size for _, size in self._items.values()) >= MAX_WAITING:
                    await self._changed.wait()
                self._put(item)
                if self._closed:
                    return
            self._add({"ended": True} if self._state == "AUTH_REQUIRED" else {"error": "agent ended without a final state", "public": True})
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
        raise Failed("the message changed in transit: its content does not match its SHA-256")

    def _put(self, item: Any) -> None:
        """Adds an event to the reports, or its pieces. Text is progress."""
        event = working(item) if isinstance(item, str) else item.event() if isinstance(item, Question) else item
        check(isinstance(event, Event), f"an agent yields events, questions and text, not {type(item).__name__}")
        self._state = event.state or self._state
        text = json.dumps(event.json).encode()
        if len(text) > MAX_LARGE:
            raise Failed(f"the agent has sent {len(text)} bytes in one event: {MAX_LARGE} are allowed, and any number in chunks of an artifact")
        if len(text) <= MAX_PIECE:
            return self._add({"events": [event.json]}, len(text), event.final)
        sha = hashlib.sha256(text).digest()
        large = {"id": sha.hex()[:32], "size": len(text), "sha256": base64.b64encode(sha).decode()}
        for at in range(0, len(text), MAX_PIECE):
            data = text[at : at + MAX_PIECE]
            piece = {"blob": large["id"], "offset": at, "data": base64.b64encode(data).decode()}
            self._add({"large": large, "piece": piece}, len(data), event.final and at + MAX_PIECE >= len(text))

    def _add(self, members: Json, size: int = 0, last: bool = True) -> None:
        """Adds what the job reports next, unless it is complete. last completes it."""
        if not self._closed:
            self._closed, self._last = last, self._last + 1
            self._items[self._last] = members, size
            self._resend(self._last)

    def _resend(self, first: int = 1) -> None:
        """Publishes the unconfirmed events from a number on, even if they were sent."""
        self._sent = min(self._sent, first - 1)
        self._changed.set()
        self._changed.clear()  # it wakes those that wait now

    async def _report(self) -> None:
        """Publishes the events, and again those that the hub does not confirm."""
        while not self._over.done():  # clients of brokers may swallow a cancellation
            if unsent := {number: item for number, item in self._items.items() if number > self._sent}:
                first, (members, count) = min(unsent), batch([*unsent.values()])
                self._sent = first + count - 1
                if not await self._send("queue." + self.work["body"]["reports"], "job.report", members, seq=first):
                    self._resend(first)
                    await asyncio.sleep(1)
            else:
                timer = asyncio.get_running_loop().call_later(RESEND, self._resend)
                await self._changed.wait()
                timer.cancel()


async def _result(answer: Awaitable[Any]) -> AsyncIterator[Any]:
    """The only event of an agent that is a coroutine."""
    result = await answer
    yield completed(result) if isinstance(result, str) else result


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
        self.topics = {"worker." + self.id: self._on_message, "discovery.inquire": self._on_message}
        for address in (self.queue, *self.topics):
            check_address("name", address)
        check(concurrency >= 1, f"concurrency: {concurrency} is less than 1")
        about, modes = {"name": name, "description": description or name}, ["text/plain"]
        skills = {"capabilities": {"streaming": True}, "skills": [{"id": name, **about, "tags": ["agent"]}]}
        self.card: Json = {**about, "version": "1.0.0", "defaultInputModes": modes, "defaultOutputModes": modes, **skills, **(card or {})}
        self.cancel_handler: CancelHandler | None = None
        self._contact, self._keys = (url, data, key, ca), Keys([*hubs])
        self._jobs: dict[tuple[str, str, str], Job] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.slots: set[asyncio.Task[Any]] = set()  # tasks that occupy a slot each
        self._started, self._beaten = int(time.time() * 1000), 0.0

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
        check(hasattr(self, "handler"), "agent: not set; decorate a function with @worker.agent")
        loop, stop, self._bus = asyncio.get_running_loop(), stop or asyncio.Event(), self._open()

        def on_signal(number: signal.Signals) -> None:
            loop.remove_signal_handler(number)  # the next one ends the process
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # on Windows, or beside the main thread
                loop.add_signal_handler(number, on_signal, number)
        self.leaving, self.refused = loop.create_future(), loop.create_future()
        ends = [self.refused, self.spawn(self._bus.receive(self)), self.spawn(stop.wait())]
        for seconds, action in ((ANNOUNCE, self._announce), (0.1, self._beat)):
            self.spawn(repeat(seconds, action))
        try:
            ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                await self._leave()
        finally:
            await end(*self._tasks)
        await asyncio.gather(*ended)  # raises BusRefused

    def _open(self) -> NATS | RabbitMQ:
        """Returns the bus. The error is ValueError and names the field."""
        url, data, key, ca = self._contact
        url, key = url or os.environ.get("PARLEY_BUS"), key or os.environ.get("PARLEY_BUS_KEY")
        if not url:
            path = Path(data or os.environ.get("PARLEY_DATA") or "parley-data", "bus.json")
            check(path.exists(), f"url: not set, and there is no {path}: start parley serve in this folder, or set url or data")
            contact = json.loads(path.read_text())
            check(ca or not contact.get("certificate"), "ca: not set, and the hub's broker needs TLS; set it to the file of its certificate")
            url, key, self._keys = contact["url"], contact["token"], self._keys or Keys([contact["hub"]])
        if not self._keys:
            log.warning("hubs: not set, so every program at the broker may act as a hub")
        scheme = url.partition("://")[0]
        check(scheme in ("nats", "tls", "amqp", "amqps"), f"url: {scheme}:// is not the address of a broker; use nats, tls, amqp or amqps")
        return NATS(url, self.name, key, ca) if scheme in ("nats", "tls") else RabbitMQ(url, ca)

    def spawn(self, work: Coroutine[Any, Any, Any], *sets: set[asyncio.Task[Any]]) -> asyncio.Task[Any]:
        """Starts a task that ends with the worker at the latest. The sets have it until its end."""
        task = asyncio.create_task(work)
        for tasks in (self._tasks, *sets):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    async def free(self) -> bool:
        """Waits for a free slot, and returns whether the worker takes more work."""
        while len(self.slots) >= self.concurrency:
            await asyncio.wait(self.slots, return_when=asyncio.FIRST_COMPLETED)
        return not self.leaving.done()

    async def _leave(self) -> None:
        """Takes no more work, lets jobs end, and returns the others to their hubs."""
        self.leaving.set_result(None)
        for job in [job for job in self._jobs.values() if not job._epoch]:
            job._stop("nak")
        for seconds in (self.drain, GRACE):
            if self.slots:
                await asyncio.wait(self.slots, timeout=seconds)
            for job in self._jobs.values():
                job._add({"givenBack": True})
                job._run.cancel()
        await self._publish("topic.discovery.announce", "agent.goodbye", {"agent": self.name, "worker": self.id}, source="agent/" + self.name)

    async def on_work(self, data: bytes, number: int, ack: Callable[[], Awaitable[None]], nak: Callable[[], Awaitable[None]]) -> None:
        """Performs the work in data, whose deliveries number counts from 1, and settles it."""
        try:
            verdict = await self._perform(data, number)
        except Exception as e:
            log.warning("work rejected: %s", e)
            verdict, (id, dead) = "ack", letter(data, str(e), self.queue, "worker/" + self.id)
            while not await attempt(self._bus.publish("queue.dead", id, dead)):
                await asyncio.sleep(1)
        await attempt(ack() if verdict == "ack" else nak())

    async def _perform(self, data: bytes, count: int) -> str:
        check(count <= MAX_DELIVERIES, f"delivered {MAX_DELIVERIES} times at queue {self.queue} and never acknowledged")
        work = decode(data, "agent/" + self.name, self._keys)
        check_work(work)
        key, number = identity(work), work["body"]["delivery"]
        newest = other.work["body"]["delivery"] if (other := self._jobs.get(key)) else 0
        if other and number == newest:
            return await asyncio.shield(other._over)  # the same work again
        if self.leaving.done() or number < newest:
            return "nak" if self.leaving.done() else "ack"
        if other:
            other._stop()  # the newer delivery replaces it
        job = self._jobs[key] = Job(self, work)
        verdict = await job._perform()
        if self._jobs.get(key) is job:
            del self._jobs[key]
        return verdict

    def _on_message(self, data: bytes) -> None:
        """Handles a message of a hub."""
        try:
            if decode(data)["type"] == "hub.announce":  # an inquiry, which is not signed
                self.spawn(self._announce())
                return
            message = decode(data, "worker/" + self.id, self._keys)
            if message["type"] == "job.deny" and not message.get("task"):
                log.warning("the hub gives this worker no tasks: %s", message["body"]["reason"])
            elif job := self._jobs.get(key := identity(message)):
                job._handle(message["type"], message.get("epoch", 0), message.get("seq", 0), message["body"])
            elif message["type"] == "job.grant":  # for a claim that the worker has dropped
                about = {"destination": key[0], "owner": key[1], "task": key[2], "epoch": message["epoch"], "seq": 1}
                back = {"token": message["body"]["token"], "worker": self.id, "givenBack": True}
                self.spawn(self._publish("queue.hub.report." + key[0].removeprefix("hub/"), "job.report", back, **about))
        except (Invalid, KeyError, TypeError, ValueError) as e:
            log.warning("message ignored: %r", e)

    async def on_connected(self) -> None:
        """Is called after each connection."""
        log.info("connected; performing the tasks of agent %s as worker %s", self.name, self.id)
        for job in self._jobs.values():
            job._resend()
        await self._announce()

    async def _beat(self) -> None:
        """If it is time, shows each hub which of its jobs are alive."""
        held, now = [job for job in self._jobs.values() if job._epoch], time.monotonic()
        if now - self._beaten < min([BEAT, *(job._lease / 4 for job in held)]):
            return
        self._beaten = now
        for hub, topic in {(job.work["source"], job.work["replyTo"]) for job in held}:
            mine = [job for job in held if job.work["source"] == hub]
            beats = [{"task": job.task_id, "owner": job.caller["owner"], "epoch": job._epoch, "token": job._proof["token"]} for job in mine]
            await self._publish("topic." + topic, "job.heartbeat", {"worker": self.id, "jobs": beats}, destination=hub)

    async def _announce(self) -> None:
        body = {"agent": self.name, "card": self.card, "worker": self.id, "idempotent": self.idempotent, "started": self._started}
        await self._publish("topic.discovery.announce", "agent.announce", body, source="agent/" + self.name)

    async def _publish(self, address: str, type: str, body: Json, **members: Any) -> bool:
        """Publishes an envelope, and returns whether the broker has accepted it."""
        id, members = secrets.token_hex(16), {"source": "worker/" + self.id, "replyTo": "worker." + self.id, **members}
        return await attempt(self._bus.publish(address, id, encode(id, type, body=body, **members)))
