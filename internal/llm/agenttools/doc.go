// Package agenttools provides the tools with which a language model finds agents, calls them,
// follows their tasks, stores notes, and asks people.
//
// # Overview
//
// A Toolbox is an llm.Source. Its tools call a hub over HTTP (package hubclient).
//
//	hub := &hubclient.Hub{URL: "http://127.0.0.1:4100"}
//	tools, err := (&agenttools.Toolbox{Hub: hub, Session: "my-session"}).Tools(ctx)
//
// # Guarantees
//
// Arguments are read strictly: an error names the field, the valid values, and similar names.
// No agent calls itself. A call that is repeated with the same llm.Call.ID in the same session
// joins the first one.
//
// # Non-guarantees
//
// A Toolbox does not check its caller: the program that offers it does.
//
// # Concurrency
//
// A Toolbox is safe for concurrent use once its fields are set.
package agenttools
