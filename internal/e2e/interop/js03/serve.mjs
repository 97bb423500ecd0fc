// The stranger, served with the official JavaScript SDK of v0.3 alone. It prints the URL
// above its card, and ends when its input does.

import { randomUUID } from 'node:crypto';
import express from 'express';
import * as grpc from '@grpc/grpc-js';
import {
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { bind, listen, serve, told, open } from '../js/stranger.mjs';

// An agent as somebody who knows only the SDK writes it.
const stranger = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage: m, task } = context;
    const is = (...words) => told(m.messageId ?? '', m.parts?.[0]?.text ?? '', ...words);
    const message = (text) => ({
      kind: 'message',
      messageId: randomUUID(),
      role: 'agent',
      contextId,
      parts: [{ kind: 'text', text }],
    });
    const state = (state, text, to = bus) => {
      const status = { state, timestamp: new Date().toISOString() };
      if (text) status.message = { ...message(text), taskId };
      to.publish({ kind: 'status-update', taskId, contextId, status, final: !['submitted', 'working'].includes(state) });
    };
    const give = (artifactId, parts, more) =>
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: { artifactId, parts }, ...more });
    if (is('brief', 'tck-message-response')) {
      bus.publish(message('in short: yes'));
      return bus.finished();
    }
    if (!task) {
      const status = { state: 'submitted', timestamp: new Date().toISOString() };
      bus.publish({ kind: 'task', id: taskId, contextId, status, history: [m], artifacts: [] });
    }
    if (!task && is('ask', 'tck-input-required')) {
      state('input-required', 'which one?');
      open.set(taskId, (bus) => {
        state('canceled', undefined, bus);
        bus.finished();
      });
    } else if (is('tck-reject-task')) state('rejected', 'no');
    else if (is('wait', 'tck-cancel')) {
      state('working', 'waiting');
      await new Promise((resolve) => open.set(taskId, resolve));
      state('canceled');
    } else {
      state('working', 'at it');
      if (is('tck-stream-artifact-chunked', 'tck-stream-chunked')) {
        give('chunks', [{ kind: 'text', text: 'one ' }]);
        give('chunks', [{ kind: 'text', text: 'two' }], { append: true, lastChunk: true });
      } else give(randomUUID(), content(is) ?? m.parts);
      state('completed', 'done');
    }
    bus.finished();
  },

  async cancelTask(taskId, bus) {
    open.get(taskId)?.(bus);
    open.delete(taskId);
  },
};

function content(is) {
  if (is('tck-artifact-file-url')) {
    return [{ kind: 'file', file: { uri: 'https://example.com/a.txt', mimeType: 'text/plain' } }];
  }
  if (is('tck-artifact-file')) return [{ kind: 'file', file: { bytes: 'YSBmaWxl' } }];
  if (is('tck-artifact-data')) return [{ kind: 'data', data: { key: 'value' } }];
  return undefined;
}

const { server, url } = await listen();
const rpc = new grpc.Server();
const calls = await bind(rpc, grpc.ServerCredentials.createInsecure());
const card = {
  protocolVersion: '0.3.0',
  name: 'stranger',
  description: 'An agent of another maker',
  version: '1',
  url: `${url}/rpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { url: `${url}/rest`, transport: 'HTTP+JSON' },
    { url: calls, transport: 'GRPC' },
  ],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'talk', name: 'talk', description: 'Talks', tags: ['talk'] }],
};
const hooks = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  stranger,
  undefined,
  hooks,
  new DefaultPushNotificationSender(hooks),
);
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
rpc.addService(A2AService, grpcService(options));
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler(options));
app.use('/rest', restHandler(options));
serve(server, url, app);
