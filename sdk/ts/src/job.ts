/** A job: one message for the agent, from its delivery to its acknowledgment. */

import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Verdict } from "./brokers.js";
import { completed, Failed, isFinal, Question, Refused, stateOf, status, textOf, Unanswered, working, type Event } from "./events.js";
import { MAX_LARGE, MAX_PIECE, sha256, type Json } from "./wire.js";
import type { Worker } from "./worker.js";

const AGAIN = 2000; // milliseconds without an answer
const RESEND = 10_000; // milliseconds without a confirmation
const MAX_REPORT = 256 << 10; // bytes of events in one report
const MAX_WAITING = 1 << 20; // bytes of unconfirmed events; an agent that is further ahead waits

/** The caller of an agent: owner is the scope of the id of the task. */
export interface Caller { id: string; owner: string; displayName?: string; org?: string; orgs?: string[]; roles?: string[]; claims?: Json }

/** One message for the agent, as the hub has signed it. */
export class Job {
  /** Set once a further message of the caller waits for the end of this job. */
  messageWaiting = false;
  grant = { epoch: 0, token: "", lease: 30_000 };
  readonly #nonce = randomBytes(8).toString("hex");
  readonly #abort = new AbortController();
  readonly #changes = new EventEmitter();
  #answer?: Json;
  #reports: { first: number; last: number; members: Json; size: number }[] = []; // unconfirmed
  #last = 0;
  #sent = 0;
  #end?: Verdict; // once the job is over
  /** The settlement of the deliveries, at the end. The job begins here, with all other fields set. */
  readonly verdict = this.#perform();

  constructor(readonly worker: Worker, readonly work: Json) {}

