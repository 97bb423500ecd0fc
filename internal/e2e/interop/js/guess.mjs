// A game of guessing, served with the official JavaScript SDK alone: an agent that knows a
// number between 1 and 100, and answers each guess with an artifact. Its task waits for the
// next guess, and its status says nothing beside that. It prints the URL above its card,
// and ends when its input does. With the argument `plain` it does not stream.

import { randomUUID } from 'node:crypto';
import express from 'express';
import * as a2a from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { listen, serve } from './stranger.mjs';

const secret = 31;
const [streaming, stamped] = [!process.argv.includes('plain'), !process.argv.includes('unstamped')];

function verdict(guess) {
  if (!Number.isInteger(guess)) return 'Guess a number from 1 to 100.';
  if (guess === secret) return 'correct';
  return guess < secret ? 'Go higher' : 'Go lower';
}

const game = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const m = a2a.Message.toJSON(userMessage);
    const said = verdict(Number.parseInt(m.parts?.[0]?.text ?? '', 10));
    const before = task ? a2a.Task.toJSON(task) : { history: [m], artifacts: [] };
    const artifact = { artifactId: randomUUID(), name: 'answer', parts: [{ text: said }] };
    const status = { state: said === 'correct' ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED' };
    if (stamped) status.timestamp = new Date().toISOString();
    bus.publish(
      AgentEvent.task(
        a2a.Task.fromJSON({
          id: taskId,
          contextId,
          status,
          history: before.history ?? [],
          artifacts: [...(before.artifacts ?? []), artifact],
        }),
      ),
    );
    bus.finished();
  },
  async cancelTask() {},
};

const { server, url } = await listen();
const card = a2a.AgentCard.fromJSON({
  name: 'guess',
  description: 'Knows a number',
  version: '1',
  supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'guess', name: 'guess', description: 'Takes guesses', tags: ['game'] }],
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), game);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
serve(server, url, app);
