/** NATS JetStream and RabbitMQ, as far as a worker needs them. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import amqp from "amqplib";
import {
  AckPolicy, connect, DiscardPolicy, nanos, NatsError, RetentionPolicy, type Consumer, type JsMsg, type NatsConnection, type TlsOptions,
} from "nats";

/** A message of a queue: count is the number of its deliveries. The methods reject if the broker is unreachable. */
export interface Delivery {
  readonly data: Uint8Array;
  readonly count: number;
  settle(verdict: "ack" | "nak" | "extend"): void;
}

/** The receiver of messages. onConnected is called after each connection; lost is set if the broker redelivers. */
export interface Receiver {
  readonly queue: string;
  readonly topics: readonly string[];
  readonly concurrency: number;
  onWork(delivery: Delivery): Promise<void>;
  onTopic(topic: string, data: Uint8Array): void;
  onConnected(lost: boolean): void;
  log(level: "info" | "warn", message: string): void;
}

/** A connection to a broker, which reconnects by itself. */
export interface Bus {
  /** Receives until close. It rejects if the broker refuses the credentials. */
  receive(receiver: Receiver): Promise<void>;
  /** Publishes at a queue, which has stored the message then, or at a topic. */
  publish(kind: "queue" | "topic", name: string, id: string, data: Uint8Array): Promise<void>;
  /** Takes no more work. */
  release(): Promise<void>;
  close(): Promise<void>;
}

