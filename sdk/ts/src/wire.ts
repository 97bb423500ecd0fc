/** The wire contract between hubs and workers (docs/wire.md): limits, signatures, envelopes. */

import { createHash, createPublicKey, verify } from "node:crypto";

export const MAX_ENVELOPE = 960 << 10;
export const MAX_PIECE = 512 << 10; // bytes of content that does not fit into an envelope
export const MAX_LARGE = 64 << 20; // bytes of the content of work, and of an event
export const VERSION = 2, MAX_DELIVERIES = 5; // of the contract; of work

export type Json = Record<string, any>;

export const sha256 = (data: Uint8Array): Buffer => createHash("sha256").update(data).digest();

const SIGNED = new Set(
  "v id type time source destination replyTo correlation task owner epoch seq deadline chain principal label trace contentType body".split(" "),
);

/** Returns the bytes of a JSON value that a hub signs. A string begins with $, a number is a string that begins with #. */
function form(value: unknown): string {
  if (typeof value === "string") {
    const text = value.slice(1).toWellFormed();
    return value[0] === "#" ? `#${text};` : `${Buffer.byteLength(text)}:${text}`;
  }
  if (Array.isArray(value)) return `[${value.map(form).join("")}]`;
  if (typeof value !== "object" || value === null) return String(value)[0]!; // true, false, null
  const members = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${members.map(([name, v]) => form(name) + form(v)).join("")}}`;
}

/** Returns the bytes of an envelope that a hub signs. Numbers count as they stand in the JSON, so they become strings. */
function signed(json: string): Buffer {
  const marked = json.replace(/"(?:[^"\\]+|\\.)*"|-?\d[-+.\w]*/g, (token) => (token[0] === '"' ? `"$${token.slice(1)}` : `"#${token}"`));
  const members = Object.entries(JSON.parse(marked)).filter(([name]) => SIGNED.has(name.slice(1)));
  return Buffer.from("parley-bus-1\n" + form(Object.fromEntries(members)));
}

/** Throws unless a trusted hub has signed the envelope, whose JSON is text. */
export type Verify = (envelope: Json, text: string) => void;

/** Trusts the hubs with these public keys, each HUB:BASE64. Without keys, every hub is trusted. */
export function trust(texts: readonly string[]): Verify {
  const keys = new Map(texts.map((text, i) => {
    const [hub = "", key = ""] = text.split(":"), bytes = Buffer.from(key, "base64");
    if (bytes.length !== 32) throw new RangeError(`hubs[${i}]: "${text}" is not HUB:KEY with a key of 32 bytes in base64`);
    const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
    return [sha256(bytes).toString("hex", 0, 8), { source: "hub/" + hub, key: createPublicKey({ key: jwk, format: "jwk" }) }] as const;
  }));
  return ({ source, signature }, text) => {
    const { key: id, value } = signature ?? {}, known = keys.get(String(id));
    if (keys.size === 0) return;
    if (!id) throw new Error("is not signed");
    if (!known) throw new Error(`key ${id} is not trusted`);
    if (source !== known.source) throw new Error(`key ${id} is of ${known.source}`);
    if (!verify(null, signed(text), known.key, Buffer.from(String(value), "base64")))
      throw new Error("the content was changed or signed with another key");
  };
}

/** Returns value if it is the name of a queue or a topic. */
export function address(field: string, value: unknown): string {
  if (typeof value === "string" && value.length <= 200 && /^[\w-]+(\.[\w-]+)*$/.test(value)) return value;
  throw new Error(`${field}: "${value}" is not an address of at most 200 letters, digits, "-" and "_", joined by dots`);
}

/** Returns the envelope in data. An error names the member. */
export function decode(data: Uint8Array): { envelope: Json; text: string } {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(data), envelope = JSON.parse(text);
  if (envelope?.v !== VERSION) throw new Error(`v: version ${envelope?.v} of the wire contract, version ${VERSION} is required`);
  for (const name of ["id", "type", "source"])
    if (typeof envelope[name] !== "string" || !envelope[name]) throw new Error(`${name}: missing, or not text`);
  envelope.body ??= {};
  return { envelope, text };
}

/** Returns the envelope in data, which a trusted hub has sent to me. */
export function read(data: Uint8Array, me: string, verify: Verify): Json {
  const { envelope, text } = decode(data);
  if ((envelope.destination ?? me) !== me) throw new Error(`destination: ${envelope.destination}, not ${me}`);
  verify(envelope, text);
  return envelope;
}

/** Throws an error that names the member, unless the envelope is work that can be claimed. */
export function checkWork({ type, source, task, replyTo, body }: Json): void {
  const { reports, delivery, large } = body, size = large?.size ?? 1;
  if (type !== "job.work") throw new Error(`unknown type ${type} at the queue of an agent`);
  if (!source.startsWith("hub/") || typeof task !== "string") throw new Error("source, task: work has a task and comes from a hub");
  address("replyTo", replyTo);
  address("body.reports", reports);
  if (!Number.isInteger(delivery) || delivery < 1) throw new Error(`body.delivery: ${delivery} is not a positive number`);
  if (!Number.isInteger(size) || size < 1 || size > MAX_LARGE) throw new Error(`body.large.size: ${size}: 1 to ${MAX_LARGE} bytes are allowed`);
}

/** Returns the envelope that takes the place of data at the queue dead. */
export function letter(data: Uint8Array, reason: string, queue: string, source: string): { id: string; data: Buffer } {
  const about = { reason: reason.slice(0, 1000), queue };
  try {
    if (data.length > MAX_ENVELOPE) throw new Error("too large");
    const { envelope, text } = decode(data);
    // The bytes stay as they are, so that the signature stays valid.
    return { id: envelope.id + "-dead", data: Buffer.from(text.trimEnd().slice(0, -1) + "," + JSON.stringify(about).slice(1)) };
  } catch {
    const id = "unreadable-" + sha256(data).toString("hex", 0, 16);
    const body = { bytes: Buffer.from(data.subarray(0, 640 << 10)).toString("base64"), size: data.length };
    return { id, data: Buffer.from(JSON.stringify({ v: VERSION, id, type: "bus.unreadable", time: Date.now(), source, ...about, body })) };
  }
}
