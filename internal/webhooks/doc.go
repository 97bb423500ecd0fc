// Package webhooks notifies webhooks of the changes of their tasks (specification §4.3). Package push
// is the receiver's side, and describes the notifications.
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
// # Non-guarantees
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
package webhooks
