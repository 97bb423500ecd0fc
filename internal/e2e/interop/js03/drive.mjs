// The official JavaScript SDK of v0.3 as a client. It speaks the line protocol that
// doc.go describes.
//
//   node drive.mjs <hub's URL> <JSONRPC | HTTP+JSON | GRPC>

import * as grpc from '@grpc/grpc-js';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { takeSteps } from '../js/lines.mjs';

const [url, binding] = process.argv.slice(2);

const transports = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  'HTTP+JSON': () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory(),
};

async function connect(agent) {
  const base = binding === 'GRPC' ? url : `${url}/a2a/${agent}`;
  const card = await new DefaultAgentCardResolver().resolve(`${base}/.well-known/agent.json`, '');
  return new ClientFactory({ transports: [transports[binding]()], preferredTransports: [binding] }).createFromAgentCard(card);
}

const clients = new Map();

function client(agent) {
  if (!clients.has(agent)) clients.set(agent, connect(agent));
  return clients.get(agent);
}

const call = (f) => async (step) => (await f(await client(step.agent), step.params)) ?? {};

async function* follow(step, f) {
  yield* f(await client(step.agent), step.params);
}

const calls = {
  send: call((c, p) => c.sendMessage(p)),
  get: call((c, p) => c.getTask(p)),
  cancel: call((c, p) => c.cancelTask(p)),
  createPush: call((c, p) => c.setTaskPushNotificationConfig(p)),
  getPush: call((c, p) => c.getTaskPushNotificationConfig(p)),
  listPush: call((c, p) => c.listTaskPushNotificationConfig(p)),
  deletePush: call((c, p) => c.deleteTaskPushNotificationConfig(p)),
  read: async (step) => step.params, // the SDK has no reader of its own for notifications
};

const streams = {
  stream: (step, signal) => follow(step, (c, p) => c.sendMessageStream(p, { signal })),
  subscribe: (step, signal) => follow(step, (c, p) => c.resubscribeTask(p, { signal })),
};

// The classes of the protocol's errors differ by transport, their names by a word.
const reasons = {
  TaskNotFound: 'TASK_NOT_FOUND',
  TaskNotCancelable: 'TASK_NOT_CANCELABLE',
  PushNotificationNotSupported: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
  UnsupportedOperation: 'UNSUPPORTED_OPERATION',
  ContentTypeNotSupported: 'CONTENT_TYPE_NOT_SUPPORTED',
};

function refusal(err) {
  if (err.cause?.errorResponse) return refusal(err.cause); // of an error that came as an event
  const name = err.constructor.name.replace(/^_/, '').replace(/(JSONRPC)?Error$/, '');
  const status = /Status: (\d+)/.exec(err.message)?.[1];
  const code = err.errorResponse?.error?.code ?? 0;
  return { reason: reasons[name] ?? '', code, status: status ?? grpcStatus(err) };
}

const grpcStatus = (err) => grpc.status[err.cause?.code] ?? '';

await takeSteps({ calls, streams, refusal });
