/** The worker of an agent. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NATS, RabbitMQ, type Delivery, type Verdict } from "./brokers.js";
import type { Event, Question } from "./events.js";
import { Job } from "./job.js";
import { address, checkWork, decode, letter, read, trust, MAX_DELIVERIES, VERSION, type Json, type Verify } from "./wire.js";

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

const keyOf = ({ source, owner = "", task }: Json): string => JSON.stringify([source, owner, task]);

/** Performs the tasks of the agent name, beside any number of other workers. */
export class Worker {
  readonly id = `${this.name}.${randomBytes(8).toString("hex")}`;
  readonly queue = address("name", "agent.task." + this.name);
  readonly topics = [address("name", "worker." + this.id), "discovery.inquire"] as const;
  readonly idempotent = this.options.idempotent ?? false;
  readonly concurrency = this.options.concurrency ?? 8;
  readonly log = this.options.log ?? ((_, message) => console.error(`parley-worker: ${message}`));
  readonly #bus: NATS | RabbitMQ;
  readonly #verify: Verify;
  readonly #jobs = new Map<string, Job>();
  readonly #deliveries = new Set<Delivery>(); // not settled yet
  readonly #slots = new Set<Promise<unknown>>(); // the occupied ones
  readonly #started = Date.now();
  #beaten = 0;
  leaving = false;

  /** Throws an error that names the option if one is not valid. */
  constructor(readonly name: string, readonly handler: Agent, readonly options: WorkerOptions = {}) {
    if (!(this.concurrency >= 1)) throw new RangeError(`concurrency: ${this.concurrency} is less than 1`);
    const { PARLEY_BUS, PARLEY_BUS_KEY, PARLEY_DATA = "parley-data" } = process.env;
    let { url = PARLEY_BUS, key = PARLEY_BUS_KEY, hubs = [], data = PARLEY_DATA, ca } = options;
    if (!url) {
      const file = join(data, "bus.json");
      if (!existsSync(file)) throw new Error(`url: not set, and there is no ${file}: start parley serve in this folder, or set url or data`);
      const contact = JSON.parse(readFileSync(file, "utf8"));
      if (contact.certificate && !ca) throw new Error("ca: not set, and the hub's broker needs TLS; set it to the file of its certificate");
      [url, key, hubs] = [contact.url as string, contact.token, hubs.length ? hubs : [contact.hub]];
    }
    if (!hubs.length) this.log("warn", "hubs: not set, so every program at the broker may act as a hub");
    const [scheme = ""] = url.split("://");
    if (!["nats", "tls", "amqp", "amqps"].includes(scheme)) throw new Error(`url: ${scheme}:// is not the address of a broker; use nats, tls, amqp or amqps`);
    this.#bus = scheme.startsWith("amqp") ? new RabbitMQ(url, ca) : new NATS(url, name, key, ca);
    this.#verify = trust(hubs);
  }

