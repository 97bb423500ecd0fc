// Takes steps from standard input, one JSON object per line, with the official
// JavaScript SDK as the client, and prints what it sees, one JSON object per line.
//
//   node drive.mjs <hub's URL> <JSONRPC | HTTP+JSON | GRPC>
//
// A step is {id, op, agent, params, version}: params is a request of v1.0 as JSON.
// Answers carry the id of their step: {id, event}* and {id, end} for streams,
// {id, result} for other calls, {id, error: {reason, message}} for failures. The op
// "stop" leaves the stream whose id is in params; the op "read" reads a StreamResponse
// that came otherwise.

import { createInterface } from 'node:readline';
import * as grpc from '@grpc/grpc-js';
import * as a2a from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const [url, binding] = process.argv.slice(2);

// The SDK names its own version in each call. A step that wants another one gets a
// client whose last layer changes it.
const fetchAs = (version) => (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('A2A-Version', version);
  return fetch(input, { ...init, headers });
};

const callAs = (version) => (options, nextCall) =>
  new grpc.InterceptingCall(nextCall(options), {
    start(metadata, listener, next) {
      metadata.set('a2a-version', version);
      next(metadata, listener);
    },
  });

const transports = {
  JSONRPC: (v) => new JsonRpcTransportFactory(v ? { fetchImpl: fetchAs(v) } : undefined),
  'HTTP+JSON': (v) => new RestTransportFactory(v ? { fetchImpl: fetchAs(v) } : undefined),
  GRPC: (v) => new GrpcTransportFactory(v ? { grpcCallOptions: { interceptors: [callAs(v)] } } : undefined),
};

async function connect(agent, version) {
  const card = await new DefaultAgentCardResolver().resolve(`${url}/a2a/${agent}/.well-known/agent-card.json`, '');
  return new ClientFactory({ transports: [transports[binding](version)] }).createFromAgentCard(card);
}

const clients = new Map();

function client(agent, version) {
  const key = JSON.stringify([agent, version]);
  if (!clients.has(key)) clients.set(key, connect(agent, version));
  return clients.get(key);
}

const answer = (r) => ('role' in r ? { message: a2a.Message.toJSON(r) } : { task: a2a.Task.toJSON(r) });

const calls = {
  send: async (c, p) => answer(await c.sendMessage(a2a.SendMessageRequest.fromJSON(p))),
  get: async (c, p) => a2a.Task.toJSON(await c.getTask(a2a.GetTaskRequest.fromJSON(p))),
  list: async (c, p) => a2a.ListTasksResponse.toJSON(await c.listTasks(a2a.ListTasksRequest.fromJSON(p))),
  cancel: async (c, p) => a2a.Task.toJSON(await c.cancelTask(a2a.CancelTaskRequest.fromJSON(p))),
  getPush: async (c, p) =>
    a2a.TaskPushNotificationConfig.toJSON(
      await c.getTaskPushNotificationConfig(a2a.GetTaskPushNotificationConfigRequest.fromJSON(p)),
    ),
  createPush: async (c, p) =>
    a2a.TaskPushNotificationConfig.toJSON(
      await c.createTaskPushNotificationConfig(a2a.TaskPushNotificationConfig.fromJSON(p)),
    ),
  listPush: async (c, p) =>
    a2a.ListTaskPushNotificationConfigsResponse.toJSON(
      await c.listTaskPushNotificationConfig(a2a.ListTaskPushNotificationConfigsRequest.fromJSON(p)),
    ),
  deletePush: async (c, p) => {
    await c.deleteTaskPushNotificationConfig(a2a.DeleteTaskPushNotificationConfigRequest.fromJSON(p));
    return {};
  },
  // What a webhook was told, as the SDK reads it.
  read: async (_, p) => a2a.StreamResponse.toJSON(a2a.StreamResponse.fromJSON(p)),
};

const streams = {
  stream: (c, p, o) => c.sendMessageStream(a2a.SendMessageRequest.fromJSON(p), o),
  subscribe: (c, p, o) => c.resubscribeTask(a2a.SubscribeToTaskRequest.fromJSON(p), o),
};

const print = (o) => process.stdout.write(JSON.stringify(o) + '\n');
const running = new Map();

async function follow(step, c) {
  const stop = new AbortController();
  running.set(step.id, stop);
  try {
    for await (const e of streams[step.op](c, step.params, { signal: stop.signal })) {
      print({ id: step.id, event: a2a.StreamResponse.toJSON(e) });
    }
    print({ id: step.id, end: true });
  } finally {
    running.delete(step.id);
  }
}

async function take(step) {
  if (step.op === 'stop') {
    running.get(step.params)?.abort();
    return;
  }
  try {
    const c = await client(step.agent, step.version);
    if (streams[step.op]) await follow(step, c);
    else print({ id: step.id, result: await calls[step.op](c, step.params) });
  } catch (err) {
    print({ id: step.id, error: { reason: err.reason ?? '', message: `${err.name}: ${err.message}` } });
  }
}

for await (const line of createInterface({ input: process.stdin })) void take(JSON.parse(line));
process.exit(0);
