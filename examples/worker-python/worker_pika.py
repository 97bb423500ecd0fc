"""A worker on RabbitMQ: python worker_pika.py amqp://… NAME HUBKEY…"""

import signal, sys, time
import pika
from agent import CARD, agent
from job import Ack, Extend, Keys, Publish, Worker

DEAD = {"x-queue-type": "quorum", "x-delivery-limit": 1 << 30}
QUEUE = {"x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}

COUNTS = "parley-deliveries", "x-delivery-count"  # headers: how often it was delivered before


def main(url, name, *keys):
    worker = Worker(name, agent, Keys(*keys), {**CARD, "name": name}, idempotent=True)
    signal.signal(signal.SIGTERM, lambda *_: worker.leave())
    while not worker.gone():
        try:
            with pika.BlockingConnection(pika.URLParameters(url)) as connection:
                serve(connection, worker)
        except (pika.exceptions.AMQPError, OSError) as problem:
            print("connection lost:", repr(problem), file=sys.stderr, flush=True)
            time.sleep(1)


def serve(connection, worker, concurrency=8):
    channel = connection.channel()
    channel.confirm_delivery()
    channel.basic_qos(prefetch_count=concurrency)
    channel.queue_declare("dead", durable=True, arguments=DEAD)
    channel.queue_declare(worker.queue, durable=True, arguments=QUEUE)
    channel.exchange_declare("parley.topics", "topic", durable=True)
    mine = channel.queue_declare("", exclusive=True, arguments={"x-max-length": 4096}).method.queue
    channel.queue_bind(mine, "parley.topics", worker.topic)
    channel.queue_bind(mine, "parley.topics", "discovery.inquire")

    def on_topic(_, method, properties, data):
        if method.routing_key == worker.topic:
            worker.heard(data)
        else:
            worker.announce()

    def on_work(_, method, properties, data):
        if worker.left is None:  # else it goes to somebody else when the connection ends
            headers = properties.headers or {}
            worker.work(data, method.delivery_tag, 1 + sum(int(headers.get(name, 0)) for name in COUNTS))

    def wake():
        try:
            connection.add_callback_threadsafe(lambda: None)
        except pika.exceptions.AMQPError:
            pass  # the connection is lost

    channel.basic_consume(mine, on_topic, auto_ack=True)
    channel.basic_consume(worker.queue, on_work)
    worker.wake = wake
    worker.reconnected()
    while not worker.gone():
        connection.process_data_events(time_limit=1)
        worker.tick()
        while worker.todo:
            do(channel, worker.todo[0])
            worker.todo.popleft()


def do(channel, action):
    if isinstance(action, Publish):
        queue = action.kind == "queue"
        properties = pika.BasicProperties(content_type="application/json", delivery_mode=2 if queue else 1, message_id=action.id)
        channel.basic_publish("" if queue else "parley.topics", action.name, action.data, properties, mandatory=queue)
    elif isinstance(action, Ack):
        channel.basic_ack(action.delivery)
    elif not isinstance(action, Extend):  # RabbitMQ knows that the worker lives
        channel.basic_nack(action.delivery)


if __name__ == "__main__":
    main(*sys.argv[1:])
