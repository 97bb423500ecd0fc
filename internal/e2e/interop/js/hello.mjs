// An agent that behaves like the sample "helloworld" of the protocol's makers, served with the
// official JavaScript SDK alone. It prints the URL above its card, and ends when its input
// does.

import { randomUUID } from 'node:crypto';
import express from 'express';
import * as a2a from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { listen, serve } from './stranger.mjs';

const greeter = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const asked = a2a.Message.toJSON(userMessage);
    const status = (name, text) => {
      const status = { state: `TASK_STATE_${name}`, timestamp: new Date().toISOString() };
      if (text) {
        const parts = [{ text, mediaType: 'text/plain' }];
        status.message = { messageId: randomUUID(), role: 'ROLE_AGENT', taskId, contextId, parts };
      }
      return { taskId, contextId, status };
    };
    const move = (...words) => bus.publish(AgentEvent.statusUpdate(a2a.TaskStatusUpdateEvent.fromJSON(status(...words))));
    const fresh = { id: taskId, contextId, status: status('SUBMITTED').status, history: [asked] };
    bus.publish(AgentEvent.task(task ?? a2a.Task.fromJSON(fresh)));
    move('WORKING', 'Processing request...');
    const text = asked.parts?.find((p) => p.text)?.text.trim();
    const answer = text ? `Hello, World! I have received your request (${text})` : 'No text input is provided!';
    const artifact = { artifactId: randomUUID(), name: 'Result', parts: [{ text: answer, mediaType: 'text/plain' }] };
    bus.publish(
      AgentEvent.artifactUpdate(a2a.TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, lastChunk: true })),
    );
    move('COMPLETED', 'Request is completed!');
    bus.finished();
  },
  async cancelTask() {
    throw new a2a.UnsupportedOperationError('It cannot be canceled.');
  },
};

const { server, url } = await listen();
const skill = (id) => ({ id, name: id, description: 'Answers a text', tags: ['sample'] });
const card = (...skills) =>
  a2a.AgentCard.fromJSON({
    name: 'Hello World Agent',
    description: 'Behaves like the sample agent',
    version: '0.0.1',
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true, extendedAgentCard: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: skills.map(skill),
  });
const requestHandler = new DefaultRequestHandler(
  card('echo_bot'),
  new InMemoryTaskStore(),
  greeter,
  undefined,
  undefined,
  undefined,
  card('echo_bot', 'echo_bot_super_mode'),
);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
serve(server, url, app);
