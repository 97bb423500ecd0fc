/** NATS JetStream and RabbitMQ, as far as a worker needs them. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import amqp from "amqplib";
import * as nats from "nats";
import type { Worker } from "./worker.js";

/** The settlement of a message of a queue: working extends the time for it. */
export type Verdict = "ack" | "nak" | "working";

/** A message of a queue: count is the number of its deliveries. The promise rejects if the broker is unreachable, and redelivers. */
export interface Delivery { data: Uint8Array; count: number; settle(verdict: Verdict): Promise<void> }

const STREAM = "PARLEY";
const FETCH = 1000; // milliseconds for which one request waits for work at NATS
const PAUSE = 500; // milliseconds until the next attempt
const QUEUE = { "x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DEAD = { "x-queue-type": "quorum", "x-delivery-limit": 2 ** 30 };
const COUNTS = ["parley-deliveries", "x-delivery-count"]; // headers of RabbitMQ with the number of earlier deliveries

/** A connection to NATS, which reconnects by itself. */
export class NATS {
  #connection?: nats.NatsConnection;

  constructor(readonly url: string, readonly name: string, readonly key?: string, readonly ca?: string) {}

  /** Connects. The package would wait for the first connection, too, but without a word about the cause of its failures. */
  async #connect(worker: Worker): Promise<nats.NatsConnection | undefined> {
    const { username, password, host, hostname } = new URL(this.url);
    const user = decodeURIComponent(username) || undefined, pass = decodeURIComponent(password);
    const login = pass ? { user, pass } : { token: this.key ?? user };
    // Node.js compares a certificate with the name localhost if it is connected to an address, unless it has the host.
    const secure: nats.TlsOptions & { host: string } = { host: hostname.replace(/^\[|\]$/g, ""), caFile: this.ca };
    const tls = this.ca || this.url.startsWith("tls:") ? secure : undefined;
    const options = { servers: host, ...login, tls, inboxPrefix: "_INBOX." + this.name, maxReconnectAttempts: -1, reconnectTimeWait: PAUSE };
    while (!worker.leaving) {
      try {
        return (this.#connection = await nats.connect(options));
      } catch (e) {
        if (e instanceof nats.NatsError && e.isAuthError()) throw e;
        worker.log("warn", `NATS: ${(e as Error).message}`);
        await sleep(PAUSE);
      }
    }
  }

  /** Receives for the worker until close. It rejects if the broker refuses the credentials. */
  async receive(worker: Worker): Promise<void> {
    const c = await this.#connect(worker);
    if (!c) return;
    for (const topic of worker.topics) c.subscribe("parley.topic." + topic, { callback: (_, m) => worker.onTopic(topic, m.data) });
    await c.flush();
    worker.onConnected();
    void this.#work(c, worker);
    for await (const { type, data } of c.status()) {
      if (type === "reconnect") worker.onConnected();
      else if (type === "disconnect" || type === "error") worker.log("warn", `NATS: ${type} ${data}`);
    }
    const error = await c.closed();
    if (error) throw error;
  }

  async #work(c: nats.NatsConnection, worker: Worker): Promise<void> {
    let consumer: nats.Consumer | undefined;
    while ((await worker.free()) && !c.isClosed()) {
      try {
        consumer ??= await this.#declare(c, worker.queue);
        const m = await worker.occupy(consumer.next({ expires: FETCH }));
        if (m) void worker.onWork({ data: m.data, count: m.info.deliveryCount, settle: async (verdict) => m[verdict]() });
      } catch (e) {
        worker.log("warn", `NATS: no work: ${(e as Error).message}`);
        consumer = undefined;
        await sleep(PAUSE);
      }
    }
  }

  async #declare(c: nats.NatsConnection, queue: string): Promise<nats.Consumer> {
    const js = c.jetstream(), jsm = await js.jetstreamManager(false), name = queue.replaceAll(".", "+");
    const add = () => jsm.consumers.add(STREAM, {
      name, durable_name: name, filter_subject: "parley.queue." + queue, ack_policy: nats.AckPolicy.Explicit, ack_wait: nats.nanos(30_000),
      max_deliver: -1, max_ack_pending: -1, max_waiting: 2048,
    });
    const discard = nats.DiscardPolicy.New, retention = nats.RetentionPolicy.Workqueue;
    const stream = { name: STREAM, subjects: ["parley.queue.>"], retention, discard, duplicate_window: nats.nanos(120_000) };
    const first_seq = 1 + Math.floor(Math.random() * 2 ** 52); // so that no late acknowledgment of an earlier stream counts
    // The stream is missing at a new broker only: that of a hub has it. Before version 2.10 all streams begin at 1.
    const create = () => jsm.streams.add({ ...stream, first_seq }).catch(() => jsm.streams.add(stream));
    await jsm.consumers.info(STREAM, name).catch(add).catch(() => create().then(add));
    return js.consumers.get(STREAM, name);
  }

  /** Publishes at queue.NAME, which has stored the message then, or at topic.NAME. */
  async publish(address: string, id: string, data: Uint8Array): Promise<void> {
    if (!this.#connection) throw new Error("NATS: not connected");
    if (address.startsWith("topic.")) this.#connection.publish("parley." + address, data);
    else await this.#connection.jetstream().publish("parley." + address, data, { msgID: `${address.slice(6)}/${id}`, timeout: 5000 });
  }

  /** Takes no more work: see Worker.free. */
  async release(): Promise<void> {}

  async close(): Promise<void> {
    await Promise.race([this.#connection?.flush(), sleep(1000)]);
    await this.#connection?.close();
  }
}

/** A connection to RabbitMQ, which reconnects by itself. */
export class RabbitMQ {
  #connection?: amqp.RecoveringChannelModel;
  #channel?: amqp.ConfirmChannel;
  #tag = "";
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
      const settle = async (verdict: Verdict) => void (verdict === "ack" ? channel.ack(m) : verdict === "nak" && channel.nack(m));
      void worker.onWork({ data: m.content, count, settle });
    };
    if (!worker.leaving) this.#tag = (await channel.consume(worker.queue, onWork)).consumerTag;
  }

  async publish(address: string, id: string, data: Uint8Array): Promise<void> {
    const channel = this.#channel, queue = address.startsWith("queue."), name = address.slice(6);
    if (!channel) throw new Error("RabbitMQ: not connected");
    const options = { contentType: "application/json", deliveryMode: queue ? 2 : 1, messageId: id, mandatory: queue };
    await new Promise<void>((resolve, reject) => {
      channel.publish(queue ? "" : "parley.topics", name, Buffer.from(data), options, (e) => (e ? reject(e) : resolve()));
    });
    if (this.#returned.delete(id)) throw new Error(`RabbitMQ: no queue ${name}`); // returned before it was confirmed
  }

  async release(): Promise<void> {
    if (this.#tag) await this.#channel?.cancel(this.#tag);
  }

  async close(): Promise<void> {
    await this.#channel?.waitForConfirms().catch(() => {});
    await this.#connection?.close();
  }
}
