// Tests the signatures with the examples of docs/wire.md: node --test tests/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { read, trust } from "../dist/wire.js";

const KEY = "7c1e:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
const document = readFileSync(new URL("../../../docs/wire.md", import.meta.url), "utf8");
const examples = [...document.matchAll(/```json\n([^]*?)```/g)].map(([, text]) => text).filter((text) => JSON.parse(text).signature);
const receive = (text, verify = trust([KEY])) => read(Buffer.from(text), JSON.parse(text).destination, verify);

test("examples of the document", () => {
  assert.ok(examples.length >= 10, `${examples.length} examples are signed`);
  for (const text of examples) assert.deepEqual(receive(text), JSON.parse(text));
});

test("the form counts, not the layout", () => {
  for (const text of examples) {
    const members = Object.entries(JSON.parse(text)).reverse();
    receive(JSON.stringify(Object.fromEntries([...members, ["unknown", 1.5]])).replace(/e/g, (c, at, all) => (all[at - 1] === '"' ? "\\u0065" : c)));
  }
});

test("changed examples are refused", () => {
  const changes = [['"v": 2', '"v": 2.0'], ['"task": "0', '"task": "1'], ['"body": {', '"label": "x", "body": {'], ['"type": "job.', '"type": "job.x']];
  for (const text of examples)
    for (const [from, to] of changes)
      if (text.includes(from)) assert.throws(() => receive(text.replace(from, to)), /changed/, `${from} in ${text}`);
});

test("keys", () => {
  const [text] = examples, other = "7c1e:" + Buffer.alloc(32, 1).toString("base64");
  receive(text.replace(/"signature": .*\n/, ""), trust([]));
  assert.throws(() => receive(text.replace(/"signature": .*\n/, "")), /not signed/);
  assert.throws(() => receive(text, trust([other])), /not trusted/);
  assert.throws(() => receive(text, trust([KEY.replace("7c1e", "77aa")])), /is of hub/);
  assert.throws(() => trust(["7c1e:AAAA"]), /hubs\[0\]/);
  assert.throws(() => read(Buffer.from(text), "agent/other", trust([KEY])), /destination/);
});
