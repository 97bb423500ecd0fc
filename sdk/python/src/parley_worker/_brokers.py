"""NATS JetStream and RabbitMQ, as far as a worker needs them."""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import aio_pika
from nats.aio.client import Client
from nats.js import api, errors

if TYPE_CHECKING:
    from ._worker import Worker

log = logging.getLogger("parley_worker")
STREAM = "PARLEY"
FETCH = 1.0  # seconds for which one request waits for work at NATS
QUEUE: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
DEAD: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 1 << 30}
COUNTS = "parley-deliveries", "x-delivery-count"  # headers of RabbitMQ with the number of earlier deliveries


class BusRefused(Exception):
    """The broker refuses the credentials of the worker."""


class Delivery(NamedTuple):
    """A message of a queue, and its settlements. number counts its deliveries from 1."""

    data: bytes
    number: int
    ack: Callable[[], Awaitable[None]]
    nak: Callable[[], Awaitable[None]]
    extend: Callable[[], Awaitable[None]]


async def attempt(call: Awaitable[Any]) -> bool:
    """Awaits an operation of a broker, and returns whether it succeeded."""
    try:
        await call
    except Exception as e:
        log.info("broker: %r", e)
        return False
    return True


def trusting(ca: str | None) -> ssl.SSLContext | None:
    """Returns the context for TLS with an authority that is in a file; None for those of the system."""
    return ssl.create_default_context(cafile=ca) if ca else None


async def nothing() -> None:
    """RabbitMQ needs no such operation: its connection shows that a worker is alive."""


class NATS:
    """A connection to NATS. nats-py reconnects and subscribes again by itself."""

    def __init__(self, url: str, name: str, key: str | None, ca: str | None) -> None:
        self._client = Client()
        self._options: dict[str, Any] = {"servers": url, "token": key or None, "tls": trusting(ca), "inbox_prefix": "_INBOX." + name}
        self._options |= {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.5}

    async def receive(self, worker: Worker) -> None:
        """Receives for a worker until it is canceled."""

        async def on_error(e: Exception) -> None:
            log.warning("NATS: %r", e)
            if "authorization" in str(e).lower() and not worker.refused.done():
                worker.refused.set_exception(BusRefused(f"NATS refuses the credentials: {e}"))

        async def on_topic(message: Any) -> None:
            worker.on_topic(message.subject.removeprefix("parley.topic."), message.data)

        async with self._client:
            await self._client.connect(**self._options, error_cb=on_error, reconnected_cb=worker.on_connected)
            for topic in worker.topics:
                await self._client.subscribe("parley.topic." + topic, cb=on_topic)
            await worker.on_connected()
            await self._work(worker)
            await asyncio.Event().wait()  # topics are received until the end

    async def _work(self, worker: Worker) -> None:
        subscription = None
        while await worker.free():
            try:
                subscription = subscription or await self._declare(worker.queue)
                [m] = await worker.spawn(subscription.fetch(1, timeout=FETCH), worker.slots)
                worker.spawn(worker.on_work(Delivery(m.data, m.metadata.num_delivered, m.ack, m.nak, m.in_progress)), worker.slots)
            except TimeoutError:
                pass  # there is no work
            except Exception as e:
                log.warning("NATS: no work: %r", e)
                subscription = None
                await asyncio.sleep(1)

    async def _declare(self, queue: str) -> Any:
        js, name, subject = self._client.jetstream(), queue.replace(".", "+"), "parley.queue." + queue
        consumer = api.ConsumerConfig(ack_wait=30, max_deliver=-1, max_ack_pending=-1, max_waiting=2048)
        subscribe = functools.partial(js.pull_subscribe, subject, name, STREAM, consumer)
        try:
            return await subscribe()
        except errors.NotFoundError:  # a new broker; that of a hub has its stream
            stream = api.StreamConfig(STREAM, retention=api.RetentionPolicy.WORK_QUEUE, discard=api.DiscardPolicy.NEW, duplicate_window=120)
            first = 1 + secrets.randbelow(1 << 52)  # so that no late acknowledgment of an earlier stream counts
            await js.add_stream(stream, subjects=["parley.queue.>"], first_seq=first)
            return await subscribe()

    async def publish(self, address: str, id: str, data: bytes) -> None:
        """Publishes at queue.NAME, which has stored the message then, or at topic.NAME."""
        kind, _, name = address.partition(".")
        if kind == "topic":
            await self._client.publish("parley." + address, data)
        else:
            await self._client.jetstream().publish("parley." + address, data, headers={"Nats-Msg-Id": f"{name}/{id}"})

    async def release(self) -> None:
        """Takes no more work: see Worker.free."""


