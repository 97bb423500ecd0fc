"""A worker on NATS JetStream: python worker_nats.py nats://… NAME HUBKEY…"""

import asyncio, signal, sys
import nats
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig
from nats.js.errors import NotFoundError
from agent import CARD, agent
from job import Ack, Extend, Keys, Publish, Worker

STREAM = "PARLEY"


async def main(url, name, *keys):
    worker = Worker(name, agent, Keys(*keys), {**CARD, "name": name}, idempotent=True)
    loop, woken = asyncio.get_running_loop(), asyncio.Event()
    worker.wake = lambda: loop.call_soon_threadsafe(woken.set)

    async def heard(message):
        worker.heard(message.data)
        woken.set()

    async def inquired(message):
        worker.announce()
        woken.set()

    async def reconnected():
        worker.reconnected(lost=False)
        woken.set()

    def leave():
        worker.leave()
        woken.set()

    connection = await nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=1, reconnected_cb=reconnected,
                                    inbox_prefix="_INBOX." + name)  # a key of the embedded broker opens that one
    await connection.subscribe("parley.topic." + worker.topic, cb=heard)
    await connection.subscribe("parley.topic.discovery.inquire", cb=inquired)
    loop.add_signal_handler(signal.SIGTERM, leave)
    receiving = asyncio.create_task(receive(connection.jetstream(), worker))
    while not (worker.gone() and receiving.done()):  # what a request still brings is given back
        try:
            await asyncio.wait_for(woken.wait(), 1)
        except asyncio.TimeoutError:
            pass
        woken.clear()
        worker.tick()
        while worker.todo:
            try:
                await do(connection, worker.todo[0])
                worker.todo.popleft()
            except (nats.errors.Error, asyncio.TimeoutError) as problem:
                print("not published yet:", repr(problem), file=sys.stderr, flush=True)
                await asyncio.sleep(1)
    await connection.close()


async def receive(js, worker, concurrency=8):
    """Takes work while there is room for it."""
    subscription = None
    while worker.left is None:
        try:
            if not subscription:
                subscription = await declare(js, worker)
            room = concurrency - len(worker.jobs)
            if room <= 0:
                await asyncio.sleep(0.1)
                continue
            for message in await subscription.fetch(room, timeout=2):
                worker.work(message.data, message, message.metadata.num_delivered)
            worker.wake()
        except asyncio.TimeoutError:
            pass  # there is nothing to do
        except nats.errors.Error as problem:
            print("no work:", repr(problem), file=sys.stderr, flush=True)
            subscription = None
            await asyncio.sleep(1)


async def declare(js, worker):
    consumer = worker.queue.replace(".", "+")
    config = ConsumerConfig(name=consumer, durable_name=consumer, filter_subject="parley.queue." + worker.queue, ack_policy=AckPolicy.EXPLICIT,
                            ack_wait=30, max_deliver=-1, max_ack_pending=-1, max_waiting=2048)
    try:
        await js.consumer_info(STREAM, consumer)
    except NotFoundError:
        try:
            await js.add_consumer(STREAM, config)
        except NotFoundError:  # not on the broker of a hub, where a key opens no stream
            await js.add_stream(StreamConfig(STREAM, subjects=["parley.queue.>"], retention=RetentionPolicy.WORK_QUEUE, discard=DiscardPolicy.NEW, duplicate_window=120))
            await js.add_consumer(STREAM, config)
    return await js.pull_subscribe_bind(consumer, STREAM)


async def do(connection, action):
    if isinstance(action, Publish) and action.kind == "queue":
        await connection.jetstream().publish("parley.queue." + action.name, action.data, headers={"Nats-Msg-Id": action.name + "/" + action.id})
    elif isinstance(action, Publish):
        await connection.publish("parley.topic." + action.name, action.data)
    elif isinstance(action, Ack):
        await action.delivery.ack()
    elif isinstance(action, Extend):
        await action.delivery.in_progress()
    else:
        await action.delivery.nak(delay=1)  # when this worker is gone


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
