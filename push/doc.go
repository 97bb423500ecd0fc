// Package push tells webhooks what happens to their tasks (specification §4.3), and
// helps those who receive it.
//
// # What it is
//
// A webhook is a reader of the log of its task, with a durable position. A
// [Dispatcher] reads what comes after the position, posts it entry by entry in the
// order of the log, and moves the position on. There is no second queue beside the
// log: nothing has to be written for a webhook when its task changes, and a webhook
// that was away for hours finds everything where it stopped.
//
// A webhook that is registered together with the message that makes its task begins
// behind the first version; one that is registered later begins behind the version
// that the task has then. What was there before is had with GetTask.
//
// # What is sent
//
// Each notification is an HTTP POST with a StreamResponse object of protocol 1.0 as
// application/a2a+json: a status update or an artifact update. Further messages of the
// caller are not told. A webhook that was registered in version 0.3 of the protocol
// gets the whole task in the JSON of that version instead, as application/json, as it was then; chunks
// inside of an artifact are not told by themselves. The headers are:
//
//   - Authorization, with the scheme and the credentials of the config;
//   - A2A-Notification-Token and X-A2A-Notification-Token, with its token: servers
//     of both names are in use;
//   - A2A-Version, 1.0 or 0.3, and a User-Agent;
//   - webhook-id, webhook-timestamp and, if the hub has signing secrets,
//     webhook-signature as Standard Webhooks define them. The id is the same for
//     each try of one notification, and for no other.
//
// A status from 200 to 299 means that the webhook has it. Network errors, time-outs,
// 408, 425, 429 and 5xx are tried again after a random wait that grows from a second
// to five minutes; Retry-After is honoured up to an hour. 410 ends the webhook. Any
// other status gives the notification up; redirects are not followed. So is a
// notification given up that is older than a day and was tried. What was given up is
// kept as a dead letter, until [Dispatcher.Redeliver] tells it again.
//
// An endpoint (scheme, host and port) that fails five times in a row is left alone
// for ten seconds, then for longer, up to five minutes; one try finds out whether it
// is back.
//
// # Guarantees
//
// Every notification is delivered at least once or is in a dead letter, whatever
// fails and however often the process is killed. A webhook gets the notifications of
// its task in order, one at a time. Only what is durable is told.
//
// Nothing here waits for a webhook but its own delivery: a task is not slowed by a
// webhook that hangs, nor is another webhook of the same endpoint by one that
// retries, as long as the endpoint has places free. A webhook that has nothing to do
// costs some 200 bytes and no goroutine.
//
// Secrets are stored sealed, bound to the URL that they are for, and are never in an
// error, a log record or an answer.
//
// # Receiving
//
// A [Receiver] is a webhook as an http.Handler, for notifications of a Parley hub or
// of any other A2A server. Before it reads what a notification says, it checks what
// it was told to check: the token under either name, Authorization, the signature
// with any of several secrets and its time (five minutes). It knows payloads of
// protocol v1.0 and of v0.3, and remembers ids for a while, so that a handler can
// tell a repeated notification ([Notification.Repeated]). A handler that fails makes
// the sender try again; one that returns [ErrGone] ends the config.
//
// # What it does not promise
//
// What a Receiver remembers ends with its process, and two deliveries of one
// notification at the same moment are both taken for the first: handlers must be
// idempotent.
//
// A notification may come twice: the answer to it, or the position after it, may be
// lost. The webhook-id tells. Positions become durable some milliseconds after the
// delivery, many together.
//
// Time spent is counted by process: the number of tries begins again when the hub
// does.
//
// # Concurrency
//
// The methods of a Dispatcher are safe for concurrent use; Run is called once. Moved
// is called with a task locked and never waits for input or output.
//
// # Testing
//
// A Dispatcher runs in a synctest bubble with a Transport that answers from memory.
package push
