// Package model is an agent that uses a language model: it answers, calls tools, and asks other
// agents of the hub.
//
// # Overview
//
// An [Agent] is an executor with an [llm.Provider], which asks a model and yields its message
// in pieces. For each message of the caller the Agent asks the model, performs the tool calls
// in its message, and asks it again with the results, until a message has no calls. The text of
// that message is the answer. It is written to the artifact "answer" as it arrives, and to the
// message of the status. Each [Delegate] is a tool agent_run_{id}, which gives an agent of the
// hub a task. Questions of that agent go to the caller: the task waits for input with the
// question, and the next message is the answer.
//
// Package internal/llm/openai has the provider for endpoints with the chat completions API of
// OpenAI, package internal/llm/scripted one that follows a file.
//
// # Guarantees
//
// After a crash the task continues from its journal. A complete message of the model is not
// requested again; an incomplete one is, and replaces the text written so far. A delegation is
// not sent twice: the repeated call waits for the same task or finds its answer, and an answer
// to a question is sent once. A tool whose call was interrupted is called again if it changes
// nothing, is idempotent, or joins the first call. For other tools the model receives the
// notice that the outcome is unknown.
//
// If a tool has dispatched work to an agent (llm.Pending), an [Awaiter] waits for its end
// before the model answers. The model receives one notice of the end of each call, in a message
// of the user. The notice has the key of the result, and nothing of the result itself. The
// model then has no tools that give work to agents.
//
// Calls that change nothing, and those of agents, are performed concurrently, at most eight at
// a time; the others alone, in the order of the model's message. A provider that fails
// temporarily is asked three times, with respect to Retry-After; then the next [Choice] is
// asked. A task that exceeds a budget fails with the reason. The model receives the mistakes in
// its calls (no such tool, arguments that are invalid JSON). Package internal/llm/guard labels
// and screens foreign text before the model reads it.
//
// A request has at most the budgeted number of tokens, by an estimate of four bytes a token. If
// it has more, results of tools are dropped, the oldest first, then the oldest messages. The
// instructions, the caller's last message and the newest two turns remain.
//
// # Non-guarantees
//
// The content of answers is not checked. A tool that is not idempotent may have had its effects
// when the model reads that the outcome is unknown. Without a journal, and outside a hub, a
// crash restarts the task.
//
// # Concurrency
//
// An Agent does not change and performs any number of concurrent tasks. All goroutines of
// Execute have ended when it returns.
//
// # Testing
//
// A script (package internal/llm/scripted) is a model that needs no API key.
package model
