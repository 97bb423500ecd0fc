// Package content converts what agents say into what others understand: parts and
// messages of A2A from and to the content of chat completions, and from and to the
// content blocks of MCP.
//
// # What it is
//
// Pure functions between the types of the A2A SDK and small JSON types of this package,
// which need no SDK of OpenAI or of MCP. A [ChatMessage] is a message of a chat
// completion as it is on the wire, an [MCPBlock] a content block, an [MCPResult] the
// result of a tool.
//
//	chat:    text ↔ text, raw image ↔ image_url with a data URL, raw wav and mp3 ↔
//	         input_audio, other raw ↔ file, image URL ↔ image_url; data → JSON as text,
//	         other URLs → text
//	MCP:     text ↔ text, raw image and audio ↔ image and audio, other raw ↔ resource,
//	         URL ↔ resource_link; data ↔ JSON as text, the first object ↔
//	         structuredContent
//	tools:   tool_calls and messages of the role tool ↔ parts with the metadata of
//	         [ToolCall] and [ToolResult], in the way of PromptKit's agents
//
// # Guarantees
//
// What a target cannot hold is a [Loss] in the answer: nothing is dropped in silence. A
// Loss says whether the value is Gone, or there in another shape. Content of MCP holds
// everything that a part of A2A can say: what ToMCP made comes back from FromMCP as it
// was, metadata included, but for the digits of numbers that no float64 has. The ids of
// messages, tasks and contexts are not content: whoever sends a message gives it the ids
// that it needs, and they are no losses.
//
// What is wrong in what somebody else wrote is an [Error] that names the field. What is
// converted is never changed; results may share the bytes of it.
//
// # What it does not promise
//
// Nothing is fetched: a URL stays a URL. Bytes are not looked at, so that an image is what
// its media type says. What other agents say is not screened for orders to its reader.
//
// # Concurrency
//
// All functions are pure.
//
// # Testing
//
// Tables in both directions, and fuzz tests: what is accepted converts without a panic,
// what is not lost comes back.
package content
