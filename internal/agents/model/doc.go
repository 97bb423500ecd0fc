// Package model is the kind of agents that a language model thinks for: it answers, calls
// tools, and asks other agents of the hub.
//
// # What it is
//
// An [Agent] is an executor over an [llm.Provider], which asks a model somewhere and yields its
// message in pieces. For each message of the caller the model is asked, the tools that it
// calls are called, and it is asked again with what they gave, until it calls none: that
// text is the answer, in the artifact "answer", written as it comes, and in the message of
// the status. Each [Delegate] is a tool agent_run_{id}, which gives an agent of the hub a
// task. What an agent asks back, the caller of the task is asked: the task waits for input
// with the question, and the next message is the answer.
//
// Package internal/llm/openai has the provider for endpoints that speak the chat completions of
// OpenAI, package internal/llm/scripted one that follows a file.
//
// # Guarantees
//
// After a crash the task goes on from its journal. A message of the model that was whole is
// not asked for again; one that was cut is, and takes the place of what was written of it.
// An agent that was asked is not asked twice: the call goes on waiting for the same task, or
// finds its answer there, and an answer to its question is given once. A tool whose call was
// cut off is called again if it changes nothing, is idempotent, or joins the first call; of
// others the model is told that it is not known what became of the call.
//
// What a tool has dispatched to an agent (llm.Pending) is awaited by an [Awaiter] before
// the model answers. It is told of the end of each call once, in a message of the user with
// the key of the result and nothing of it, and has no tools that give work to agents then.
//
// Calls that change nothing, and those of agents, are made side by side, at most eight at a
// time; the others alone, in the order in which the model wants them. A provider that fails
// in a way that may pass is asked three times, as it wants to be (Retry-After), then the next
// [Choice]. Budgets hold, with the reason in the task. What is wrong with a call (no such
// tool, arguments that are no JSON) the model is told. Words of others are labelled and
// screened by package internal/llm/guard before the model reads them.
//
// A request has room for as many tokens as the budget says, by an estimate of four bytes a
// token; where they are too many, results of tools make way, the oldest first, then the
// oldest messages. The instructions, the caller's last message and the newest two turns stay.
//
// # What it does not promise
//
// A model says what it says. A tool with effects that is not idempotent may have had them
// when the model reads that this is not known. Where the hub keeps no journal, and outside a
// hub, a crash begins the task anew.
//
// # Concurrency
//
// An Agent does not change and performs any number of tasks at one time. Everything that it
// starts has ended when Execute has.
//
// # Testing
//
// A script (package internal/llm/scripted) is a model that needs no key.
package model
