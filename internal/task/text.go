package task

import "context"

// Texts finds tasks by the words of their messages and artifacts, for Query.Text. The index of a store
// may be behind its tasks: IndexTexts completes it. A deleted task is not found.
//
// Words are compared without case and, in English, without their endings. Of a task with much text,
// at least the first 64 KiB and the message of its last status are indexed.
type Texts interface {
	// IndexTexts adds the words of up to limit tasks to the index: of those that have begun, been
	// interrupted or ended since the last call, and then of those from before the index existed. It
	// reports whether there may be more. Concurrent calls, also of other hubs, do the same work once.
	IndexTexts(ctx context.Context, limit int) (more bool, err error)
}
