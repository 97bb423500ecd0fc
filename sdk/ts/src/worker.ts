/** The worker of an agent. */

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NATS, RabbitMQ, type Bus, type Delivery, type Receiver } from "./brokers.js";
import type { Event, Question } from "./events.js";
import { Job } from "./job.js";
import { address, checkWork, decode, Invalid, Keys, letter, MAX_DELIVERIES, type Json } from "./wire.js";

/** Text is progress; the last event ends the job. */
export type Item = string | Event | Question<any>;

/** An agent: a generator of events, or a function that returns the answer, whose text completes the task. */
export type Agent = (job: Job) => AsyncIterable<Item> | Promise<Item>;

export interface WorkerOptions {
  /** The broker; by default $PARLEY_BUS, else that of the hub whose data folder is data. */
  url?: string;
  /** The keys HUB:KEY of the trusted hubs; by default that of bus.json, else all hubs are trusted. */
  hubs?: readonly string[];
  /** The data folder of a hub on this machine; by default $PARLEY_DATA, else parley-data. */
  data?: string;
  /** The key of the agent at a hub's own broker, and the file of the authority of its certificate. */
  key?: string;
  ca?: string;
  description?: string;
  /** Members of the agent's card. */
  card?: Json;
  /** A hub may give a task to another worker if this one is lost. */
  idempotent?: boolean;
  /** The number of jobs at one time; by default 8. */
  concurrency?: number;
  /** The milliseconds that jobs have to end after SIGTERM; by default 10000. */
  drain?: number;
  /** Called when the caller cancels. If it throws Refused, the agent continues; else it is canceled. */
  onCancel?: (job: Job, metadata: Json) => Promise<void> | void;
  log?: (level: "info" | "warn", message: string) => void;
}

const BEAT = 7500, ANNOUNCE = 120_000, GRACE = 3000; // milliseconds

/** Performs the tasks of the agent name, beside any number of other workers. */
export class Worker implements Receiver {
  readonly id: string;
  readonly queue: string;
  readonly topics: string[];
  readonly idempotent: boolean;
  readonly concurrency: number;
  readonly #card: Json;
  readonly #bus: Bus;
  readonly #keys: Keys;
  readonly #jobs = new Map<string, Job>();
  readonly #queued: (() => void)[] = [];
  readonly #started = Date.now();
  #busy = 0;
  #leaving = false;

  /** Throws an error that names the option if one is not valid. */
  constructor(readonly name: string, readonly handler: Agent, readonly options: WorkerOptions = {}) {
    this.id = `${name}.${randomBytes(8).toString("hex")}`;
    this.queue = address("name", "agent.task." + name);
    this.topics = [address("name", "worker." + this.id), "discovery.inquire"];
    this.concurrency = options.concurrency ?? 8;
    this.idempotent = options.idempotent ?? false;
    if (!(this.concurrency >= 1)) throw new RangeError(`concurrency: ${this.concurrency} is less than 1`);
    const description = options.description || name, modes = ["text/plain"];
    this.#card = {
      name, description, version: "1.0.0", capabilities: { streaming: true }, defaultInputModes: modes, defaultOutputModes: modes,
      skills: [{ id: name, name, description, tags: ["agent"] }], ...options.card,
    };
    [this.#bus, this.#keys] = this.#open();
  }

