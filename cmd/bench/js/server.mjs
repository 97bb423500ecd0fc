// The agent of the bench on the official JavaScript SDK: in memory, on express. It
// speaks the same lines on its standard input and output as the servers in Go.

import { createInterface } from 'node:readline';
import express from 'express';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import { TaskState } from '@a2a-js/sdk';

const chunkText = 'sixty-four bytes of text are about what a model says in a second';

// The runs of hold wait in held; the replies to await wait in waiting.
let held = [];
let waiting = [];

class Agent {
  async execute(ctx, bus) {
    const { taskId, contextId } = ctx;
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const tell = (state) =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined }));
    const artifact = (text, append, lastChunk) =>
      bus.publish(AgentEvent.artifactUpdate({
        taskId, contextId, append, lastChunk, metadata: undefined,
        artifact: {
          artifactId: 'answer', name: '', description: '', metadata: undefined, extensions: [],
          parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
        },
      }));
    const chunks = (n) => {
      for (let i = 0; i < n; i++) artifact(chunkText, i > 0, i === n - 1);
      tell(TaskState.TASK_STATE_COMPLETED);
    };

    bus.publish(AgentEvent.task(ctx.task ?? {
      id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [], history: [ctx.userMessage], metadata: undefined,
    }));
    tell(TaskState.TASK_STATE_WORKING);
    const text = ctx.userMessage.parts[0].content.value;
    const space = text.indexOf(' ');
    const [what, rest] = [text.slice(0, space), text.slice(space + 1)];
    if (what === 'say') {
      artifact(rest, false, true);
      tell(TaskState.TASK_STATE_COMPLETED);
    } else if (what === 'chunks') {
      chunks(Number(rest));
    } else if (what === 'hold') {
      await new Promise((resolve) => {
        held.push(resolve);
        waiting = waiting.filter((done) => !done());
      });
      chunks(Number(rest));
    } else {
      tell(TaskState.TASK_STATE_REJECTED);
    }
    bus.finished();
  }

  async cancelTask() {}
}

const card = {
  name: 'bench', description: 'Answers a load generator.', version: '1',
  supportedInterfaces: [{ url: 'http://localhost/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [], securitySchemes: {}, securityRequirements: [], signatures: [],
};

const commands = {
  stats: (_, reply) => reply({ heap: process.memoryUsage().heapUsed }),
  release: (_, reply) => {
    for (const go of held.splice(0)) go();
    reply({});
  },
  await: (n, reply) => {
    const done = () => held.length >= Number(n) && (reply({}), true);
    if (!done()) waiting.push(done);
  },
};

function obey(line) {
  const space = line.indexOf(' ');
  const name = space < 0 ? line : line.slice(0, space);
  const reply = (r) => process.stdout.write(JSON.stringify(r) + '\n');
  const command = commands[name];
  if (!command) return reply({ error: `no command ${name}` });
  command(space < 0 ? '' : line.slice(space + 1), reply);
}

const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
const app = express();
app.use('/', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(JSON.stringify({ addr: `127.0.0.1:${server.address().port}` }) + '\n');
  const lines = createInterface({ input: process.stdin });
  lines.on('line', obey);
  lines.on('close', () => process.exit(0));
});
