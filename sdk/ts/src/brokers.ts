/** NATS JetStream and RabbitMQ, as far as a worker needs them. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import amqp from "amqplib";
import {
  AckPolicy, connect, DiscardPolicy, nanos, NatsError, RetentionPolicy, type Consumer, type NatsConnection, type TlsOptions,
} from "nats";
import type { Worker } from "./worker.js";

/** A message of a queue: count is the number of its deliveries. The method throws if the broker is unreachable. */
export interface Delivery {
  readonly data: Uint8Array;
  readonly count: number;
  settle(verdict: "ack" | "nak" | "extend"): void;
}

/** A connection to a broker, which reconnects by itself. */
export type Bus = NATS | RabbitMQ;

/** A message goes to a queue, which stores it, or to a topic. */
export type Kind = "queue" | "topic";

const STREAM = "PARLEY";
const FETCH = 1000; // milliseconds for which one request waits for work at NATS
const PAUSE = 500; // milliseconds until the next attempt
const QUEUE = { "x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DEAD = { "x-queue-type": "quorum", "x-delivery-limit": 2 ** 30 };
const COUNTS = ["parley-deliveries", "x-delivery-count"]; // headers of RabbitMQ with the number of earlier deliveries

export class NATS {
  #connection?: NatsConnection;
  #released = false;
  #idle = Promise.resolve();

  constructor(readonly url: string, readonly name: string, readonly key?: string, readonly ca?: string) {}

  /** Connects. The package would wait for the first connection, too, but without a word about the cause of its failures. */
  async #connect(worker: Worker): Promise<NatsConnection | undefined> {
    const { username, password, host, hostname } = new URL(this.url);
    const user = decodeURIComponent(username) || undefined, pass = decodeURIComponent(password);
    const login = pass ? { user, pass } : { token: this.key ?? user };
    // Node.js compares a certificate with the name localhost if it is connected to an address, unless it has the host.
    const secure: TlsOptions & { host: string } = { host: hostname.replace(/^\[|\]$/g, ""), caFile: this.ca };
    const tls = this.ca || this.url.startsWith("tls:") ? { tls: secure } : {};
    const options = { servers: host, ...login, ...tls, inboxPrefix: "_INBOX." + this.name, maxReconnectAttempts: -1, reconnectTimeWait: PAUSE };
    while (!this.#released) {
      try {
        return (this.#connection = await connect(options));
      } catch (e) {
        if (e instanceof NatsError && e.isAuthError()) throw e;
        worker.log("warn", `NATS: ${(e as Error).message}`);
        await sleep(PAUSE);
      }
    }
  }

  /** Receives for the worker until close. It rejects if the broker refuses the credentials. */
  async receive(worker: Worker): Promise<void> {
    const c = await this.#connect(worker);
    if (!c || this.#released) return c?.close();
    for (const topic of worker.topics)
      c.subscribe("parley.topic." + topic, { callback: (_, m) => worker.onTopic(topic, m.data) });
    await c.flush();
    worker.onConnected();
    this.#idle = this.#work(c, worker);
    for await (const { type, data } of c.status()) {
      if (type === "reconnect") worker.onConnected();
      else if (type === "disconnect" || type === "error") worker.log("warn", `NATS: ${type} ${data}`);
    }
    const error = await c.closed();
    if (error) throw error;
  }

  async #work(c: NatsConnection, worker: Worker): Promise<void> {
    let consumer: Consumer | undefined;
    while (!this.#released && !c.isClosed()) {
      try {
        consumer ??= await this.#declare(c, worker.queue);
        const m = await consumer.next({ expires: FETCH });
        if (!m) continue;
        const settle: Delivery["settle"] = (v) => (v === "ack" ? m.ack() : v === "nak" ? m.nak() : m.working());
        await worker.onWork({ data: m.data, count: m.info.deliveryCount, settle });
      } catch (e) {
        worker.log("warn", `NATS: no work: ${(e as Error).message}`);
        consumer = undefined;
        await sleep(PAUSE);
      }
    }
  }

  async #declare(c: NatsConnection, queue: string): Promise<Consumer> {
    const js = c.jetstream(), jsm = await js.jetstreamManager(false), name = queue.replaceAll(".", "+");
    const add = () => jsm.consumers.add(STREAM, {
      name, durable_name: name, filter_subject: "parley.queue." + queue, ack_policy: AckPolicy.Explicit, ack_wait: nanos(30_000),
      max_deliver: -1, max_ack_pending: -1, max_waiting: 2048,
    });
    const discard = DiscardPolicy.New, retention = RetentionPolicy.Workqueue;
    const stream = { name: STREAM, subjects: ["parley.queue.>"], retention, discard, duplicate_window: nanos(120_000) };
    // The stream is missing at a new broker only: that of a hub has it.
    await jsm.consumers.info(STREAM, name).catch(add).catch(() => jsm.streams.add(stream).then(add));
    return js.consumers.get(STREAM, name);
  }

  async publish(kind: Kind, name: string, id: string, data: Uint8Array): Promise<void> {
    if (!this.#connection) throw new Error("NATS: not connected");
    if (kind === "topic") this.#connection.publish("parley.topic." + name, data);
    else await this.#connection.jetstream().publish("parley.queue." + name, data, { msgID: `${name}/${id}`, timeout: 5000 });
  }

  /** Takes no more work. */
  async release(): Promise<void> {
    this.#released = true;
    await Promise.race([this.#idle, sleep(2 * FETCH)]);
  }

  async close(): Promise<void> {
    this.#released = true;
    await Promise.race([this.#connection?.flush(), sleep(1000)]);
    await this.#connection?.close();
  }
}

export class RabbitMQ {
  #connection?: amqp.RecoveringChannelModel;
  #channel?: amqp.ConfirmChannel;
  #tag = "";
  #released = false;
  readonly #returned = new Set<string>();

  constructor(readonly url: string, readonly ca?: string) {}

  async receive(worker: Worker): Promise<void> {
    const warn = (e: Error): void => worker.log("warn", `RabbitMQ: ${e.message}`);
    const setup = (c: amqp.ChannelModel): Promise<void> => this.#serve(c.on("error", warn), worker);
    const recovery: amqp.RecoveryOptions = { setup, waitForConnect: false, calculateDelay: () => PAUSE };
    const connection = await amqp.connect(this.url, { ...(this.ca && { ca: [readFileSync(this.ca)] }), recovery });
    this.#connection = connection.on("disconnect", warn).on("error", () => {}); // setup logs the errors
    await new Promise((_, reject) => connection.on("connect-failed", (e: Error) => {
      warn(e);
      if (/ACCESS[_-]REFUSED/.test(String(e))) reject(new Error(`RabbitMQ refuses the credentials: ${e.message}`));
    }));
  }

  async #serve(connection: amqp.ChannelModel, worker: Worker): Promise<void> {
    for (const [name, args] of [["dead", DEAD], [worker.queue, QUEUE]] as const) {
      const trial = await connection.createChannel();
      trial.on("error", () => {}); // an existing queue with other arguments is used unchanged
      await trial.assertQueue(name, { durable: true, arguments: args }).then(() => trial.close(), () => {});
    }
    const channel = await connection.createConfirmChannel();
    channel.on("error", (e) => worker.log("warn", `RabbitMQ: ${e.message}`)).on("return", (m) => this.#returned.add(m.properties.messageId));
    channel.once("close", () => void connection.close().catch(() => {})); // and connects again
    await channel.prefetch(worker.concurrency);
    await channel.assertExchange("parley.topics", "topic", { durable: true });
    const mine = await channel.assertQueue("", { exclusive: true, arguments: { "x-max-length": 4096 } });
    for (const topic of worker.topics) await channel.bindQueue(mine.queue, "parley.topics", topic);
    await channel.consume(mine.queue, (m) => m && worker.onTopic(m.fields.routingKey, m.content), { noAck: true });
    this.#channel = channel;
    worker.onConnected();
    const onWork = (m: amqp.ConsumeMessage | null): void => {
      if (!m) return;
      const count = 1 + COUNTS.reduce((sum, name) => sum + Number(m.properties.headers?.[name] ?? 0), 0);
      const settle = (v: string): void => void (v === "ack" ? channel.ack(m) : v === "nak" && channel.nack(m));
      void worker.onWork({ data: m.content, count, settle });
    };
    if (!this.#released) this.#tag = (await channel.consume(worker.queue, onWork)).consumerTag;
  }

  async publish(kind: Kind, name: string, id: string, data: Uint8Array): Promise<void> {
    const channel = this.#channel, queue = kind === "queue";
    if (!channel) throw new Error("RabbitMQ: not connected");
    const options = { contentType: "application/json", deliveryMode: queue ? 2 : 1, messageId: id, mandatory: queue };
    await new Promise<void>((resolve, reject) => {
      channel.publish(queue ? "" : "parley.topics", name, Buffer.from(data), options, (e) => (e ? reject(e) : resolve()));
    });
    if (this.#returned.delete(id)) throw new Error(`RabbitMQ: no queue ${name}`); // returned before it was confirmed
  }

  async release(): Promise<void> {
    this.#released = true;
    if (this.#tag) await this.#channel?.cancel(this.#tag);
  }

  async close(): Promise<void> {
    await this.#channel?.waitForConfirms().catch(() => {});
    await this.#connection?.close();
  }
}
