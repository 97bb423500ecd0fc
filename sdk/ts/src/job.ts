/** A job: one message for the agent, from its delivery to its acknowledgment. */

import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "./brokers.js";
import { completed, Failed, isFinal, Question, Refused, stateOf, status, textOf, Unanswered, working, type Event } from "./events.js";
import { MAX_LARGE, MAX_PIECE, type Json } from "./wire.js";
import type { Worker } from "./worker.js";

const AGAIN = 2000; // milliseconds without an answer
const RESEND = 10_000; // milliseconds without a confirmation
const MAX_REPORT = 256 << 10; // bytes of events in one report
const MAX_WAITING = 1 << 20; // bytes of unconfirmed events; an agent that is further ahead waits
const NO_END = { error: "agent ended without a final state", public: true };

/** The caller of an agent: owner is the scope of the id of the task. */
export interface Caller {
  id: string; owner: string; displayName?: string; org?: string; orgs?: string[]; roles?: string[]; claims?: Json;
}

interface Item { seq: number; members: Json; size: number }

/** One message for the agent, as the hub has signed it. */
export class Job {
  readonly caller: Caller;
  readonly taskId: string;
  /** Aborted when the caller cancels, or the hub accepts no more events. */
  readonly signal: AbortSignal;
  /** Set once a further message of the caller waits for the end of this job. */
  messageWaiting = false;
  readonly nonce = randomBytes(8).toString("hex");
  readonly deliveries: Delivery[];
  epoch = 0;
  token = "";
  lease = 30_000;
  over = false;
  done: Promise<void> = Promise.resolve();
  readonly #abort = new AbortController();
  #answers: Json[] = [];
  #items: Item[] = [];
  #last = 0;
  #sent = 0;
  #waiting = 0;
  #closed = false;
  #wakes: (() => void)[] = [];

  constructor(readonly worker: Worker, readonly work: Json, delivery: Delivery) {
    this.caller = { id: "local", ...work.principal, owner: work.owner ?? "" };
    this.taskId = work.task;
    this.signal = this.#abort.signal;
    this.deliveries = [delivery];
  }

  /** The Message of A2A v1.0. */
  get message(): Json { return this.work.body.message ?? {}; }
  /** The text of the message. */
  get text(): string { return textOf(this.message); }
  /** From the second message of a task on, the Task before this message. */
  get task(): Json | undefined { return this.work.body.task; }
  get metadata(): Json { return this.work.body.metadata ?? {}; }
  get contextId(): string { return this.work.body.contextId; }
  get skill(): string { return this.work.body.skill ?? ""; }
  /** The same for each attempt of the message: use it to apply side effects once. */
  get key(): string { return this.work.body.key; }
  get attempt(): number { return this.work.body.attempt; }
  /** The messages of the task so far, with this one as the last. */
  get conversation(): Json[] {
    return [...(this.task?.history ?? []), this.task?.status?.message, this.message].filter(Boolean);
  }

