// As python/v1/parts.py, with the official JavaScript SDK.
//
//   node parts.mjs <hub's URL> <key>

import { createHash } from 'node:crypto';
import * as a2a from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const [url, key] = process.argv.slice(2);
const withKey = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', `Bearer ${key}`);
  return fetch(input, { ...init, headers });
};

const card = await new DefaultAgentCardResolver().resolve(`${url}/a2a/echo/.well-known/agent-card.json`, '');
const client = await new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl: withKey })],
}).createFromAgentCard(card);

const content = Buffer.alloc(1 << 20, Uint8Array.from({ length: 256 }, (_, i) => i));
const sent = await client.sendMessage(a2a.SendMessageRequest.fromJSON({
  message: {
    messageId: 'm',
    role: 'ROLE_USER',
    parts: [{ raw: content.toString('base64'), filename: 'a.bin', mediaType: 'application/octet-stream' }],
  },
}));
const task = a2a.Task.toJSON(await client.getTask(a2a.GetTaskRequest.fromJSON({ id: sent.id })));
const back = task.artifacts[0].parts[0];
const bytes = async (r) => Buffer.from(await r.arrayBuffer());
const ranged = await withKey(back.url, { headers: { Range: 'bytes=256-511' } });
console.log(JSON.stringify({
  kind: 'url' in back ? 'url' : 'other',
  name: back.filename,
  same: content.equals(await bytes(await withKey(back.url))),
  digest: back.metadata['parley.part'].sha256 === createHash('sha256').update(content).digest('hex'),
  ranged: ranged.status === 206 && content.subarray(0, 256).equals(await bytes(ranged)),
  stranger: (await fetch(back.url)).status,
}));
