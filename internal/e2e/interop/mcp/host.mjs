// A host of MCP with the official TypeScript SDK. It is called with a kind of transport and
// where the server is:
//
//   node host.mjs stdio PARLEY mcp --url URL
//   node host.mjs http URL
//
// It lists and calls every tool, and prints what came of it as one line of JSON.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const [kind, at, ...args] = process.argv.slice(2);
const transport = kind === 'http'
  ? new StreamableHTTPClientTransport(new URL(at))
  : new StdioClientTransport({ command: at, args, env: process.env });

const report = { tools: [], called: {}, progress: [], asked: [], resources: [], templates: [], updated: 0 };
const client = new Client({ name: 'interop', version: '1' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  report.asked.push(request.params.message);
  return { action: 'accept', content: { answer: 'Ada' } };
});
client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => { report.updated++; });

await client.connect(transport);
report.server = client.getServerVersion();

for (let cursor; ;) {
  const page = await client.listTools({ cursor });
  report.tools.push(...page.tools.map((t) => t.name));
  if (!(cursor = page.nextCursor)) break;
}

async function call(name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, {
    timeout: 60_000, onprogress: (p) => report.progress.push(p.message ?? ''), ...options,
  });
  report.called[name] = { isError: result.isError ?? false, text: result.content?.[0]?.text ?? '' };
  return result.structuredContent ?? {};
}

const far = `far-${kind}`;
await call('list_known_agents');
await call('get_agent_details', { agent_name: 'echo' });
await call('search_known_services', { query: 'what time is it' });
report.chat = (await call('chat_with_agent', { agent: 'echo', message: 'hello' })).reply;
await call('invoke_agent', { agent_name: 'interview', skill: 'interview', message: 'ask 1' });
const slow = (await call('invoke_agent', { agent_name: 'slow', skill: 'slow', message: '600', timeout_minutes: 0 })).task_id;
await call('list_tasks', { limit: 5 });
await call('get_task', { task_id: slow });
await call('cancel_task', { task_id: slow });
const asks = (await call('invoke_agent', { agent_name: 'interview', skill: 'interview', message: 'ask 1', timeout_minutes: 0 })).task_id;
while ((await call('get_task', { task_id: asks })).state !== 'input-required');
await call('continue_task', { task_id: asks, message: 'Ada' });
await call('save_to_working_memory', { key: 'plan', data: 'buy tulips' });
await call('get_from_working_memory', { key: 'plan' });
await call('search_working_memory', { query: 'tulips' });

for (let cursor; ;) {
  const page = await client.listResources({ cursor });
  report.resources.push(...page.resources.map((r) => r.uri));
  if (!(cursor = page.nextCursor)) break;
}
report.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
const plan = report.resources.find((uri) => uri.endsWith('/plan'));
report.plan = (await client.readResource({ uri: plan })).contents[0].text;
await client.subscribeResource({ uri: plan });
await call('save_to_working_memory', { key: 'plan', data: 'buy roses' });
while (report.updated === 0) await new Promise((done) => setTimeout(done, 20));
await client.unsubscribeResource({ uri: plan });

await call('delete_from_working_memory', { key: 'plan' });
await call('register_agent', { agent_name: far, url: 'http://127.0.0.1:1', skills: ['translate'] });
await call('refresh_agent_card', { agent_name: far });
await call('unregister_agent', { agent_name: far });
await call('ask_human', { question: 'why?' });
await call('send_update', { text: 'half way' });

// A call that the host cancels is canceled at the agent.
const stop = new AbortController();
const working = (p) => { if (p.message?.includes('slow working')) stop.abort('enough'); };
try {
  await call('chat_with_agent', { agent: 'slow', message: '600' }, { signal: stop.signal, onprogress: working });
  report.canceled = 'the call has a result';
} catch (err) {
  report.canceled = String(err);
}
for (report.left = 1; report.left > 0;) {
  const list = await client.callTool({ name: 'list_tasks', arguments: { agent_name: 'slow', state: 'working' } });
  report.left = list.structuredContent.tasks.length;
}

report.unknown = await client.callTool({ name: 'no_such_tool', arguments: {} }).then(() => 'a result', String);
await client.close();
console.log(JSON.stringify(report));
