// Package strangers runs programs of others, as their registries offer them, against the parley
// binary with its default configuration. They judge the hub: no option of theirs is set to suit it.
//
// # Programs
//
//	folder   | program                                  | of
//	---------+------------------------------------------+-----------------------------
//	sdk03    | a2a-sdk 0.3.10                           | the protocol, version 0.3
//	sdk1     | a2a-sdk 1.3                              | the protocol, version 1.0
//	strands  | strands-agents, over a2a-sdk 0.3         | AWS
//	adk      | google-adk, RemoteA2aAgent               | Google
//	proof    | a2a-proof, a contract test               | PyPI
//	js       | a2a-ai-provider, over @a2a-js/sdk 0.3    | npm
//	mcp      | @modelcontextprotocol/client 2.4         | MCP, 2025-11-25 and 2026-07-28
//
// Version 1 of the client of MCP and openai-python are in package interop. CrewAI (1.1 GiB, 68 s), BeeAI
// (455 MiB, 69 s) and LiteLLM (776 MiB, 56 s) are not installed here.
//
// # Running them
//
// .ci/venvs makes the virtual environments, npm ci the folder node_modules. A test whose program is
// missing is skipped.
package strangers
