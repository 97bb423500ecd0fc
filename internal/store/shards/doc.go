// Package shards keeps one log of tasks in several PostgreSQL databases, its shards.
//
// A task is in the shard of its owner, with all that belongs to it: entries, webhooks, keys of requests,
// journal, large parts. The home, shard 0, also keeps what owners share, and the place of each owner.
//
// # Guarantees
//
// The home gives an owner a place with its first task, by rendezvous hashing among the shards that answer. A
// place does not change: another database moves no owner. Every operation of an owner uses one shard, whose
// promises are those of package pgstore.
//
// The keys of all shards are from one sequence, that of the home, so that a task has the same key in any of them. A
// hub knows the owner of a task that it has seen by its key; otherwise it asks the shards.
//
// The home decides which hubs are members. Each has a row in every shard as well, which a transaction that
// writes locks, so that it fences there. A hub whose lease has ended is ended in each shard that answers before
// it is ended in the home. A shard that did not answer is used again once the hub has ended there those that the
// home does not know.
//
// The timeline is merged when it is read, by the time of the commits, and the home keeps the order: it is exact
// for each owner, and stable between owners.
//
// While a shard does not answer, the operations of its owners fail with [task.ErrPartly] without waiting for it.
// Lists of all owners leave it out, and so does the work for all owners, which is made up for later.
//
// # Non-guarantees
//
// Without the home, no owner can be served. A list of all owners by words is in the order of shards. Steps of
// webhooks of several shards are not stored together.
package shards