class RabbitMQ:
    """A connection to RabbitMQ, and after its loss another one."""

    def __init__(self, url: str, ca: str | None) -> None:
        self._url, self._tls = url, trusting(ca)
        self._exchanges: dict[str, Any] = {}  # by kind of address; empty while disconnected
        self._cancel: Callable[[], Awaitable[Any]] = nothing

    async def receive(self, worker: Worker) -> None:
        """Receives for a worker until it is canceled."""
        while True:
            try:
                async with await aio_pika.connect(self._url, ssl_context=self._tls) as connection:
                    await self._serve(connection, worker)
            except aio_pika.exceptions.ProbableAuthenticationError as e:
                raise BusRefused(f"RabbitMQ refuses the credentials: {e}") from e
            except Exception as e:
                log.warning("RabbitMQ: %r", e)
            self._exchanges = {}
            await asyncio.sleep(0.5)

    async def _serve(self, connection: aio_pika.abc.AbstractConnection, worker: Worker) -> None:
        for name, arguments in (("dead", DEAD), (worker.queue, QUEUE)):
            try:
                await (await connection.channel()).declare_queue(name, durable=True, arguments=arguments)
            except aio_pika.exceptions.ChannelPreconditionFailed:
                pass  # an existing queue with other arguments is used unchanged
        channel, lost = await connection.channel(on_return_raises=True), asyncio.Event()
        channel.close_callbacks.add(lambda *_: lost.set())
        await channel.set_qos(prefetch_count=worker.concurrency)
        topics = await channel.declare_exchange("parley.topics", aio_pika.ExchangeType.TOPIC, durable=True)
        mine = await channel.declare_queue(exclusive=True, arguments={"x-max-length": 4096})
        for topic in worker.topics:
            await mine.bind(topics, topic)

        async def on_topic(m: aio_pika.abc.AbstractIncomingMessage) -> None:
            worker.on_topic(m.routing_key or "", m.body)

        async def on_work(m: aio_pika.abc.AbstractIncomingMessage) -> None:
            await worker.free()
            number = 1 + sum(int(str(m.headers.get(name) or 0)) for name in COUNTS)
            worker.spawn(worker.on_work(Delivery(m.body, number, m.ack, m.nack, nothing)), worker.slots)

        self._exchanges = {"queue": channel.default_exchange, "topic": topics}
        await mine.consume(on_topic, no_ack=True)
        await worker.on_connected()
        if not worker.leaving:
            work = await channel.get_queue(worker.queue)
            tag = await work.consume(on_work)
            self._cancel = lambda: work.cancel(tag)
        await lost.wait()

    async def publish(self, address: str, id: str, data: bytes) -> None:
        """Publishes at queue.NAME, which has stored the message then, or at topic.NAME."""
        if not self._exchanges:
            raise ConnectionError("RabbitMQ: not connected")
        kind, _, name = address.partition(".")
        mode = aio_pika.DeliveryMode.PERSISTENT if kind == "queue" else aio_pika.DeliveryMode.NOT_PERSISTENT
        message = aio_pika.Message(data, content_type="application/json", delivery_mode=mode, message_id=id)
        await self._exchanges[kind].publish(message, name, mandatory=kind == "queue", timeout=30)

    async def release(self) -> None:
        """Takes no more work."""
        await self._cancel()