  /** Performs the job. */
  async perform(): Promise<void> {
    const { id: worker, idempotent } = this.worker;
    const claim = { delivery: this.work.body.delivery, worker, nonce: this.nonce, idempotent };
    for (let answer = await this.#ask("job.claim", claim); answer?.later; answer = await this.#ask("job.claim", claim)) await sleep(AGAIN);
    if (!this.epoch) return;
    const running = this.#execute();
    await this.#report();
    this.#abort.abort();
    await Promise.race([running, sleep(1000)]); // an agent may ignore the signal
  }

  /** Waits for news, at most for some time. It returns false if there are none. */
  #news(time?: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = time === undefined ? undefined : setTimeout(() => resolve(false), time);
      this.#wakes.push(() => (clearTimeout(timer), resolve(true)));
    });
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }

  /** Sends a message to the hub, again after a while, until the hub answers. */
  async #ask(type: string, body: Json): Promise<Json | undefined> {
    while (!this.over) {
      await this.worker.publish("topic", this.work.replyTo, type, body, this);
      for (const until = Date.now() + AGAIN; Date.now() < until && !this.over && !this.#answers.length; ) await this.#news(until - Date.now());
      if (this.#answers.length) return this.#answers.shift();
    }
    return undefined;
  }

  /** Settles all deliveries of the work. */
  settle(verdict: "ack" | "nak" | "extend"): void {
    for (const d of verdict === "extend" ? this.deliveries : this.deliveries.splice(0))
      try {
        d.settle(verdict);
      } catch {} // the broker redelivers
  }

  /** Ends the job without another message to the hub. */
  drop(): void {
    this.#closed = this.over = true;
    this.#abort.abort();
    this.#wake();
  }

  /** Handles a message of the hub. */
  handle(type: string, epoch: number, seq: number, body: Json): void {
    const known = this.epoch > 0;
    if ((type === "job.grant" || type === "job.denial") && body.nonce === this.nonce && (!known || this.epoch === epoch)) {
      if (type === "job.grant") [this.epoch, this.token, this.lease] = [epoch, body.token, body.lease];
      if (!known) this.#answers.push(body); // else the hub was restarted
    } else if (!known || epoch !== this.epoch) return; // about another run
    else if (type === "job.confirm") {
      while (this.#items[0] && this.#items[0].seq <= seq) this.#waiting -= this.#items.shift()!.size;
      this.over ||= body.final === true;
    } else if (type === "job.resend") this.#sent = Math.min(this.#sent, seq - 1);
    else if (type === "job.piece") this.#answers.push(body);
    else if (type === "job.asked") this.messageWaiting = true;
    else if (type === "job.cancel") void this.#cancel(body.metadata ?? {});
    else if (type === "job.stop") this.drop();
    this.#wake();
  }

  /** Publishes the unconfirmed events again. */
  resend(): void {
    this.#sent = 0;
    this.#wake();
  }

  /** Returns the job to the hub, unless it is complete. */
  giveBack(): void {
    this.#add({ givenBack: true }, 0, true);
    this.#abort.abort();
  }

  async #cancel(metadata: Json): Promise<void> {
    try {
      await this.worker.options.onCancel?.(this, metadata);
    } catch (e) {
      const refusal = { token: this.token, worker: this.worker.id, cancelRefused: (e as Error).message };
      if (e instanceof Refused) return this.worker.publish("queue", this.work.body.reports, "job.report", refusal, this);
      this.worker.log("warn", `task ${this.taskId}: onCancel: ${e}`);
    }
    this.#put(status("CANCELED"));
    this.#abort.abort();
  }

  /** Runs the agent. */
  async #execute(): Promise<void> {
    try {
      if (this.work.body.large) await this.#fetch(this.work.body.large);
      const answer = this.worker.handler(this);
      let state = "";
      if (Symbol.asyncIterator in answer) {
        for await (const item of answer) {
          const event = typeof item === "string" ? working(item) : item instanceof Question ? item.event() : item;
          state = stateOf(event) || state;
          while (this.#waiting >= MAX_WAITING && !this.over) await this.#news();
          if (!this.#put(event)) return;
        }
        return this.#add(state === "AUTH_REQUIRED" ? { ended: true } : NO_END, 0, true);
      }
      const result = await answer;
      this.#put(typeof result === "string" ? completed(result) : result instanceof Question ? result.event() : result);
      this.#add(NO_END, 0, true);
    } catch (e) {
      if (e instanceof Unanswered) this.#put(e.question.event(e.message));
      else if (!this.#closed) {
        this.worker.log("warn", `task ${this.taskId}: agent failed: ${e}`);
        this.#add({ error: e instanceof Failed ? e.message || "failed" : String(e), public: e instanceof Failed }, 0, true);
      }
    }
  }

  /** Fetches the content of work that is too large for an envelope. */
  async #fetch(large: Json): Promise<void> {
    for (let tries = 3; tries > 0; tries--) {
      let content = Buffer.alloc(0);
      while (content.length < large.size) {
        const piece = await this.#ask("job.fetch", { token: this.token, worker: this.worker.id, blob: large.id, offset: content.length });
        if (!piece) return;
        if (piece.blob === large.id && piece.offset === content.length) content = Buffer.concat([content, Buffer.from(piece.data, "base64")]);
      }
      if (createHash("sha256").update(content).digest("base64") === large.sha256) {
        Object.assign(this.work.body, JSON.parse(content.toString()));
        return;
      }
    }
    throw new Failed("the message has not arrived as it was sent: its content and its SHA-256 differ");
  }

  /** Numbers an event, or its pieces. It returns false if no event may follow. */
  #put(event: Event): boolean {
    const bytes = Buffer.from(JSON.stringify(event)), last = isFinal(event), reason = `${MAX_LARGE} are allowed, and any number in chunks of an artifact`;
    if (bytes.length > MAX_LARGE) this.#add({ error: `the agent has sent ${bytes.length} bytes in one event: ${reason}`, public: true }, 0, true);
    else if (bytes.length <= MAX_PIECE) this.#add({ events: [event] }, bytes.length, last);
    else {
      const sha = createHash("sha256").update(bytes).digest();
      const large = { id: sha.toString("hex").slice(0, 32), size: bytes.length, sha256: sha.toString("base64") };
      for (let offset = 0; offset < bytes.length; offset += MAX_PIECE) {
        const data = bytes.subarray(offset, offset + MAX_PIECE);
        this.#add({ large, piece: { blob: large.id, offset, data: data.toString("base64") } }, data.length, last && offset + MAX_PIECE >= bytes.length);
      }
    }
    return !this.#closed;
  }

  #add(members: Json, size: number, last: boolean): void {
    if (this.#closed) return;
    this.#items.push({ seq: ++this.#last, members, size });
    this.#waiting += size;
    this.#closed = last;
    this.#wake();
  }

  /** Publishes the events, and again those that the hub does not confirm, until the job is over. */
  async #report(): Promise<void> {
    while (!this.over) {
      const items = this.#items.filter((item) => item.seq > this.#sent);
      if (items.length) await this.#publish(items);
      else if (!(await this.#news(this.#items.length ? RESEND : undefined))) this.#sent = 0;
    }
  }

  /** Publishes as many of the events as fit into one report. */
  async #publish(items: Item[]): Promise<void> {
    const seq = items[0]!.seq, body: Json = { token: this.token, worker: this.worker.id };
    let size = 0;
    for (const item of items) {
      size += item.size;
      if (item.seq > seq && (body.piece || item.members.piece || size > MAX_REPORT)) break;
      Object.assign(body, item.members, item.members.events && { events: [...(body.events ?? []), ...item.members.events] });
      this.#sent = item.seq;
    }
    try {
      await this.worker.send("queue", this.work.body.reports, "job.report", body, this, { seq });
    } catch (e) {
      this.worker.log("warn", `task ${this.taskId}: report not published: ${e}`);
      this.#sent = Math.min(this.#sent, seq - 1);
      await sleep(1000);
    }
  }
}
