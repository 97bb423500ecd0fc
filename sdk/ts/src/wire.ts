/** The wire contract between hubs and workers (docs/wire.md): limits, signatures, envelopes. */

import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";

export const MAX_ENVELOPE = 960 << 10;
export const MAX_PIECE = 512 << 10; // bytes of content that does not fit into an envelope
export const MAX_LARGE = 64 << 20; // bytes of the content of work, and of an event
export const MAX_DELIVERIES = 5;

export type Json = Record<string, any>;

/** The reason why a worker does not act on an envelope. */
export class Invalid extends Error {}

/** A number exactly as it stands in the JSON. */
class Numeral {
  constructor(readonly text: string) {}
}

const SIGNED = new Set(
  "v id type time source destination replyTo correlation task owner epoch seq deadline chain principal label trace contentType body".split(" "),
);

/** Parses JSON that JSON.parse accepts, and keeps the text of numbers. */
function parse(text: string): unknown {
  const token = /\s*("(?:[^"\\]|\\.)*"|[-+.\w]+|[[\]{},:])/y;
  const next = (): string => token.exec(text)![1]!;
  const value = (t: string): unknown => {
    if (t === "{" || t === "[") {
      const members = new Map<string, unknown>();
      const items: unknown[] = [];
      for (let n = next(); n !== "}" && n !== "]"; n = next()) {
        if (n === ",") continue;
        if (t === "[") items.push(value(n));
        else members.set(JSON.parse(n) as string, (next(), value(next())));
      }
      return t === "{" ? members : items;
    }
    return /^[-\d]/.test(t) ? new Numeral(t) : JSON.parse(t);
  };
  return value(next());
}

/** Returns the bytes of a JSON value that a hub signs. */
function form(value: unknown): string {
  if (value instanceof Numeral) return `#${value.text};`;
  if (typeof value === "string") return `${Buffer.byteLength(value.toWellFormed())}:${value.toWellFormed()}`;
  if (Array.isArray(value)) return `[${value.map(form).join("")}]`;
  if (value instanceof Map) {
    const names = [...value.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return `{${names.map((name) => form(name) + form(value.get(name))).join("")}}`;
  }
  return value === null ? "n" : value ? "t" : "f";
}

/** The public keys of the trusted hubs, each as HUB:BASE64. Without keys, every hub is trusted. */
export class Keys {
  readonly #keys = new Map<string, { hub: string; key: KeyObject }>();

  constructor(texts: readonly string[]) {
    texts.forEach((text, i) => {
      const [hub = "", key = ""] = text.split(":");
      const bytes = Buffer.from(key, "base64");
      if (bytes.length !== 32) throw new RangeError(`hubs[${i}]: "${text}" is not HUB:KEY with a key of 32 bytes in base64`);
      const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), bytes]);
      const id = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
      this.#keys.set(id, { hub, key: createPublicKey({ key: der, format: "der", type: "spki" }) });
    });
  }

  /** Throws Invalid unless a trusted hub has signed the envelope, whose JSON is text. */
  verify(envelope: Json, text: string): void {
    if (this.#keys.size === 0) return;
    const { key: id, value } = envelope.signature ?? {};
    if (!id) throw new Invalid("is not signed");
    const known = this.#keys.get(String(id));
    if (!known) throw new Invalid(`key ${id} is not trusted`);
    if (envelope.source !== "hub/" + known.hub) throw new Invalid(`key ${id} is of hub ${known.hub}`);
    const signed = new Map([...(parse(text) as Map<string, unknown>)].filter(([name]) => SIGNED.has(name)));
    if (!verify(null, Buffer.from("parley-bus-1\n" + form(signed)), known.key, Buffer.from(String(value), "base64")))
      throw new Invalid("something was changed, or signed with another key");
  }
}

/** Returns value if it is the name of a queue or a topic. */
export function address(field: string, value: unknown): string {
  if (typeof value === "string" && value.length <= 200 && /^[\w-]+(\.[\w-]+)*$/.test(value)) return value;
  throw new Invalid(`${field}: "${value}" is not an address of at most 200 letters, digits, "-" and "_", joined by dots`);
}

/** Returns the envelope in data. The error is Invalid and names the member. */
export function decode(data: Uint8Array): { envelope: Json; text: string } {
  let envelope: any, text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    envelope = JSON.parse(text);
  } catch (e) {
    throw new Invalid(`decode envelope: ${(e as Error).message}`);
  }
  if (typeof envelope !== "object" || envelope === null || Array.isArray(envelope)) throw new Invalid("decode envelope: not a JSON object");
  if (envelope.v !== 1) throw new Invalid(`v: version ${envelope.v}, 1 is known`);
  for (const name of ["id", "type", "source"])
    if (typeof envelope[name] !== "string" || !envelope[name]) throw new Invalid(`${name}: missing, or not text`);
  envelope.body ??= {};
  return { envelope, text };
}

/** Throws Invalid, with the name of the member, unless the envelope is work that can be claimed. */
export function checkWork({ type, source, task, replyTo, body }: Json): void {
  if (type !== "job.work") throw new Invalid(`type: ${type} is not known at the queue of an agent`);
  if (!source.startsWith("hub/") || typeof task !== "string") throw new Invalid("source, task: work has a task and comes from a hub");
  address("replyTo", replyTo);
  address("body.reports", body.reports);
  if (!Number.isInteger(body.delivery) || body.delivery < 1) throw new Invalid(`body.delivery: ${body.delivery} is not a positive number`);
  const size = body.large?.size ?? 1;
  if (!Number.isInteger(size) || size < 1 || size > MAX_LARGE) throw new Invalid(`body.large.size: ${size}: 1 to ${MAX_LARGE} bytes are allowed`);
}

/** Returns the envelope that takes the place of data at the queue dead. */
export function letter(data: Uint8Array, reason: string, queue: string, source: string): { id: string; data: Buffer } {
  const about = { reason: reason.slice(0, 1000), queue };
  try {
    if (data.length > MAX_ENVELOPE) throw new Invalid("too large");
    const { envelope, text } = decode(data);
    // The bytes stay as they are, so that the signature stays valid.
    return { id: envelope.id + "-dead", data: Buffer.from(text.trimEnd().slice(0, -1) + "," + JSON.stringify(about).slice(1)) };
  } catch {
    const id = "unreadable-" + createHash("sha256").update(data).digest("hex").slice(0, 32);
    const body = { bytes: Buffer.from(data.subarray(0, 640 << 10)).toString("base64"), size: data.length };
    return { id, data: Buffer.from(JSON.stringify({ v: 1, id, type: "bus.unreadable", time: Date.now(), source, ...about, body })) };
  }
}
