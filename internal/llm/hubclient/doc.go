// Package hubclient is a client of a running hub: it finds, calls and follows agents, reads and
// writes notes, and asks people, over the hub's HTTP.
//
// # Overview
//
// A Hub holds the address of a hub and the credential of the caller. The tools of package
// hubtools call its methods. An error that wraps ErrNotFound or ErrRefused has a text for the model.
//
// # Guarantees
//
// A message is accepted once. The client chooses the id of its task, so a call finds the task
// even if the answer was lost with the connection or by a restart of the hub; a repeated call
// with the same key joins the task. Interrupted streams are resumed. Requests wait for an
// unreachable hub, for a minute at a time. If the hub is unreachable for longer while a task is
// followed, the result is the last known state of the task; the task continues with the hub.
//
// The hub checks the permissions of the caller's key.
//
// # Non-guarantees
//
// If a hub with no_client_ids loses its answer before the id of the task is known, a second
// message would begin another task; so the message is not sent again. The session of a result
// is used only if the hub has a working memory.
//
// # Concurrency
//
// A Hub is safe for concurrent use once its fields are set.
package hubclient
