"""NATS JetStream and RabbitMQ, as far as a worker needs them."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import aio_pika
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from aio_pika.abc import AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import ChannelPreconditionFailed, ProbableAuthenticationError
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig

if TYPE_CHECKING:
    from ._worker import Worker

log = logging.getLogger("parley_worker")
STREAM = "PARLEY"
FETCH = 1.0  # seconds for which one request waits for work at NATS
QUEUE: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
DEAD: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 1 << 30}
COUNTS = "parley-deliveries", "x-delivery-count"  # headers of RabbitMQ with the number of earlier deliveries


class BusError(Exception):
    """The broker is unreachable, or has not accepted a message. The worker retries."""


class BusRefused(Exception):
    """The broker refuses the credentials of the worker."""


@dataclass(eq=False)
class Delivery:
    """A message of a queue: number counts its deliveries from 1, settle takes ack, nak or extend."""

    data: bytes
    number: int
    settle: Callable[[str], Awaitable[None]]


async def attempt(call: Awaitable[Any]) -> Any:
    """Awaits an operation of a broker; every error is a BusError."""
    try:
        return await call
    except Exception as e:
        raise BusError(repr(e)) from e


class NATS:
    """A connection to NATS. nats-py reconnects and subscribes again by itself."""

    def __init__(self, url: str, name: str, key: str | None, ca: str | None) -> None:
        self._options: dict[str, Any] = {"servers": url, "inbox_prefix": "_INBOX." + name, "max_reconnect_attempts": -1, "reconnect_time_wait": 0.5}
        self._options |= {"token": key} if key else {}
        self._options |= {"tls": ssl.create_default_context(cafile=ca)} if ca or url.startswith("tls:") else {}
        self._client, self._released, self._idle = Client(), False, asyncio.Event()

    async def receive(self, worker: Worker) -> None:
        """Receives for a worker until it is canceled. The error is BusRefused."""
        refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def on_error(e: Exception) -> None:
            log.warning("NATS: %r", e)
            if "authorization" in str(e).lower() and not refused.done():
                refused.set_exception(BusRefused(f"NATS refuses the credentials: {e}"))

        async def on_topic(message: Any) -> None:
            worker.on_topic(message.subject.removeprefix("parley.topic."), message.data)

        async def on_reconnected() -> None:
            worker.on_connected()

        async def work() -> None:
            await self._client.connect(**self._options, error_cb=on_error, reconnected_cb=on_reconnected)
            for topic in worker.topics:
                await self._client.subscribe("parley.topic." + topic, cb=on_topic)
            await self._client.flush()
            worker.on_connected()
            await self._work(worker)

        working = asyncio.ensure_future(work())
        try:
            await asyncio.wait([working, refused], return_when=asyncio.FIRST_COMPLETED)
            await (refused if refused.done() else working)
        finally:
            working.cancel()

    async def _work(self, worker: Worker) -> None:
        subscription = None
        while not self._released:
            try:
                subscription = subscription or await self._declare(worker.queue)
                for m in await subscription.fetch(1, timeout=FETCH):
                    verdicts = {"ack": m.ack, "nak": m.nak, "extend": m.in_progress}
                    await worker.on_work(Delivery(m.data, m.metadata.num_delivered, lambda v, verdicts=verdicts: attempt(verdicts[v]())))  # type: ignore[misc]
            except TimeoutError:
                pass  # there is no work
            except nats.errors.Error as e:
                log.warning("NATS: no work: %r", e)
                subscription = None
                await asyncio.sleep(1)
        self._idle.set()
        await asyncio.Event().wait()  # topics are received until close

    async def _declare(self, queue: str) -> Any:
        js, name = self._client.jetstream(), queue.replace(".", "+")
        limits = {"ack_wait": 30, "max_deliver": -1, "max_ack_pending": -1, "max_waiting": 2048}
        config = ConsumerConfig(name, name, filter_subject="parley.queue." + queue, ack_policy=AckPolicy.EXPLICIT, **limits)  # type: ignore[arg-type]
        stream = StreamConfig(STREAM, subjects=["parley.queue.>"], retention=RetentionPolicy.WORK_QUEUE, discard=DiscardPolicy.NEW, duplicate_window=120)
        try:
            await js.consumer_info(STREAM, name)
        except nats.js.errors.NotFoundError:
            try:
                await js.add_consumer(STREAM, config)
            except nats.js.errors.NotFoundError:  # a new broker; that of a hub has its stream
                await js.add_stream(stream)
                await js.add_consumer(STREAM, config)
        return await js.pull_subscribe_bind(name, STREAM)

    async def publish(self, kind: str, name: str, id: str, data: bytes) -> None:
        """Publishes at a queue, which has stored the message then, or at a topic. The error is BusError."""
        if not self._client.is_connected:
            raise BusError("NATS: not connected")
        if kind == "queue":
            await attempt(self._client.jetstream().publish("parley.queue." + name, data, headers={"Nats-Msg-Id": f"{name}/{id}"}))
        else:
            await attempt(self._client.publish("parley.topic." + name, data))

    async def release(self) -> None:
        """Takes no more work."""
        self._released = True
        async with asyncio.timeout(2 * FETCH):
            await attempt(self._idle.wait())

    async def close(self) -> None:
        if self._client.is_connected:
            await attempt(self._client.flush())
        await self._client.close()


class RabbitMQ:
    """A connection to RabbitMQ, and after its loss another one."""

    def __init__(self, url: str, ca: str | None) -> None:
        self._url, self._ssl = url, ssl.create_default_context(cafile=ca) if ca else None
        self._exchanges: dict[str, Any] = {}  # by kind of address; empty while disconnected
        self._cancel: Callable[[], Awaitable[Any]] | None = None
        self._released = False

    async def receive(self, worker: Worker) -> None:
        """Receives for a worker until it is canceled. The error is BusRefused."""
        while True:
            try:
                async with await aio_pika.connect(self._url, ssl_context=self._ssl) as connection:
                    await self._serve(connection, worker)
            except ProbableAuthenticationError as e:
                raise BusRefused(f"RabbitMQ refuses the credentials: {e}") from e
            except Exception as e:
                log.warning("RabbitMQ: %r", e)
            self._exchanges = {}
            await asyncio.sleep(0.5)

    async def _serve(self, connection: AbstractConnection, worker: Worker) -> None:
        for name, arguments in (("dead", DEAD), (worker.queue, QUEUE)):
            try:
                await (await connection.channel()).declare_queue(name, durable=True, arguments=arguments)
            except ChannelPreconditionFailed:
                pass  # an existing queue with other arguments is used unchanged
        channel, lost = await connection.channel(on_return_raises=True), asyncio.Event()
        channel.close_callbacks.add(lambda *_: lost.set())
        await channel.set_qos(prefetch_count=worker.concurrency)
        topics = await channel.declare_exchange("parley.topics", aio_pika.ExchangeType.TOPIC, durable=True)
        mine = await channel.declare_queue(exclusive=True, arguments={"x-max-length": 4096})
        for topic in worker.topics:
            await mine.bind(topics, topic)

        async def on_topic(m: AbstractIncomingMessage) -> None:
            worker.on_topic(m.routing_key or "", m.body)

        async def on_work(m: AbstractIncomingMessage) -> None:
            async def settle(verdict: str) -> None:
                if verdict != "extend":  # the connection shows that the worker is alive
                    await attempt(m.ack() if verdict == "ack" else m.nack())

            await worker.on_work(Delivery(m.body, 1 + sum(int(str(m.headers.get(name) or 0)) for name in COUNTS), settle))

        self._exchanges = {"queue": channel.default_exchange, "topic": topics}
        await mine.consume(on_topic, no_ack=True)
        worker.on_connected(lost=True)
        if not self._released:
            work = await channel.get_queue(worker.queue)
            tag = await work.consume(on_work)
            self._cancel = lambda: work.cancel(tag)
        await lost.wait()

    async def publish(self, kind: str, name: str, id: str, data: bytes) -> None:
        """Publishes at a queue, which has stored the message then, or at a topic. The error is BusError."""
        if not self._exchanges:
            raise BusError("RabbitMQ: not connected")
        mode = aio_pika.DeliveryMode.PERSISTENT if kind == "queue" else aio_pika.DeliveryMode.NOT_PERSISTENT
        message = aio_pika.Message(data, content_type="application/json", delivery_mode=mode, message_id=id)
        await attempt(self._exchanges[kind].publish(message, name, mandatory=kind == "queue", timeout=30))

    async def release(self) -> None:
        """Takes no more work."""
        self._released = True
        if self._cancel and self._exchanges:
            await attempt(self._cancel())

    async def close(self) -> None:
        """Does nothing: receive closes its connection."""


Bus = Union[NATS, RabbitMQ]
