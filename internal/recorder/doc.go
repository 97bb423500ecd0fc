// Package recorder writes down in the working memory what has come of tasks, so that
// whoever asked for one, or the hub itself, finds it again for a while.
//
// # What it is
//
// A [Recorder] follows the tasks that somebody wants to hear of: those whose request names
// a session (metadata sessionId, or parley.session), and those of agents whose outcomes
// are remembered. When one has ended it writes notes into memory.Notes:
//
//   - the result, at session/{session}/a2a/{agent}/{task}/result in the memory of the
//     caller, category "a2a-result", for an hour, whatever its size and however the task
//     has ended; structured data beside it at …/result.data, category "a2a-result-data".
//     Older results of the same agent in the same session are dropped.
//   - the outcome of a task that was completed, at
//     session/{primary}/a2a-outcomes/{skill}/{context} in the memory of the hub's owner,
//     category "a2a-outcome", for eight hours: who asked for what, when, and what came of
//     it, in words that can be read alone.
//   - a result whose session has ended, or was silent for a day, at
//     {primary}/notifications/a2a/{agent}/{task} in the memory of the caller, category
//     "a2a-notification". Whoever watches that prefix hears of it (memory.Notes.Watch,
//     GET /api/v1/memory/events, parley memory watch).
//
// # Guarantees
//
// No note is lost when the process is killed. The wish for it is stored together with
// the message that had it (task.Marks), and is forgotten only when the notes are durable;
// so notes may be written twice, with the same content. A task that nobody wants to hear
// of costs nothing. A text that is too long for a note is read from the log of the task
// when the note is asked for.
//
// # What it does not promise
//
// Notes are written soon after the end of the task, not in the same moment. A result is
// gone when its task is, whatever its time.
//
// # Concurrency
//
// A Recorder is safe for concurrent use. Run writes one task after the other.
//
// # Testing
//
// A Recorder works with memstore.Store and a zero memory.Notes in a synctest bubble.
package recorder
