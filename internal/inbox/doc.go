// Package inbox manages the items that need a person's attention: questions of agents,
// approvals that callers wait for, and notices of completed or refused actions.
//
// An [Item] is stored in a [Store] until it is settled or expires. [Inbox] puts and settles
// items and wakes the callers that wait for them. [Memory] is an in-memory Store; package
// sqlitestore has one in the database of the tasks.
//
// # Guarantees
//
// An item is durable before any watcher is notified. After a restart, the asking code can
// derive the same id ([IDOf]) and put the same item again without effect. Of several concurrent
// answers one wins: the other callers get a [Settled] error with the settled item. A settlement
// after the expiry of an item is refused, too. Get returns an item that was settled while no
// caller waited.
//
// A question may also be answered outside the inbox, by the original caller of the task. With
// [Inbox.Deliver] set, an answer is delivered before it is stored: the task decides
// which answer comes first, and a person whose answer came second is notified.
//
// # Non-guarantees
//
// The inbox does not authorize access to items; its caller does ([Query.Owner]). A watcher that
// does not read for a long time is disconnected and must list again. Settled items are deleted
// after the retention time.
//
// # Concurrency
//
// An Inbox and its books are safe for concurrent use. Items expire on their own only while Run
// is running.
//
// # Testing
//
// Suite inboxtest defines the behaviour required of every store. The zero Inbox keeps its items
// in memory. The tests of the inbox run in bubbles of fake time (testing/synctest).
package inbox
