// Package hubclient is the toolbox of a running hub: it finds, calls and follows agents,
// reads and writes notes, and asks people, over the hub's HTTP.
//
//	hub := &hubclient.Hub{URL: "http://127.0.0.1:4100"}
//	tools, err := hub.Toolbox("my-session").Tools(ctx)
//
// # What it is
//
// A Hub is where a hub is and who calls it. Toolbox returns all tools of package toolbox
// for it; Caller, Tasks and so on are what is behind them, one by one. Skills returns a tool
// for each skill of the hub's agents.
//
// # Guarantees
//
// A message is taken once: the id of its task is chosen here, so that a call whose answer
// was lost, because the hub was started anew or the connection broke, finds the task, and a
// call that is repeated with its key joins it. Streams are taken up where they broke. A
// hub that is away is waited for, for a minute at a time. If it is away longer while a task is
// followed, the result is the task as it was last seen: it goes on when the hub does.
//
// Only what the caller's key may do is done: the hub checks that.
//
// # What it does not promise
//
// A hub with no_client_ids takes a message again whose answer was lost before the id of
// its task was known; so it is not sent again there. The session of a result counts only
// if the hub has a working memory.
//
// # Concurrency
//
// A Hub is safe for concurrent use once its fields are set.
//
// # Testing
//
// The tests run all tools against a hub in the same process, and against one that is
// killed.
package hubclient
