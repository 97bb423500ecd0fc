"""The worker of an agent."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union

from ._brokers import NATS, Bus, BusError, Delivery, RabbitMQ
from ._job import Job
from ._wire import ANNOUNCE_EVERY, BEAT_EVERY, MAX_DELIVERIES, Invalid, Json, Keys, address, check_work, decode, letter

log = logging.getLogger("parley_worker")
GRACE = 3.0  # seconds that hubs have to confirm at the end

Handler = TypeVar("Handler", bound=Callable[[Job], Union[AsyncIterator[Any], Awaitable[Any]]])
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
        self.id, self.queue = f"{name}.{secrets.token_hex(8)}", address("name", "agent.task." + name)
        self.topics = [address("name", "worker." + self.id), "discovery.inquire"]
        if concurrency < 1:
            raise ValueError(f"concurrency: {concurrency} is less than 1")
        skill = {"id": name, "name": name, "description": description or name, "tags": ["agent"]}
        modes = {"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]}
        about = {"name": name, "description": description or name, "version": "1.0.0", "capabilities": {"streaming": True}}
        self.card: Json = {**about, **modes, "skills": [skill], **(card or {})}
        self.cancel_handler: CancelHandler | None = None
        self._contact = url, data, key, ca, list(hubs)
        self._jobs: dict[tuple[str, str, str], Job] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started, self._leaving = int(time.time() * 1000), False
        Keys(hubs)  # raises ValueError now, not when the worker serves

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
        self._bus, self._keys = self._open()
        self._slots, stop, loop = asyncio.Semaphore(self.concurrency), stop or asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._signal, number, stop)
            except (NotImplementedError, RuntimeError, ValueError):
                pass  # on Windows, or beside the main thread
        receiving, ended = asyncio.create_task(self._bus.receive(self)), asyncio.create_task(stop.wait())
        self.spawn(self._keep_alive())
        try:
            await asyncio.wait([receiving, ended], return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                await self._leave()
        finally:
            for task in (tasks := [ended, *self._tasks, *self._performing()]):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self._bus.close()
            except BusError as e:
                log.debug("not closed: %s", e)
            receiving.cancel()
            await asyncio.wait([receiving])
        if not receiving.cancelled():
            receiving.result()

    @staticmethod
    def _signal(number: signal.Signals, stop: asyncio.Event) -> None:
        asyncio.get_running_loop().remove_signal_handler(number)  # the next one ends the process
        stop.set()

    def _open(self) -> tuple[Bus, Keys]:
        """Returns the bus, and the keys of the trusted hubs. The error is ValueError and names the field."""
        url, data, key, ca, hubs = self._contact
        url, key = url or os.environ.get("PARLEY_BUS"), key or os.environ.get("PARLEY_BUS_KEY")
        if not url:
            path = Path(data or os.environ.get("PARLEY_DATA") or "parley-data", "bus.json")
            if not path.exists():
                raise ValueError(f"url: not set, and there is no {path}: start parley serve in this folder, or set url or data")
            contact = json.loads(path.read_text())
            if contact.get("certificate") and not ca:
                raise ValueError("ca: not set, and the hub's broker needs TLS; set it to the file of its certificate")
            url, key, hubs = contact["url"], contact["token"], hubs or [contact["hub"]]
        if not hubs:
            log.warning("hubs: not set, so every program at the broker may act as a hub")
        scheme = url.partition("://")[0]
        if scheme not in ("nats", "tls", "amqp", "amqps"):
            raise ValueError(f"url: {scheme}:// is no address of a broker; nats, tls, amqp and amqps are known")
        return (NATS(url, self.name, key, ca) if scheme in ("nats", "tls") else RabbitMQ(url, ca)), Keys(hubs)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task that ends with the worker at the latest."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _performing(self) -> list[asyncio.Task[None]]:
        return [job._performing for job in self._jobs.values() if job._performing]

    async def _leave(self) -> None:
        """Takes no more work, lets jobs end, and returns the others to their hubs."""
        self._leaving = True
        for job in [job for job in self._jobs.values() if not job._epoch]:
            await self._forget(job, "nak")
        try:
            await self._bus.release()
        except (BusError, TimeoutError) as e:
            log.debug("not released: %r", e)
        for seconds in (self.drain, GRACE):
            if jobs := self._performing():
                await asyncio.wait(jobs, timeout=seconds)
            for job in self._jobs.values():
                job._give_back()
        body = {"agent": self.name, "worker": self.id}
        await self.publish("topic", "discovery.announce", "agent.leave", body, source="agent/" + self.name)

    async def on_work(self, delivery: Delivery) -> None:
        """Starts the job of a delivery. It waits while the worker is busy."""
        await self._slots.acquire()
        try:
            if delivery.number > MAX_DELIVERIES:
                raise Invalid(f"delivered {MAX_DELIVERIES} times at queue {self.queue} and never acknowledged")
            work = self._read(delivery.data, "agent/" + self.name)
            check_work(work)
        except Invalid as e:
            log.warning("work refused: %s", e)
            self._slots.release()
            return self.spawn(self._bury(delivery, str(e)))
        key, number = (work["source"], work.get("owner", ""), work["task"]), work["body"]["delivery"]
        job, other = Job(self, work, delivery), self._jobs.get(key)
        if other and other._body["delivery"] == number:
            other._deliveries.append(delivery)  # the same work again
            return self._slots.release()
        if self._leaving or other and other._body["delivery"] > number:
            self._slots.release()
            return await job._settle("nak" if self._leaving else "ack")
        if other:  # the newer delivery replaces it
            await self._forget(other, "ack")
        self._jobs[key] = job
        job._performing = asyncio.create_task(self._perform(key, job))

    async def _perform(self, key: tuple[str, str, str], job: Job) -> None:
        try:
            await job._perform()
            await job._settle("ack")
        finally:
            if self._jobs.get(key) is job:
                del self._jobs[key]
            self._slots.release()

    async def _forget(self, job: Job, verdict: str) -> None:
        await job._settle(verdict)
        if job._performing:
            job._performing.cancel()
            await asyncio.wait([job._performing])

    async def _bury(self, delivery: Delivery, reason: str) -> None:
        """Moves a delivery to the queue dead."""
        id, data = letter(delivery.data, reason, self.queue, "worker/" + self.id)
        while True:
            try:
                await self._bus.publish("queue", "dead", id, data)
                return await delivery.settle("ack")
            except BusError as e:
                log.warning("not moved to dead: %s", e)
                await asyncio.sleep(1)

    def on_topic(self, topic: str, data: bytes) -> None:
        """Handles a message of a hub."""
        if topic != self.topics[0]:
            return self.spawn(self._announce())
        try:
            envelope = self._read(data, "worker/" + self.id)
            about = envelope["source"], envelope.get("owner", ""), envelope.get("task", "")
            epoch, body = int(envelope.get("epoch", 0)), envelope["body"]
            if job := self._jobs.get(about):
                job._handle(envelope["type"], epoch, int(envelope.get("seq", 0)), body)
            elif envelope["type"] == "job.grant":  # for a claim that the worker has dropped
                report = {"token": body["token"], "worker": self.id, "givenBack": True}
                members = {"destination": about[0], "owner": about[1], "task": about[2], "epoch": epoch, "seq": 1}
                self.spawn(self.publish("queue", "hub.report." + about[0].removeprefix("hub/"), "job.report", report, **members))
        except (Invalid, KeyError, TypeError, ValueError) as e:
            log.warning("message ignored: %r", e)

    def on_connected(self, lost: bool = False) -> None:
        """Is called after each connection; lost is set if the broker redelivers."""
        log.info("connected; performing the tasks of agent %s as worker %s", self.name, self.id)
        for job in self._jobs.values():
            if lost:
                job._deliveries.clear()
            job._resend()
        self.spawn(self._announce())

    def _read(self, data: bytes, me: str) -> Json:
        envelope = decode(data)
        if envelope.get("destination", me) != me:
            raise Invalid(f"destination: {envelope['destination']}, not {me}")
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
        hubs: dict[tuple[str, str], list[Json]] = {}
        for (hub, owner, task), job in list(self._jobs.items()):
            await job._settle("extend")
            if job._epoch:
                held = {"task": task, "owner": owner, "epoch": job._epoch, "token": job._token}
                hubs.setdefault((hub, job.work["replyTo"]), []).append(held)
        for (hub, topic), jobs in hubs.items():
            await self.publish("topic", topic, "job.beat", {"worker": self.id, "jobs": jobs}, destination=hub)

    async def _announce(self) -> None:
        body = {"agent": self.name, "card": self.card, "worker": self.id, "idempotent": self.idempotent, "started": self._started}
        await self.publish("topic", "discovery.announce", "agent.announce", body, source="agent/" + self.name)

    async def publish(self, kind: str, name: str, type: str, body: Json, job: Job | None = None, must: bool = False, **members: Any) -> None:
        """Publishes an envelope. It may be lost, unless must is set: then the error is BusError."""
        envelope: Json = {"v": 1, "id": secrets.token_hex(16), "type": type, "time": int(time.time() * 1000), "source": "worker/" + self.id, "replyTo": self.topics[0]}
        if job:
            envelope |= {m: job.work[m] for m in ("task", "owner", "correlation", "trace") if m in job.work}
            envelope |= {"destination": job.work["source"], **({"epoch": job._epoch} if job._epoch else {})}
        envelope.update(members, body=body)
        try:
            await self._bus.publish(kind, name, envelope["id"], json.dumps(envelope, ensure_ascii=False).encode("utf-8", "replace"))
        except BusError as e:
            if must:
                raise
            log.debug("%s not published: %s", type, e)
