// Package agenttools provides the tools with which a language model finds agents, calls them,
// follows their tasks, stores notes, and asks people.
//
// # Overview
//
// A Toolbox is an llm.Source. Small interfaces do the work of its tools: Caller, Tasks,
// Directory, Registry, NoteReader, NoteWriter, People. The tools of a nil interface are hidden.
// Package hubclient implements all of them for a hub over HTTP.
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
//
// # Testing
//
// The tools run against a real hub, see the tests of package hubclient.
package agenttools