  #open(): [Bus, Keys] {
    let { url = process.env.PARLEY_BUS, key = process.env.PARLEY_BUS_KEY, hubs = [], data = process.env.PARLEY_DATA ?? "parley-data", ca } = this.options;
    if (!url) {
      const file = join(data, "bus.json");
      if (!existsSync(file)) throw new Error(`url: not set, and there is no ${file}: start parley serve in this folder, or set url or data`);
      const contact = JSON.parse(readFileSync(file, "utf8"));
      if (contact.certificate && !ca) throw new Error("ca: not set, and the hub's broker needs TLS; set it to the file of its certificate");
      [url, key, hubs] = [contact.url as string, contact.token, hubs.length ? hubs : [contact.hub]];
    }
    if (!hubs.length) this.log("warn", "hubs: not set, so every program at the broker may act as a hub");
    const [scheme = ""] = url.split("://");
    if (!["nats", "tls", "amqp", "amqps"].includes(scheme)) throw new Error(`url: ${scheme}:// is no address of a broker; nats, tls, amqp and amqps are known`);
    return [scheme.startsWith("amqp") ? new RabbitMQ(url, ca) : new NATS(url, this.name, key, ca), new Keys(hubs)];
  }

  log(level: "info" | "warn", message: string): void {
    if (this.options.log) this.options.log(level, message);
    else console.error(`parley-worker: ${message}`);
  }

  /** Serves until SIGTERM or SIGINT, or until stop is aborted. A second signal ends the process at once. */
  async run(stop?: AbortSignal): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
      stop?.addEventListener("abort", () => resolve());
    });
    const receiving = this.#bus.receive(this);
    let announced = Date.now(), beaten = announced;
    const alive = setInterval(() => {
      const interval = Math.min(BEAT, ...[...this.#jobs.values()].map((job) => job.lease / 4));
      if (Date.now() - beaten >= interval) (beaten = Date.now()), this.#beat();
      if (Date.now() - announced >= ANNOUNCE) (announced = Date.now()), void this.#announce();
    }, 100);
    try {
      await Promise.race([ended.then(() => this.#leave()), receiving]);
    } finally {
      clearInterval(alive);
      await this.#bus.close();
    }
  }

  /** Takes no more work, lets jobs end, and returns the others to their hubs. */
  async #leave(): Promise<void> {
    this.#leaving = true;
    for (const job of this.#jobs.values()) if (!job.epoch) (job.settle("nak"), job.drop());
    await this.#bus.release().catch(() => {});
    for (const time of [this.options.drain ?? 10_000, GRACE]) {
      if (this.#jobs.size) await Promise.race([Promise.all([...this.#jobs.values()].map((job) => job.done)), sleep(time, undefined, { ref: false })]);
      for (const job of this.#jobs.values()) job.giveBack();
    }
    await this.publish("topic", "discovery.announce", "agent.leave", { agent: this.name, worker: this.id }, undefined, { source: "agent/" + this.name });
  }

  async onWork(delivery: Delivery): Promise<void> {
    while (this.#busy >= this.concurrency) await new Promise<void>((resolve) => this.#queued.push(resolve));
    let work: Json;
    try {
      if (delivery.count > MAX_DELIVERIES) throw new Invalid(`delivered ${MAX_DELIVERIES} times at queue ${this.queue} and never acknowledged`);
      work = this.#read(delivery.data, "agent/" + this.name);
      checkWork(work);
    } catch (e) {
      return void this.#bury(delivery, (e as Error).message);
    }
    const key = JSON.stringify([work.source, work.owner ?? "", work.task]), number: number = work.body.delivery, other = this.#jobs.get(key);
    if (other?.work.body.delivery === number) return void other.deliveries.push(delivery); // the same work again
    const job = new Job(this, work, delivery);
    if (this.#leaving || (other && other.work.body.delivery > number)) return job.settle(this.#leaving ? "nak" : "ack");
    if (other) (other.settle("ack"), other.drop()); // the newer delivery replaces it
    this.#jobs.set(key, job);
    this.#busy++;
    job.done = this.#perform(key, job);
  }

  async #perform(key: string, job: Job): Promise<void> {
    await job.perform().catch((e) => this.log("warn", `task ${job.taskId}: ${e}`));
    job.settle("ack");
    if (this.#jobs.get(key) === job) this.#jobs.delete(key);
    this.#busy--;
    this.#queued.shift()?.();
  }

  /** Moves a delivery to the queue dead. */
  async #bury(delivery: Delivery, reason: string): Promise<void> {
    this.log("warn", `work refused: ${reason}`);
    const { id, data } = letter(delivery.data, reason, this.queue, "worker/" + this.id);
    for (let moved = false; !moved; moved || (await sleep(1000, undefined, { ref: false })))
      moved = await this.#bus.publish("queue", "dead", id, data).then(() => true, () => false);
    delivery.settle("ack");
  }

  onTopic(topic: string, data: Uint8Array): void {
    if (topic !== this.topics[0]) return void this.#announce();
    try {
      const { type, source, owner = "", task, epoch = 0, seq = 0, body } = this.#read(data, "worker/" + this.id);
      const job = this.#jobs.get(JSON.stringify([source, owner, task]));
      if (job) job.handle(type, epoch, seq, body);
      else if (type === "job.grant") { // for a claim that the worker has dropped
        const report = { token: body.token, worker: this.id, givenBack: true }, about = { destination: source, owner, task, epoch, seq: 1 };
        void this.publish("queue", "hub.report." + source.slice("hub/".length), "job.report", report, undefined, about);
      }
    } catch (e) {
      this.log("warn", `message ignored: ${(e as Error).message}`);
    }
  }

  onConnected(lost: boolean): void {
    this.log("info", `connected; performing the tasks of agent ${this.name} as worker ${this.id}`);
    for (const job of this.#jobs.values()) {
      if (lost) job.deliveries.length = 0;
      job.resend();
    }
    void this.#announce();
  }

  #read(data: Uint8Array, me: string): Json {
    const { envelope, text } = decode(data);
    if ((envelope.destination ?? me) !== me) throw new Invalid(`destination: ${envelope.destination}, not ${me}`);
    this.#keys.verify(envelope, text);
    return envelope;
  }

  /** Extends the deliveries, and shows each hub which of its jobs are alive. */
  #beat(): void {
    const hubs = new Map<string, { source: string; jobs: Json[] }>();
    for (const job of this.#jobs.values()) {
      job.settle("extend");
      const { source, replyTo, task, owner = "" } = job.work;
      if (!hubs.has(replyTo)) hubs.set(replyTo, { source, jobs: [] });
      if (job.epoch) hubs.get(replyTo)!.jobs.push({ task, owner, epoch: job.epoch, token: job.token });
    }
    for (const [topic, { source, jobs }] of hubs)
      if (jobs.length) void this.publish("topic", topic, "job.beat", { worker: this.id, jobs }, undefined, { destination: source });
  }

  #announce(): Promise<void> {
    const body = { agent: this.name, card: this.#card, worker: this.id, idempotent: this.idempotent, started: this.#started };
    return this.publish("topic", "discovery.announce", "agent.announce", body, undefined, { source: "agent/" + this.name });
  }

  /** Publishes an envelope that may be lost. */
  async publish(kind: "queue" | "topic", name: string, type: string, body: Json, job?: Job, members: Json = {}): Promise<void> {
    await this.send(kind, name, type, body, job, members).catch(() => {});
  }

  /** Publishes an envelope, about a job if it is given. */
  async send(kind: "queue" | "topic", name: string, type: string, body: Json, job?: Job, members: Json = {}): Promise<void> {
    const id = randomBytes(16).toString("hex");
    const { source: destination, task, owner, correlation, trace } = job?.work ?? {};
    const about = { destination, task, owner, correlation, trace, epoch: job?.epoch || undefined };
    const envelope = { v: 1, id, type, time: Date.now(), source: "worker/" + this.id, replyTo: this.topics[0], ...about, ...members, body };
    await this.#bus.publish(kind, name, id, Buffer.from(JSON.stringify(envelope)));
  }
}
