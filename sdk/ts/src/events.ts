/** The events of an agent, and its questions. */

import { randomUUID } from "node:crypto";
import type { Job } from "./job.js";
import type { Json } from "./wire.js";

/** A StreamResponse of A2A v1.0: an object with one member. */
export type Event = { statusUpdate: Json } | { artifactUpdate: Json } | { message: Json } | { task: Json };

/** Text, bytes, or a whole Part of A2A v1.0, such as {data: …} or {url: …}. */
export type Content = string | Uint8Array | Json;

/** Fails the task with a reason that the caller may read. Of other errors only the hub's log has the text. */
export class Failed extends Error {}

/** Refuses a cancellation, with a reason for the caller: see WorkerOptions.onCancel. */
export class Refused extends Error {}

const part = (c: Content): Json =>
  typeof c === "string" ? { text: c } : c instanceof Uint8Array ? { raw: Buffer.from(c).toString("base64") } : c;

const statusUpdate = (state: string, message?: Json): Event => ({ statusUpdate: { status: { state: "TASK_STATE_" + state, message } } });

/** Returns a message of the agent. */
export const message = (content: Content[], metadata?: Json): Json => ({
  messageId: randomUUID(), role: "ROLE_AGENT", parts: content.map(part), metadata,
});

/** Sets the state of the task, such as WORKING; content is for the caller. */
export const status = (state: string, ...content: Content[]): Event =>
  statusUpdate(state, content.length ? message(content) : undefined);

/** Reports progress. */
export const working = (...content: Content[]): Event => status("WORKING", ...content);

/** Ends the task. */
export const completed = (...content: Content[]): Event => status("COMPLETED", ...content);

/** Returns an artifact, or with append a further chunk of it; last is false until the last chunk. */
export const artifact = (artifactId: string, content: Content | Content[], { append = false, last = true, name = "" } = {}): Event => ({
  artifactUpdate: { artifact: { artifactId, name: name || undefined, parts: [content].flat().map(part) }, append, lastChunk: last },
});

/** Returns the text of a message. */
export const textOf = (m: Json): string => (m.parts ?? []).map((p: Json) => p.text ?? "").join("");

/** Returns the state that an event sets, such as COMPLETED; empty if it sets none. */
export const stateOf = (event: Json): string => ((event.statusUpdate ?? event.task)?.status?.state ?? "").replace("TASK_STATE_", "");

/** Reports whether no event may follow. */
export const isFinal = (event: Json): boolean =>
  "message" in event || ["COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED"].includes(stateOf(event));

/**
 * A question to the caller. Yield it: it ends the job, and the answer is a new job for any free worker. parse
 * turns the text of the answer into a value; if it throws, the worker asks again.
 */
export class Question<T = string> {
  constructor(readonly id: string, readonly text: string, readonly parse: (answer: string) => T = (answer) => answer as T) {}

  /** Returns the question as an event; why is the reason for asking again. */
  event(why = ""): Event {
    return statusUpdate("INPUT_REQUIRED", message([why ? `${why}: ${this.text}` : this.text], { question: this.id }));
  }

  /** Returns the caller's answer, or undefined if the question was not asked in this task. */
  answer(job: Job): T | undefined {
    const asks = (m?: Json): boolean => m?.role === "ROLE_AGENT" && m.metadata?.question === this.id;
    const answer = job.conversation.findLast((m, i, all) => m.role !== "ROLE_AGENT" && asks(all[i - 1]));
    try {
      return answer && this.parse(textOf(answer));
    } catch (e) {
      throw new Unanswered(this as Question<any>, (e as Error).message);
    }
  }
}

/** Thrown for an answer that does not parse. The worker asks again, unless the agent handles it. */
export class Unanswered extends Error {
  constructor(readonly question: Question<any>, why: string) { super(why); }
}
