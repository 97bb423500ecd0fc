// Package llm is the contract between Parley and language models: providers, messages and
// tools.
//
// # Overview
//
// A [Provider] asks a language model; package internal/llm/openai has the one for endpoints
// with the chat completions API of OpenAI. A [Tool] is a function with a schema and a
// description for a model. A [Source] is a set of tools that may change. An MCP host or a model
// agent of the hub calls tools with a [Call] and passes the [Result] to the model.
//
// The other functions convert parts and messages of A2A from and to the content of chat
// completions, and from and to the content blocks of MCP. They use small JSON types that need
// no SDK of OpenAI or of MCP. A [ChatMessage] is the JSON of a message of a chat completion, an
// [MCPBlock] that of a content block, and an [MCPResult] that of the result of a tool.
//
//	chat:    text ↔ text, raw image ↔ image_url with a data URL, raw wav and mp3 ↔
//	         input_audio, other raw ↔ file, image URL ↔ image_url; data → JSON as text,
//	         other URLs → text
//	MCP:     text ↔ text, raw image and audio ↔ image and audio, other raw ↔ resource,
//	         URL ↔ resource_link; data ↔ JSON as text, the first object ↔
//	         structuredContent
//	tools:   tool_calls and messages of the role tool ↔ parts with the metadata of
//	         [ClientCall] and [ClientResult]
//
// # Guarantees
//
// A mistake of the model is a Result with Error set and a text that describes the remedy. A Go
// error means that the call itself was aborted. The package imports no agent, engine, server or
// store.
//
// A conversion drops nothing silently. It returns a [Loss] for each value that the target
// cannot hold; the Loss states whether the value is Gone or has another shape. MCP content can
// hold every part of A2A: FromMCP restores the input of ToMCP, including metadata, except
// digits of numbers that no float64 has. The ids of messages, tasks and contexts are not
// content, so dropping them is no Loss. A [ContentError] names the invalid field of its input.
// Inputs are never changed; results may share their bytes.
//
// # Non-guarantees
//
// A Tool does not check its caller: the side that offers it does. No URL is fetched. Bytes are
// not inspected: the media type alone decides whether they are an image. Text of other agents
// is not screened for instructions to a model.
//
// # Concurrency
//
// Tools are called concurrently. A Call belongs to one call, a Result to its caller. All
// conversions are pure functions.
//
// # Testing
//
// A test can call a Tool with a Call that has only Arguments. Conversions have tables in both
// directions, and fuzz tests: accepted input converts without a panic, and lossless output
// converts back.
package llm
