"""NATS JetStream and RabbitMQ, as far as a worker needs them."""

import asyncio
import logging
import secrets
import ssl
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import aio_pika
from nats.aio.client import Client
from nats.js import api, errors

if TYPE_CHECKING:
    from ._worker import Worker

log = logging.getLogger("parley_worker")
STREAM = "PARLEY"
FETCH = 1.0  # seconds for which one request waits for work at NATS
EXTEND = 7.5  # seconds, a quarter of those that NATS waits for an acknowledgment
QUEUE: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
DEAD: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 1 << 30}


class BusRefused(Exception):
    """The broker refuses the credentials of the worker."""


async def attempt(call: Awaitable[Any]) -> bool:
    """Awaits an operation of a broker, and returns whether it succeeded."""
    try:
        await call
    except Exception as e:
        log.info("broker: %r", e)
        return False
    return True


async def extend(message: Any, work: asyncio.Task[None]) -> None:
    """Extends the time for a delivery of NATS until its work is done."""
    while not (await asyncio.wait([work], timeout=EXTEND))[0]:
        await attempt(message.in_progress())


class NATS:
    """A connection to NATS. nats-py reconnects and subscribes again by itself."""

    def __init__(self, url: str, name: str, key: str | None, ca: str | None) -> None:
        self._client = Client()
        self._options: dict[str, Any] = {"servers": url, "token": key or None, "inbox_prefix": "_INBOX." + name}
        self._options |= {"tls": ssl.create_default_context(cafile=ca) if ca else None, "max_reconnect_attempts": -1, "reconnect_time_wait": 0.5}

    async def receive(self, worker: "Worker") -> None:
        """Receives for a worker until it is canceled."""

        async def on_error(e: Exception) -> None:
            log.warning("NATS: %r", e)
            if "authorization" in str(e).lower() and not worker.refused.done():
                worker.refused.set_exception(BusRefused(f"NATS refuses the credentials: {e}"))

        async def on_topic(message: Any) -> None:
            worker.topics[message.subject.removeprefix("parley.topic.")](message.data)

        async with self._client:
            await self._client.connect(**self._options, error_cb=on_error, reconnected_cb=worker.on_connected)
            for topic in worker.topics:
                await self._client.subscribe("parley.topic." + topic, cb=on_topic)
            await worker.on_connected()
            await self._work(worker)
            await asyncio.Event().wait()  # topics are received until the end

    async def _work(self, worker: "Worker") -> None:
        subscription = None
        while await worker.free():
            try:
                with suppress(TimeoutError):  # there is no work
                    subscription = subscription or await self._declare(worker.queue)
                    [m] = await worker.spawn(subscription.fetch(1, timeout=FETCH), worker.slots)
                    work = worker.spawn(worker.on_work(m.data, m.metadata.num_delivered, m.ack, m.nak), worker.slots)
                    worker.spawn(extend(m, work))
            except Exception as e:
                log.warning("NATS: no work: %r", e)
                subscription = None
                await asyncio.sleep(1)

    async def _declare(self, queue: str) -> Any:
        js, consumer = self._client.jetstream(), api.ConsumerConfig(ack_wait=30, max_deliver=-1, max_ack_pending=-1, max_waiting=2048)
        where = "parley.queue." + queue, queue.replace(".", "+"), STREAM, consumer
        try:
            return await js.pull_subscribe(*where)
        except errors.NotFoundError:  # a new broker; that of a hub has its stream
            stream = api.StreamConfig(STREAM, retention=api.RetentionPolicy.WORK_QUEUE, discard=api.DiscardPolicy.NEW, duplicate_window=120)
            # The sequence begins anywhere, so that no late acknowledgment of an earlier stream counts.
            await js.add_stream(stream, subjects=["parley.queue.>"], first_seq=1 + secrets.randbelow(1 << 52))
            return await js.pull_subscribe(*where)

    async def publish(self, address: str, id: str, data: bytes) -> None:
        """Publishes at queue.NAME, which has stored the message then, or at topic.NAME."""
        if address.startswith("topic."):
            await self._client.publish("parley." + address, data)
        else:
            headers = {"Nats-Msg-Id": f"{address.removeprefix('queue.')}/{id}"}
            await self._client.jetstream().publish("parley." + address, data, headers=headers)


class RabbitMQ:
    """A connection to RabbitMQ, and after its loss another one."""

    def __init__(self, url: str, ca: str | None) -> None:
        self._url, self._tls = url, ssl.create_default_context(cafile=ca) if ca else None
        self._exchanges: dict[str, Any] = {}  # by kind of address; empty while disconnected

    async def receive(self, worker: "Worker") -> None:
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

    async def _serve(self, connection: aio_pika.abc.AbstractConnection, worker: "Worker") -> None:
        for name, arguments in (("dead", DEAD), (worker.queue, QUEUE)):
            with suppress(aio_pika.exceptions.ChannelPreconditionFailed):  # an existing queue with other arguments is used unchanged
                await (await connection.channel()).declare_queue(name, durable=True, arguments=arguments)
        channel = await connection.channel(on_return_raises=True)
        await channel.set_qos(prefetch_count=worker.concurrency)
        topics = await channel.declare_exchange("parley.topics", aio_pika.ExchangeType.TOPIC, durable=True)
        mine = await channel.declare_queue(exclusive=True, arguments={"x-max-length": 4096})
        for topic in worker.topics:
            await mine.bind(topics, topic)

        async def on_topic(m: aio_pika.abc.AbstractIncomingMessage) -> None:
            worker.topics[m.routing_key or ""](m.body)

        async def on_work(m: aio_pika.abc.AbstractIncomingMessage) -> None:
            await worker.free()
            earlier = sum(int(str(m.headers.get(name) or 0)) for name in ("parley-deliveries", "x-delivery-count"))
            worker.spawn(worker.on_work(m.body, 1 + earlier, m.ack, m.nack), worker.slots)

        self._exchanges = {"queue": channel.default_exchange, "topic": topics}
        await mine.consume(on_topic, no_ack=True)
        await worker.on_connected()
        if not worker.leaving.done():
            work = await channel.get_queue(worker.queue)
            tag = await work.consume(on_work)
            await asyncio.wait([asyncio.ensure_future(channel.closed()), worker.leaving], return_when=asyncio.FIRST_COMPLETED)
            await attempt(work.cancel(tag))
        await channel.closed()

    async def publish(self, address: str, id: str, data: bytes) -> None:
        """Publishes at queue.NAME, which has stored the message then, or at topic.NAME."""
        if not self._exchanges:
            raise ConnectionError("RabbitMQ: not connected")
        kind, _, name = address.partition(".")
        message = aio_pika.Message(data, content_type="application/json", delivery_mode=2 if kind == "queue" else 1, message_id=id)
        await self._exchanges[kind].publish(message, name, mandatory=kind == "queue", timeout=30)