const STREAM = "PARLEY";
const FETCH = 1000; // milliseconds for which one request waits for work at NATS
const QUEUE = { "x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DEAD = { "x-queue-type": "quorum", "x-delivery-limit": 2 ** 30 };
const COUNTS = ["parley-deliveries", "x-delivery-count"]; // headers of RabbitMQ with the number of earlier deliveries

export class NATS implements Bus {
  #connection?: NatsConnection;
  #released = false;
  #closed = false;
  #idle = Promise.resolve();

  constructor(readonly url: string, readonly name: string, readonly key?: string, readonly ca?: string) {}

  /** Connects. The package would wait for the first connection, too, but without a word about the cause of its failures. */
  async #connect(receiver: Receiver): Promise<NatsConnection | undefined> {
    const { username, password, host, hostname } = new URL(this.url);
    const token = this.key ?? (password ? undefined : decodeURIComponent(username) || undefined);
    const login = password ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : { token };
    // Node.js compares a certificate with the name localhost if it is connected to an address, unless it has the host.
    const secure: TlsOptions & { host: string } = { host: hostname.replace(/^\[|\]$/g, ""), caFile: this.ca };
    const tls = this.ca || this.url.startsWith("tls:") ? { tls: secure } : {};
    const options = { servers: host, ...login, ...tls, inboxPrefix: "_INBOX." + this.name, maxReconnectAttempts: -1, reconnectTimeWait: 500 };
    while (!this.#closed) {
      try {
        return await connect(options);
      } catch (e) {
        if (e instanceof NatsError && e.isAuthError()) throw e;
        receiver.log("warn", `NATS: ${(e as Error).message}`);
        await sleep(500);
      }
    }
  }

  async receive(receiver: Receiver): Promise<void> {
    const c = await this.#connect(receiver);
    if (!c || this.#closed) return c?.close();
    this.#connection = c;
    for (const topic of receiver.topics)
      c.subscribe("parley.topic." + topic, { callback: (_, m) => receiver.onTopic(topic, m.data) });
    await c.flush();
    receiver.onConnected(false);
    this.#idle = this.#work(c, receiver);
    void this.#watch(c, receiver);
    const error = await c.closed();
    if (error) throw error;
  }

  async #watch(c: NatsConnection, receiver: Receiver): Promise<void> {
    for await (const { type, data } of c.status()) {
      if (type === "reconnect") receiver.onConnected(false);
      else if (type === "disconnect" || type === "error") receiver.log("warn", `NATS: ${type} ${data}`);
    }
  }

  async #work(c: NatsConnection, receiver: Receiver): Promise<void> {
    let consumer: Consumer | undefined;
    while (!this.#released && !c.isClosed()) {
      try {
        consumer ??= await this.#declare(c, receiver.queue);
        const m: JsMsg | null = await consumer.next({ expires: FETCH });
        if (m)
          await receiver.onWork({
            data: m.data, count: m.info.deliveryCount, settle: (v) => (v === "ack" ? m.ack() : v === "nak" ? m.nak() : m.working()),
          });
      } catch (e) {
        receiver.log("warn", `NATS: no work: ${(e as Error).message}`);
        consumer = undefined;
        await sleep(500);
      }
    }
  }

  async #declare(c: NatsConnection, queue: string): Promise<Consumer> {
    const js = c.jetstream(), jsm = await js.jetstreamManager(false), name = queue.replaceAll(".", "+");
    const config = {
      name, durable_name: name, filter_subject: "parley.queue." + queue, ack_policy: AckPolicy.Explicit, ack_wait: nanos(30_000),
      max_deliver: -1, max_ack_pending: -1, max_waiting: 2048,
    };
    try {
      await jsm.consumers.info(STREAM, name);
    } catch {
      try {
        await jsm.consumers.add(STREAM, config);
      } catch { // a new broker; that of a hub has its stream
        const discard = DiscardPolicy.New, retention = RetentionPolicy.Workqueue;
        await jsm.streams.add({ name: STREAM, subjects: ["parley.queue.>"], retention, discard, duplicate_window: nanos(120_000) });
        await jsm.consumers.add(STREAM, config);
      }
    }
    return js.consumers.get(STREAM, name);
  }

  async publish(kind: "queue" | "topic", name: string, id: string, data: Uint8Array): Promise<void> {
    if (!this.#connection) throw new Error("NATS: not connected");
    if (kind === "topic") this.#connection.publish("parley.topic." + name, data);
    else await this.#connection.jetstream().publish("parley.queue." + name, data, { msgID: `${name}/${id}`, timeout: 5000 });
  }

  async release(): Promise<void> {
    this.#released = true;
    await Promise.race([this.#idle, sleep(2 * FETCH)]);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.race([this.#connection?.flush(), sleep(1000)]);
    await this.#connection?.close();
  }
}

export class RabbitMQ implements Bus {
  #connection?: amqp.ChannelModel;
  #channel?: amqp.ConfirmChannel;
  #tag = "";
  #released = false;
  #closed = false;

  constructor(readonly url: string, readonly ca?: string) {}

  async receive(receiver: Receiver): Promise<void> {
    while (!this.#closed) {
      try {
        this.#connection = await amqp.connect(this.url, this.ca ? { ca: [readFileSync(this.ca)] } : {});
        await this.#serve(this.#connection, receiver);
      } catch (e) {
        if (/ACCESS[_-]REFUSED/.test(String(e))) throw new Error(`RabbitMQ refuses the credentials: ${(e as Error).message}`);
        receiver.log("warn", `RabbitMQ: ${(e as Error).message}`);
      }
      this.#channel = undefined;
      if (!this.#closed) await sleep(500);
    }
  }

  async #serve(connection: amqp.ChannelModel, receiver: Receiver): Promise<void> {
    const lost = new Promise<void>((resolve) => connection.once("close", () => resolve()));
    connection.on("error", (e: Error) => receiver.log("warn", `RabbitMQ: ${e.message}`));
    for (const [name, args] of [["dead", DEAD], [receiver.queue, QUEUE]] as const) {
      const trial = await connection.createChannel();
      trial.on("error", () => {}); // an existing queue with other arguments is used unchanged
      await trial.assertQueue(name, { durable: true, arguments: args }).then(() => trial.close(), () => {});
    }
    const channel = await connection.createConfirmChannel();
    channel.on("error", (e: Error) => receiver.log("warn", `RabbitMQ: ${e.message}`));
    channel.once("close", () => void connection.close().catch(() => {}));
    await channel.prefetch(receiver.concurrency);
    await channel.assertExchange("parley.topics", "topic", { durable: true });
    const mine = await channel.assertQueue("", { exclusive: true, arguments: { "x-max-length": 4096 } });
    for (const topic of receiver.topics) await channel.bindQueue(mine.queue, "parley.topics", topic);
    await channel.consume(mine.queue, (m) => m && receiver.onTopic(m.fields.routingKey, m.content), { noAck: true });
    this.#channel = channel;
    receiver.onConnected(true);
    const onWork = (m: amqp.ConsumeMessage | null): void => {
      if (!m) return;
      const count = 1 + COUNTS.reduce((sum, name) => sum + Number(m.properties.headers?.[name] ?? 0), 0);
      const settle = (v: string): void => void (v === "ack" ? channel.ack(m) : v === "nak" && channel.nack(m));
      void receiver.onWork({ data: m.content, count, settle });
    };
    if (!this.#released) this.#tag = (await channel.consume(receiver.queue, onWork)).consumerTag;
    await lost;
  }

  publish(kind: "queue" | "topic", name: string, id: string, data: Uint8Array): Promise<void> {
    const channel = this.#channel, queue = kind === "queue";
    return new Promise((resolve, reject) => {
      if (!channel) return reject(new Error("RabbitMQ: not connected"));
      const options = { contentType: "application/json", deliveryMode: queue ? 2 : 1, messageId: id, mandatory: queue };
      const returned = (m: amqp.Message): void => void (m.properties.messageId === id && done(new Error(`RabbitMQ: no queue ${name}`)));
      const closed = (): void => done(new Error("RabbitMQ: connection lost"));
      const done = (e?: Error | null): void => {
        channel.off("return", returned).off("close", closed);
        if (e) reject(e);
        else resolve();
      };
      channel.on("return", returned).once("close", closed).setMaxListeners(1000);
      channel.publish(queue ? "" : "parley.topics", name, Buffer.from(data), options, done);
    });
  }

  async release(): Promise<void> {
    this.#released = true;
    if (this.#tag) await this.#channel?.cancel(this.#tag);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#channel?.waitForConfirms().catch(() => {});
    await this.#connection?.close().catch(() => {});
  }
}
