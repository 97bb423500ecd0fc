// The official JavaScript SDK as a client. It speaks the line protocol that doc.go
// describes.
//
//   node drive.mjs <hub's URL> <JSONRPC | HTTP+JSON | GRPC>

import * as grpc from '@grpc/grpc-js';
import * as a2a from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { takeSteps } from './lines.mjs';

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

// call returns what takes the step of one call.
const call = (f) => async (step) => f(await client(step.agent, step.version), step.params);

async function* follow(step, signal, f) {
  const events = f(await client(step.agent, step.version), step.params, { signal });
  for await (const e of events) yield a2a.StreamResponse.toJSON(e);
}

const calls = {
  send: call(async (c, p) => answer(await c.sendMessage(a2a.SendMessageRequest.fromJSON(p)))),
  get: call(async (c, p) => a2a.Task.toJSON(await c.getTask(a2a.GetTaskRequest.fromJSON(p)))),
  list: call(async (c, p) => a2a.ListTasksResponse.toJSON(await c.listTasks(a2a.ListTasksRequest.fromJSON(p)))),
  cancel: call(async (c, p) => a2a.Task.toJSON(await c.cancelTask(a2a.CancelTaskRequest.fromJSON(p)))),
  getPush: call(async (c, p) =>
    a2a.TaskPushNotificationConfig.toJSON(
      await c.getTaskPushNotificationConfig(a2a.GetTaskPushNotificationConfigRequest.fromJSON(p)),
    ),
  ),
  createPush: call(async (c, p) =>
    a2a.TaskPushNotificationConfig.toJSON(
      await c.createTaskPushNotificationConfig(a2a.TaskPushNotificationConfig.fromJSON(p)),
    ),
  ),
  listPush: call(async (c, p) =>
    a2a.ListTaskPushNotificationConfigsResponse.toJSON(
      await c.listTaskPushNotificationConfig(a2a.ListTaskPushNotificationConfigsRequest.fromJSON(p)),
    ),
  ),
  deletePush: call(async (c, p) => {
    await c.deleteTaskPushNotificationConfig(a2a.DeleteTaskPushNotificationConfigRequest.fromJSON(p));
    return {};
  }),
  read: async (step) => a2a.StreamResponse.toJSON(a2a.StreamResponse.fromJSON(step.params)),
};

const streams = {
  stream: (step, signal) =>
    follow(step, signal, (c, p, o) => c.sendMessageStream(a2a.SendMessageRequest.fromJSON(p), o)),
  subscribe: (step, signal) =>
    follow(step, signal, (c, p, o) => c.resubscribeTask(a2a.SubscribeToTaskRequest.fromJSON(p), o)),
};

await takeSteps({ calls, streams, refusal: (err) => ({ reason: err.reason ?? '' }) });
