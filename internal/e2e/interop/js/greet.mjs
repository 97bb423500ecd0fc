// A client that does with agents what the test client of the sample "helloworld" does, with the
// official JavaScript SDK as it comes. It prints what it has seen, by the agents' names.
//
//   node greet.mjs <hub's URL> <key> <text> <agent>...

import { randomUUID } from 'node:crypto';
import * as a2a from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const [hub, key, text, ...agents] = process.argv.slice(2);

const keyed = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', `Bearer ${key}`);
  return fetch(input, { ...init, headers });
};

const connect = (card, options) =>
  new ClientFactory({ transports: [new JsonRpcTransportFactory(options)] }).createFromAgentCard(card);

const request = () =>
  a2a.SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text, mediaType: 'text/plain' }] },
  });

// The SDK's client asks for the extended card where the public one says that there is one.
const extended = async (card, options) => a2a.AgentCard.toJSON(await (await connect(card, options)).getAgentCard());

const seen = {};
for (const agent of agents) {
  const card = await new DefaultAgentCardResolver().resolve(`${hub}/a2a/${agent}/.well-known/agent-card.json`, '');
  const client = await connect(card);
  const answer = await client.sendMessage(request());
  const streamed = [];
  for await (const event of client.sendMessageStream(request())) streamed.push(a2a.StreamResponse.toJSON(event));
  seen[agent] = {
    card: a2a.AgentCard.toJSON(card),
    sent: 'role' in answer ? { message: a2a.Message.toJSON(answer) } : { task: a2a.Task.toJSON(answer) },
    streamed,
    extended: await extended(card, { fetchImpl: keyed }),
    refused: await extended(card).then(() => '', (err) => `${err.name}: ${err.message}`),
  };
}
process.stdout.write(JSON.stringify(seen));
