// Package llm is the contract between Parley and language models: providers, messages and
// tools.
//
// # What it is
//
// A [Provider] asks a language model; package internal/llm/openai has the one for endpoints that speak
// the chat completions of OpenAI. A [Tool] is a function with a schema and a description that
// a model reads, a [Source] a set of tools that may change. An MCP host or a model agent of
// the hub calls them with a [Call] and shows the model the [Result].
//
// The other functions convert parts and messages of A2A from and to the content of chat
// completions, and from and to the content blocks of MCP, with small JSON types that need no
// SDK of OpenAI or of MCP. A [ChatMessage] is a message of a chat completion as it is on the
// wire, an [MCPBlock] a content block, an [MCPResult] the result of a tool.
//
//	chat:    text ↔ text, raw image ↔ image_url with a data URL, raw wav and mp3 ↔
//	         input_audio, other raw ↔ file, image URL ↔ image_url; data → JSON as text,
//	         other URLs → text
//	MCP:     text ↔ text, raw image and audio ↔ image and audio, other raw ↔ resource,
//	         URL ↔ resource_link; data ↔ JSON as text, the first object ↔
//	         structuredContent
//	tools:   tool_calls and messages of the role tool ↔ parts with the metadata of
//	         [ClientCall] and [ClientResult], in the way of PromptKit's agents
//
// # Guarantees
//
// A mistake of the model is a Result with Error set and a text that tells it the remedy; an
// error of Go means that the call itself was aborted. Nothing here imports an agent, an
// engine, a server or a store.
//
// A conversion drops nothing in silence: it returns a [Loss] for each value that the target
// cannot hold, which says whether the value is Gone or has another shape. Content of MCP
// holds everything that a part of A2A can hold: FromMCP restores the input of ToMCP, metadata
// included, but for digits of numbers that no float64 has. The ids of messages, tasks and
// contexts are not content: they are no losses. A [ContentError] names the invalid field of
// its input. Inputs are never changed; results may share their bytes.
//
// # What it does not promise
//
// A Tool does not check its caller: the side that offers it does. No URL is fetched. Bytes
// are not inspected: an image is of the kind that its media type names. Words of other agents
// are not screened for orders to a model.
//
// # Concurrency
//
// Tools are called concurrently. A Call belongs to one call, a Result to its caller. All
// conversions are pure functions.
//
// # Testing
//
// A Tool is called with a Call in which only Arguments are set. Conversions have tables in
// both directions, and fuzz tests: accepted input converts without a panic, and lossless
// output converts back.
package llm