  /** Serves until SIGTERM or SIGINT, or until stop is aborted. A second signal ends the process at once. */
  async run(stop?: AbortSignal): Promise<void> {
    const ends = [once(process, "SIGTERM"), once(process, "SIGINT"), ...(stop ? [once(stop, "abort")] : [])];
    const timers = [setInterval(() => void this.#announce(), ANNOUNCE), setInterval(() => this.#beat(), 100)];
    try {
      await Promise.race([Promise.race(ends).then(() => this.#leave()), this.#bus.receive(this)]);
    } finally {
      timers.forEach(clearInterval);
      await this.#bus.close();
    }
  }

  /** Takes no more work, lets jobs end, and returns the others to their hubs. */
  async #leave(): Promise<void> {
    this.leaving = true;
    for (const job of this.#jobs.values()) if (!job.grant.epoch) job.drop("nak");
    await this.#bus.release().catch(() => {});
    for (const time of [this.options.drain ?? 10_000, GRACE]) {
      await Promise.race([Promise.allSettled(this.#slots), sleep(time, undefined, { ref: false })]);
      for (const job of this.#jobs.values()) job.giveBack();
    }
    await this.#announce("agent.goodbye", {});
  }

  /** Waits for a free slot, and returns whether the worker takes more work. */
  async free(): Promise<boolean> {
    while (this.#slots.size >= this.concurrency) await Promise.race(this.#slots);
    return !this.leaving;
  }

  /** Occupies a slot until a promise is settled. */
  occupy<T>(work: Promise<T>): Promise<T> {
    const slot = work.finally(() => this.#slots.delete(slot));
    this.#slots.add(slot);
    return slot;
  }

  /** Performs work, once there is a free slot, and settles it. */
  async onWork(delivery: Delivery): Promise<void> {
    while (this.#slots.size >= this.concurrency) await this.free();
    this.#deliveries.add(delivery);
    const verdict = await this.occupy(this.#perform(delivery).catch((e) => this.#bury(delivery, e.message)));
    this.#deliveries.delete(delivery);
    await delivery.settle(verdict).catch(() => {});
  }

  async #perform({ data, count }: Delivery): Promise<Verdict> {
    if (count > MAX_DELIVERIES) throw new Error(`delivered ${MAX_DELIVERIES} times at queue ${this.queue} and never acknowledged`);
    const work = read(data, "agent/" + this.name, this.#verify);
    checkWork(work);
    const key = keyOf(work), number: number = work.body.delivery, other = this.#jobs.get(key), newest = other?.work.body.delivery ?? 0;
    if (other && newest === number) return other.verdict; // the same work again
    if (this.leaving || newest > number) return this.leaving ? "nak" : "ack";
    other?.drop(); // the newer delivery replaces it
    const job = new Job(this, work);
    this.#jobs.set(key, job);
    return job.verdict.finally(() => this.#jobs.get(key) === job && this.#jobs.delete(key));
  }

  /** Moves a delivery to the queue dead. */
  async #bury({ data }: Delivery, reason: string): Promise<Verdict> {
    this.log("warn", `work rejected: ${reason}`);
    const dead = letter(data, reason, this.queue, "worker/" + this.id);
    while (!(await this.#publish("queue.dead", dead.id, dead.data))) await sleep(1000, undefined, { ref: false });
    return "ack";
  }

  onTopic(topic: string, data: Uint8Array): void {
    try {
      if (topic !== this.topics[0]) return decode(data), void this.#announce();
      const message = read(data, "worker/" + this.id, this.#verify), { type, source, owner, task, epoch, body } = message;
      if (type === "job.deny" && !task) return this.log("warn", `the hub gives this worker no tasks: ${body.reason}`);
      const job = this.#jobs.get(keyOf(message)), report = { token: body.token, worker: this.id, givenBack: true };
      if (job) job.handle(message);
      else if (type === "job.grant") void this.send("queue." + source.replace("hub/", "hub.report."), "job.report", report, { destination: source, owner, task, epoch, seq: 1 });
    } catch (e) {
      this.log("warn", `message ignored: ${(e as Error).message}`);
    }
  }

  /** Continues after each connection. */
  onConnected(): void {
    this.log("info", `connected; performing the tasks of agent ${this.name} as worker ${this.id}`);
    for (const job of this.#jobs.values()) job.resend();
    void this.#announce();
  }

  /** If it is time, extends the deliveries, and shows each hub which of its jobs are alive. */
  #beat(): void {
    const jobs = [...this.#jobs.values()], time = Math.min(BEAT, ...jobs.map((job) => job.grant.lease / 4));
    if (Date.now() - this.#beaten < time) return;
    this.#beaten = Date.now();
    for (const delivery of this.#deliveries) void delivery.settle("working").catch(() => {});
    const held = jobs.filter((job) => job.grant.epoch);
    for (const [topic, destination] of new Map(held.map(({ work }) => [work.replyTo, work.source]))) {
      const mine = held.filter(({ work }) => work.replyTo === topic);
      const beats = mine.map(({ work: { task, owner = "" }, grant: { epoch, token } }) => ({ task, owner, epoch, token }));
      void this.send("topic." + topic, "job.heartbeat", { worker: this.id, jobs: beats }, { destination });
    }
  }

  #announce(type = "agent.announce", about?: Json): Promise<boolean> {
    const { name, idempotent } = this, description = this.options.description || name, modes = ["text/plain"];
    const card = {
      name, description, version: "1.0.0", capabilities: { streaming: true }, defaultInputModes: modes, defaultOutputModes: modes,
      skills: [{ id: name, name, description, tags: ["agent"] }], ...this.options.card,
    };
    about ??= { card, idempotent, started: this.#started };
    return this.send("topic.discovery.announce", type, { agent: name, worker: this.id, ...about }, { source: "agent/" + name });
  }

  /** Publishes an envelope with these members. It returns false if the broker has not taken it. */
  send(address: string, type: string, body: Json, members: Json): Promise<boolean> {
    const id = randomBytes(16).toString("hex"), source = "worker/" + this.id;
    const envelope = { v: VERSION, id, type, time: Date.now(), source, replyTo: this.topics[0], ...members, body };
    return this.#publish(address, id, Buffer.from(JSON.stringify(envelope)));
  }

  #publish(address: string, id: string, data: Uint8Array): Promise<boolean> {
    return this.#bus.publish(address, id, data).then(() => true, (e) => {
      if (address.startsWith("queue.")) this.log("warn", `${address}: not published: ${e}`); // messages of topics may be lost
      return false;
    });
  }
}
