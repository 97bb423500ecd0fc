// The client of MCP's TypeScript SDK, version 2, uses a hub as an MCP server.
//
//	node judge.js legacy|auto http <hub's URL>
//	node judge.js legacy|auto stdio <parley> <hub's URL>
//
// Prints a JSON object: what the client has seen. The client itself checks all messages against its schemas.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, wire, ...at] = process.argv.slice(2);
const transport = wire === "http"
  ? new StreamableHTTPClientTransport(new URL(at[0] + "/mcp"))
  : new StdioClientTransport({ command: at[0], args: ["mcp", "--url", at[1]], env: process.env });
const client = new Client({ name: "judge", version: "1" }, {
  capabilities: { elicitation: {} }, versionNegotiation: { mode },
});
const seen = { asked: [] };
client.setRequestHandler("elicitation/create", (request) => {
  seen.asked.push(request.params.message);
  return { action: "accept", content: { answer: "Ada 🎉" } };
});
let updated;
const nextUpdate = () => new Promise((done) => { updated = done; });
client.setNotificationHandler("notifications/resources/updated", (n) => updated?.(n.params.uri));

const call = (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, { timeout: 600_000, ...options });
// said returns the text of an agent, or of a note, without the label of the hub around it.
const said = (text) => text.match(/^<quoted id="(\w+)" from="[^"]*">\n([^]*?)\n<\/quoted id="\1">/)[2];
const refused = (promise) => promise.then(() => "an answer", (err) => [err.code, err.message]);

await client.connect(transport);
seen.version = client.getNegotiatedProtocolVersion();
seen.server = client.getServerVersion().name;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);

// A text of several scripts, with everything that JSON, HTML and SSE treat in their own way.
const odd = 'héllo 🎉👩‍👩‍👧 مرحبا 日本語 e\u0301 \\n "q" <b>&amp; \ttab\nline\r\n\r\ndata: end \u2028.';
const progress = [];
const chat = (await call("chat_with_agent", { agent: "echo", message: odd }, { onprogress: (p) => progress.push(p) })).structuredContent;
seen.odd = said(chat.reply) === odd;
seen.progress = progress[0]; // those that arrive together with the answer over a pipe are dropped by the client
const task = JSON.parse((await client.readResource({ uri: "parley://tasks/" + chat.taskId })).contents[0].text);
seen.task = [task.status.state, said(task.artifacts[0].parts[0].text) === odd, said(task.history[0].parts[0].text) === odd];
const data = { n: 1.5, large: Number.MAX_SAFE_INTEGER, list: [null, true, { "é🎉": "" }] };
const echoed = (await call("invoke_agent", { agent_name: "echo", skill: "echo", message: "m", data })).structuredContent;
seen.data = JSON.parse(said(echoed.data));

// An answer of nearly a megabyte, the largest that fits into the arguments, is read in pieces, and as one resource.
const long = Array.from({ length: 80_000 }, (_, i) => `${i}é🎉`).join(" ");
let piece = (await call("invoke_agent", { agent_name: "echo", skill: "echo", message: long })).structuredContent;
const whole = await client.readResource({ uri: "parley://memory/" + piece.working_memory_key });
seen.resource = said(whole.contents[0].text) === long;
let pieces = "";
for (seen.pieces = 1; ; seen.pieces++) {
  pieces += said(piece.result);
  const more = piece.result.match(/ and offset (\d+) to read on\.\)$/);
  if (!more) break;
  piece = (await call("get_task", { task_id: piece.task_id, offset: Number(more[1]) })).structuredContent;
}
seen.long = pieces === long;

// A file is content of its own.
const report = await call("invoke_agent", { agent_name: "report", skill: "report", message: "one two" });
const file = report.content.find((c) => c.type === "image");
seen.file = [file.mimeType, Buffer.from(file.data, "base64").subarray(1, 4).toString()];

// The agent asks back, and the client answers.
const interview = (await call("invoke_agent", { agent_name: "interview", skill: "interview", message: "ask 1" })).structuredContent;
seen.interview = [interview.state, said(interview.result).trim()];

// Thirty calls at once.
const many = await Promise.all(Array.from({ length: 30 }, (_, i) => call("chat_with_agent", { agent: "echo", message: `n${i} é` })));
seen.many = many.filter((r, i) => said(r.structuredContent.reply) === `n${i} é`).length;

// A note changes while the client watches it. The hub reports its state at the beginning, and each change.
const key = `plan ${mode} ${wire} 🎉`;
await call("save_to_working_memory", { key, data: "buy tulips" });
const plan = (await client.listResources()).resources.find((r) => decodeURIComponent(r.uri).endsWith("/" + key)).uri;
const first = nextUpdate();
const watch = mode === "auto" ? await client.listen({ resourceSubscriptions: [plan] }) : await client.subscribeResource({ uri: plan });
seen.updated = [(await first) === plan];
const second = nextUpdate();
await call("save_to_working_memory", { key, data: "buy roses 🌹" });
seen.updated.push((await second) === plan);
seen.note = said((await client.readResource({ uri: plan })).contents[0].text);
await watch.close?.();

// What is wrong is said.
const words = (result) => [result.isError, result.content[0].text.split(/[.;]/)[0]];
seen.nobody = words(await call("chat_with_agent", { agent: "nobody", message: "x" }));
seen.large = words(await call("chat_with_agent", { agent: "echo", message: "x".repeat(1 << 20) }));
seen.wrong = words(await call("chat_with_agent", { agent: 5 }));
const failed = (await call("chat_with_agent", { agent: "breaker", message: "x" })).structuredContent;
seen.failed = [failed.state, said(failed.reply)];
seen.noTool = await refused(call("no_such_tool"));
seen.noResource = await refused(client.readResource({ uri: "parley://tasks/none" }));

// A call that the client gives up is canceled at the agent.
const stop = new AbortController();
seen.given = await refused(call("chat_with_agent", { agent: "slow", message: "3600" }, {
  signal: stop.signal, onprogress: (p) => { if (p.message.includes("working")) stop.abort("enough"); },
}));
const slow = async () => (await call("list_tasks", { agent_name: "slow" })).structuredContent.tasks.map((t) => t.state);
do seen.slow = await slow(); while (seen.slow.includes("working"));

await client.close();
console.log(JSON.stringify(seen));
