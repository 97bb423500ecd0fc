// Package push receives the notifications with which servers report the changes of tasks to webhooks
// (specification §4.3), and configures those of a hub.
//
// # Overview
//
// A [Receiver] is a webhook as an http.Handler, for notifications of a Parley hub or of any
// other A2A server. Before it decodes a notification, it checks the proofs that its fields
// require: the token under either name, Authorization, and the signature with any of several
// secrets and its time (five minutes). It accepts payloads of protocol v1.0 and of v0.3. It
// remembers ids for a while, so that a handler can recognise a repeated notification
// ([Notification.Repeated]). If the handler fails, the sender tries again; if it returns
// [ErrGone], the sender ends the config.
//
// [Options] configure the delivery by a hub (parley.Hub.Push).
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
// 425, 429 and 5xx the hub retries after a random wait that grows from a second to five
// minutes; Retry-After is honoured up to an hour. 410 ends the webhook. Any other status drops
// the notification; redirects are not followed. A notification that was tried and is older than
// a day is dropped, too. Each dropped notification is kept as a dead letter, until
// an administrator sends it again.
//
// An endpoint (scheme, host and port) that fails five times in a row is paused for ten seconds,
// then for longer, up to five minutes. After each pause one try probes whether it answers
// again.
//
// # Guarantees
//
// A hub delivers every notification at least once or keeps it as a dead letter, whatever fails and
// however often its process is killed. A webhook gets the notifications of its task in order,
// one at a time. Only durable changes are sent.
//
// # Non-guarantees
//
// The ids that a Receiver remembers are lost when its process ends. Two deliveries of one
// notification at the same moment both appear as the first one. Handlers must therefore be
// idempotent.
//
// # Concurrency
//
// A Receiver calls its handler from several goroutines at once.
//
// # Testing
//
// A Receiver is an http.Handler, and works with net/http/httptest. Sign signs a notification.
package push
