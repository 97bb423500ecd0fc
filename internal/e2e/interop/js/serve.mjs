// The stranger, served with the official JavaScript SDK alone. It prints the URL above
// its card, and ends when its input does.

import { randomUUID } from 'node:crypto';
import express from 'express';
import * as grpc from '@grpc/grpc-js';
import * as a2a from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { bind, listen, serve, told, open } from './stranger.mjs';

// An agent as somebody who knows only the SDK writes it.
const stranger = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage: m, task } = context;
    const { messageId, parts } = a2a.Message.toJSON(m);
    const is = (...words) => told(messageId ?? '', parts?.[0]?.text ?? '', ...words);
    const message = (text) => ({ messageId: randomUUID(), role: 'ROLE_AGENT', contextId, parts: [{ text }] });
    const state = (state, text, to = bus) => {
      const status = { state: `TASK_STATE_${state}`, timestamp: new Date().toISOString() };
      if (text) status.message = { ...message(text), taskId };
      to.publish(AgentEvent.statusUpdate(a2a.TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
    };
    const give = (artifactId, parts, more) =>
      bus.publish(
        AgentEvent.artifactUpdate(
          a2a.TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact: { artifactId, parts }, ...more }),
        ),
      );
    if (is('brief', 'tck-message-response')) {
      bus.publish(AgentEvent.message(a2a.Message.fromJSON(message('in short: yes'))));
      return bus.finished();
    }
    // The SDK wants the task first, also where it goes on.
    const status = { state: 'TASK_STATE_SUBMITTED', timestamp: new Date().toISOString() };
    const fresh = { id: taskId, contextId, status, history: [a2a.Message.toJSON(m)] };
    bus.publish(AgentEvent.task(task ?? a2a.Task.fromJSON(fresh)));
    if (!task && is('ask', 'tck-input-required')) {
      state('INPUT_REQUIRED', 'which one?');
      open.set(taskId, (bus) => {
        state('CANCELED', undefined, bus);
        bus.finished();
      });
    } else if (is('tck-reject-task')) state('REJECTED', 'no');
    else if (is('wait', 'tck-cancel')) {
      state('WORKING', 'waiting');
      await new Promise((resolve) => open.set(taskId, resolve));
      state('CANCELED');
    } else {
      state('WORKING', 'at it');
      if (is('tck-stream-artifact-chunked', 'tck-stream-chunked')) {
        give('chunks', [{ text: 'one ' }]);
        give('chunks', [{ text: 'two' }], { append: true, lastChunk: true });
      } else give(randomUUID(), content(is) ?? parts);
      state('COMPLETED', 'done');
    }
    bus.finished();
  },

  async cancelTask(taskId, bus) {
    open.get(taskId)?.(bus);
    open.delete(taskId);
  },
};

function content(is) {
  if (is('tck-artifact-file-url')) return [{ url: 'https://example.com/a.txt', mediaType: 'text/plain' }];
  if (is('tck-artifact-file')) return [{ raw: 'YSBmaWxl' }];
  if (is('tck-artifact-data')) return [{ data: { key: 'value' } }];
  return undefined;
}

const { server, url } = await listen();
const rpc = new grpc.Server();
const calls = await bind(rpc, grpc.ServerCredentials.createInsecure());
const protocolVersion = '1.0';
const card = a2a.AgentCard.fromJSON({
  name: 'stranger',
  description: 'An agent of another maker',
  version: '1',
  supportedInterfaces: [
    { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
    { url: calls, protocolBinding: 'GRPC', protocolVersion },
  ],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'talk', name: 'talk', description: 'Talks', tags: ['talk'] }],
});
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
