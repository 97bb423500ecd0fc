// Package recorder stores the results of tasks in working memory for a while, for the callers
// and for the hub itself.
//
// # Overview
//
// A [Recorder] follows tasks with a session (metadata sessionId, or parley.session, of the
// request), and tasks of agents whose outcomes are remembered. When such a task has ended, it
// writes notes to memory.Notes:
//
//   - The result, at session/{session}/a2a/{agent}/{task}/result in the memory of the caller,
//     category "a2a-result", for an hour, whatever its size and the final state. Structured
//     data is beside it at …/result.data, category "a2a-result-data". Older results of the same
//     agent in the same session are deleted.
//   - The outcome of a completed task, at session/{primary}/a2a-outcomes/{skill}/{context} in
//     the memory of the hub's owner, category "a2a-outcome", for eight hours: the caller, the
//     request, the time and the result, in a text that is complete by itself.
//   - A result whose session has ended, or was idle for a day, at
//     {primary}/notifications/a2a/{agent}/{task} in the memory of the caller, category
//     "a2a-notification". Watchers of that prefix receive it (memory.Notes.Watch, GET
//     /api/v1/memory/events, parley memory watch).
//
// # Guarantees
//
// No note is lost when the process is killed. The request for it is stored together with the
// message (task.SidecarRecordRequest), and removed only when the notes are durable. Notes may
// therefore be written twice, with the same content. Other tasks cost nothing. A text that is
// too long for a note is read from the log of the task when the note is requested.
//
// # Non-guarantees
//
// Notes are written soon after the end of the task, not at the same moment. A result is deleted
// with its task, even before its time has expired.
//
// # Concurrency
//
// A Recorder is safe for concurrent use. Run writes the notes of one task after the other.
package recorder
