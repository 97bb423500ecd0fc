// Package agenttools is the tools with which a language model finds agents, calls them,
// follows what they do, remembers, and asks people.
//
// # What it is
//
// A Toolbox is an llm.Source. What its tools do is behind small interfaces: Caller,
// Tasks, Directory, Registry, NoteReader, NoteWriter, People. One that is nil hides its
// tools. Package hubclient implements all of them for a hub over HTTP.
//
// # Guarantees
//
// Arguments are read strictly: what is wrong is said with the name of the field, what is
// right, and names that are near. No agent calls itself. A call that is repeated with the
// same llm.Call.ID in the same session joins the first one.
//
// # What it does not promise
//
// A Toolbox does not check who calls: whoever offers it does.
//
// # Concurrency
//
// A Toolbox is safe for concurrent use once its fields are set.
//
// # Testing
//
// The tools run against a real hub, see the tests of package hubclient.
package agenttools
