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
// Version 1 of the client of MCP and openai-python are in package interop. BeeAI (455 MiB, 69 s) and LiteLLM
// (776 MiB, 56 s) are not installed here.
//
// The folder nightly has those that only .ci/nightly installs: CrewAI (1.1 GiB, 74 s), and n8n, which has 1,919
// packages (1.8 GiB, four minutes). n8n has no lock file: its packages are no dependencies of Parley, and reports on
// their faults would hide others. It is the last version for Node 20, and takes xlsx from npm instead of from the
// server of its maker.
//
// # Running them
//
// .ci/venvs makes the virtual environments, npm ci the folder node_modules. A test whose program is
// missing is skipped.
package strangers
