// Package push notifies webhooks of the changes of their tasks (specification §4.3), and helps
// the servers that receive these notifications.
//
// # Overview
//
// A webhook is a reader of the log of its task, with a durable position. A [Dispatcher] reads
// the entries after the position, posts them one by one in the order of the log, and advances
// the position. There is no second queue beside the log. A change of a task therefore writes
// nothing for its webhooks, and a webhook that was unreachable for hours continues where it
// stopped.
//
// A webhook that is registered together with the message that creates its task begins after the
// first version. One that is registered later begins after the current version of the task;
// earlier versions are available with GetTask.
//
// # Notifications
//
// Each notification is an HTTP POST with a StreamResponse object of protocol 1.0 as
// application/a2a+json: a status update or an artifact update. Further messages of the caller
// are not sent. A webhook that was registered in version 0.3 of the protocol gets the whole
// task of that moment instead, in the JSON of version 0.3 as application/json. It gets no
// notification for a chunk inside an artifact. The headers are:
//
//   - Authorization, with the scheme and the credentials of the config;
//   - A2A-Notification-Token and X-A2A-Notification-Token, with the token of the config:
//     servers of both names are in use;
//   - A2A-Version, 1.0 or 0.3, and a User-Agent;
//   - webhook-id, webhook-timestamp and, if the hub has signing secrets, webhook-signature as
//     Standard Webhooks define them. The id is the same for each try of one notification, and
//     differs between notifications.
//
// A status from 200 to 299 acknowledges the notification. After network errors, time-outs, 408,
// 425, 429 and 5xx the dispatcher retries after a random wait that grows from a second to five
// minutes; Retry-After is honoured up to an hour. 410 ends the webhook. Any other status drops
// the notification; redirects are not followed. A notification that was tried and is older than
// a day is dropped, too. Each dropped notification is kept as a dead letter, until
// [Dispatcher.Redeliver] sends it again.
//
// An endpoint (scheme, host and port) that fails five times in a row is paused for ten seconds,
// then for longer, up to five minutes. After each pause one try probes whether it answers
// again.
//
// # Guarantees
//
// Every notification is delivered at least once or becomes a dead letter, whatever fails and
// however often the process is killed. A webhook gets the notifications of its task in order,
// one at a time. Only durable changes are sent.
//
// A slow webhook delays its own deliveries alone. A hanging webhook slows no task, and a
// webhook that retries does not delay others of the same endpoint while the endpoint has free
// places. An idle webhook costs some 200 bytes and no goroutine.
//
// Secrets are stored sealed, bound to the URL that they are for, and never appear in an error,
// a log record or a response.
//
// # Receiving
//
// A [Receiver] is a webhook as an http.Handler, for notifications of a Parley hub or of any
// other A2A server. Before it decodes a notification, it checks the proofs that its fields
// require: the token under either name, Authorization, and the signature with any of several
// secrets and its time (five minutes). It accepts payloads of protocol v1.0 and of v0.3. It
// remembers ids for a while, so that a handler can recognise a repeated notification
// ([Notification.Repeated]). If the handler fails, the sender tries again; if it returns
// [ErrGone], the sender ends the config.
//
// # Non-guarantees
//
// The ids that a Receiver remembers are lost when its process ends. Two deliveries of one
// notification at the same moment both appear as the first one. Handlers must therefore be
// idempotent.
//
// A notification may be delivered twice, because its response or the position after it may be
// lost. Receivers recognise it by the webhook-id. Positions become durable some milliseconds
// after the delivery, in batches.
//
// The number of tries is counted by process: it begins again when the hub restarts.
//
// # Concurrency
//
// The methods of a Dispatcher are safe for concurrent use; Run is called once. The engine calls
// Moved with a task locked; it never waits for input or output.
//
// # Testing
//
// A Dispatcher runs in a synctest bubble with a Transport that answers from memory.
package push