  get caller(): Caller { return { id: "local", ...this.work.principal, owner: this.work.owner ?? "" }; }
  get taskId(): string { return this.work.task; }
  /** Aborted when the caller cancels, or no event can follow. */
  get signal(): AbortSignal { return this.#abort.signal; }
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

  /** Performs the job, and returns the settlement of its deliveries. */
  async #perform(): Promise<Verdict> {
    const claim = { delivery: this.work.body.delivery, nonce: this.#nonce, idempotent: this.worker.idempotent };
    while ((await this.#ask("job.claim", claim))?.later) await sleep(AGAIN);
    if (!this.grant.epoch) this.drop();
    const running = this.#end ?? this.#execute();
    while (!this.#end) {
      const report = this.#reports.find(({ last }) => last > this.#sent);
      this.#sent = report?.last ?? this.#sent;
      if (!report) (await this.#change(RESEND)) || this.resend();
      else if (!(await this.#send("queue." + this.work.body.reports, "job.report", report.members, report.first))) {
        this.resend(report.first);
        await sleep(1000);
      }
    }
    await Promise.race([running, sleep(1000)]); // an agent may ignore the signal
    return this.#end;
  }

  /** Waits for a change, and returns false if there is none for some milliseconds. */
  #change(time: number): Promise<boolean> {
    return once(this.#changes, "change", { signal: AbortSignal.timeout(time) }).then(() => true, () => false);
  }

  /** Sends a message to the hub, again after a while, until the hub answers. */
  async #ask(type: string, body: Json): Promise<Json | undefined> {
    this.#answer = undefined;
    while (!this.#answer && !this.#end) {
      await this.#send("topic." + this.work.replyTo, type, body);
      if (!this.#answer && !this.#end) await this.#change(AGAIN);
    }
    return this.#answer;
  }

  #send(address: string, type: string, body: Json, seq?: number): Promise<boolean> {
    const { source: destination, task, owner, correlation, trace } = this.work, { epoch, token } = this.grant;
    const about = { destination, task, owner, correlation, trace, epoch: epoch || undefined, seq };
    return this.worker.send(address, type, { worker: this.worker.id, token: token || undefined, ...body }, about);
  }

  /** Ends the job without another message to the hub. */
  drop(verdict: Verdict = "ack"): void {
    this.#end ??= verdict;
    this.#abort.abort();
    this.#changes.emit("change");
  }

  /** Handles a message of the hub. */
  handle({ type, epoch = 0, seq = 0, body }: Json): void {
    const waits = !this.grant.epoch, mine = epoch === this.grant.epoch;
    if (type === "job.deny" && waits && body.nonce === this.#nonce) this.#answer = body;
    else if (type === "job.grant" && (waits || mine) && body.nonce === this.#nonce) {
      this.grant = { epoch, token: body.token, lease: body.lease }; // another token if the hub was restarted
      if (waits) this.#answer = body;
    } else if (waits || !mine) return; // about another run
    else if (type === "job.confirm") {
      this.#reports = this.#reports.filter(({ last }) => last > seq);
      if (body.resend) this.resend(body.resend);
      if (body.messageWaiting) this.messageWaiting = true;
      if (body.final) this.drop();
    } else if (type === "job.piece") this.#answer = body;
    else if (type === "job.cancel") void this.#cancel(body.metadata ?? {});
    else if (type === "job.deny") this.drop();
    this.#changes.emit("change");
  }

  /** Publishes the unconfirmed events again, from a number on. */
  resend(from = 1): void {
    this.#sent = Math.min(this.#sent, from - 1);
    this.#changes.emit("change");
  }

  /** Returns the job to the hub, unless it is complete. */
  giveBack(): void { this.#add({ givenBack: true }); }

  async #cancel(metadata: Json): Promise<void> {
    try {
      await this.worker.options.onCancel?.(this, metadata);
    } catch (e) {
      if (e instanceof Refused) return void this.#send("queue." + this.work.body.reports, "job.report", { cancelRefused: e.message });
      this.worker.log("warn", `task ${this.taskId}: onCancel: ${e}`);
    }
    this.#put(status("CANCELED"));
  }

  /** Runs the agent. */
  async #execute(): Promise<void> {
    try {
      if (this.work.body.large) await this.#fetch(this.work.body.large);
      const answer = this.worker.handler(this);
      const items = Symbol.asyncIterator in answer ? answer : [answer.then((item) => (typeof item === "string" ? completed(item) : item))];
      let state = "";
      for await (const item of items) {
        const event = typeof item === "string" ? working(item) : item instanceof Question ? item.event() : item;
        state = stateOf(event) || state;
        while (this.#reports.reduce((sum, { size }) => sum + size, 0) >= MAX_WAITING && !this.#end) await this.#change(RESEND);
        if (!this.#put(event)) return;
      }
      this.#add(state === "AUTH_REQUIRED" ? { ended: true } : { error: "agent ended without a final state", public: true });
    } catch (e) {
      if (e instanceof Unanswered) this.#put(e.question.event(e.message));
      else if (!this.signal.aborted) {
        this.worker.log("warn", `task ${this.taskId}: agent failed: ${e}`);
        this.#add({ error: e instanceof Failed ? e.message || "failed" : String(e), public: e instanceof Failed });
      }
    }
  }

  /** Fetches the content of work that is too large for an envelope. */
  async #fetch({ id: blob, size, sha256: sum }: Json): Promise<void> {
    for (let tries = 3; tries > 0; tries--) {
      let content = Buffer.alloc(0);
      while (content.length < size) {
        const piece = await this.#ask("job.fetch", { blob, offset: content.length });
        if (!piece) throw new Error("the job is over");
        if (piece.blob === blob && piece.offset === content.length) content = Buffer.concat([content, Buffer.from(piece.data, "base64")]);
      }
      if (sha256(content).toString("base64") === sum) return void Object.assign(this.work.body, JSON.parse(content.toString()));
    }
    throw new Failed("the message changed in transit: its content does not match its SHA-256");
  }

  /** Numbers an event, or its pieces. It returns false if no event may follow. */
  #put(event: Event): boolean {
    const bytes = Buffer.from(JSON.stringify(event)), { length: size } = bytes, last = isFinal(event);
    if (size > MAX_LARGE) throw new Failed(`the agent has sent ${size} bytes in one event: ${MAX_LARGE} are allowed, and any number in chunks of an artifact`);
    if (size <= MAX_PIECE) this.#add({ events: [event] }, size, last);
    else {
      const sum = sha256(bytes), blob = sum.toString("hex", 0, 16);
      for (let offset = 0; offset < size; offset += MAX_PIECE) {
        const data = bytes.subarray(offset, offset + MAX_PIECE), end = last && offset + MAX_PIECE >= size;
        const piece = { blob, offset, data: data.toString("base64") };
        this.#add({ large: { id: blob, size, sha256: sum.toString("base64") }, piece }, data.length, end);
      }
    }
    return !this.signal.aborted;
  }

  /** Adds an event to the last report if that is not sent yet and has space, and anything else as a report of its own. */
  #add(members: Json, size = 0, end = true): void {
    if (this.signal.aborted) return;
    const last = ++this.#last, report = this.#reports.at(-1);
    if (members.events && report?.members.events && report.first > this.#sent && report.size + size <= MAX_REPORT) {
      report.members.events.push(...members.events);
      [report.last, report.size] = [last, report.size + size];
    } else this.#reports.push({ first: last, last, members, size });
    if (end) this.#abort.abort();
    this.#changes.emit("change");
  }
}
