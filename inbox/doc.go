// Package inbox is what a person has to look at: questions of agents, approvals that
// callers wait for, and notices of what was done or refused.
//
// An [Item] is kept in a [Book], until it is settled or its time is over. [Inbox] puts
// items there, settles them, and wakes who waits for them. [Memory] is a book that ends
// with the process; package sqlitestore has one in the file with the tasks.
//
// # Guarantees
//
// An item is durable before anybody hears of it. Whoever asks puts the same item again
// after a restart, by an id that it can make again ([IDOf]); that changes nothing. One
// answer wins, however many come at one time: the others get a [Settled] error with the
// item as it was settled. What comes after the time of an item is refused, too. An item
// that was settled while nobody waited is found by Get.
//
// A question may be answered elsewhere, too, by who was asked in the first place. Where
// [Inbox.Deliver] is set, an answer is delivered before it is stored in the book: one
// place decides which answer comes first, and who answers here is told if it was another.
//
// # What it does not promise
//
// It does not know who may see or settle an item; whoever serves it to others does
// ([Query.Owner]). A watcher that does not read for long is cut off and has to list
// anew. Settled items are forgotten after a while.
//
// # Concurrency
//
// An Inbox and its books are safe for concurrent use. Run must be running for items to
// expire by themselves.
//
// # Testing
//
// Suite inboxtest says what every book has to do. The zero Inbox keeps its items in
// memory. The tests of the inbox run in bubbles of fake time.
package inbox
