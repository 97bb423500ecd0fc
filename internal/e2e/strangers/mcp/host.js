// The client of MCP's TypeScript SDK, version 2, in the place of a host: it connects to a server as the host's
// configuration says, and asks the agent echo.
//
//	node host.js <the server's entry in mcpServers> <message>
//
// Prints the answer, within the label of the hub.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [entry, message] = process.argv.slice(2);
const { command, args, url } = JSON.parse(entry);
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, env: process.env });
const client = new Client({ name: "host", version: "1" });
await client.connect(transport);
const result = await client.callTool({ name: "chat_with_agent", arguments: { agent: "echo", message } });
console.log(result.structuredContent.reply);
await client.close();
