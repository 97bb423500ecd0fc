package testagent

import (
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// scenario is the agent's behaviour for messages that begin with a word.
type scenario struct {
	word string
	// at selects where the word counts: ids of one kit may begin like words of the other.
	at    fieldSet
	steps []step
}

// fieldSet is a set of places in a message.
type fieldSet uint8

const (
	inID   fieldSet = 1 << iota // the message id, where the TCK has its words
	inText                      // the first part, where the ACTS files have theirs
	either = inID | inText
)

const working = a2a.TaskStateWorking

// Durations of tasks that do not end immediately: the TCK waits 2 s for a stream, and requires
// one that lasts longer than two of these waits.
const (
	aMoment = 2 * time.Second
	aWhile  = 5 * time.Second
)

const multiTurn = "tck-multi-turn"

// The steps of messages without a word.
var (
	completes = []step{reports(a2a.TaskStateCompleted, "Hello from TCK")}
	asks      = []step{enters(a2a.TaskStateInputRequired)}
)

// scenarios lists all behaviours of the agent, the longest words first.
var scenarios = longestFirst([]scenario{
	{"tck-complete-task", either, completes},
	{"tck-message-response", either, []step{answers("Direct message response")}},
	{"tck-input-required", either, asks},
	{multiTurn, inText, asks},
	{"tck-auth-required", either, []step{reports(a2a.TaskStateAuthRequired, "Authorization is needed to continue")}},
	{"tck-reject-task", either, []step{reports(a2a.TaskStateRejected, "rejected")}},
	{"tck-task-failure", inText, []step{enters(working), reports(a2a.TaskStateFailed, "The task failed, as requested")}},

	{"tck-artifact-text", either, sends(text("Generated text content"))},
	{"tck-artifact-file", either, sends(file())},
	{"tck-artifact-file-url", either, sends(fileURL())},
	{"tck-artifact-data", either, sends(data())},

	{"tck-stream-001", inID, works(text("Stream hello from TCK"))},
	{"tck-stream-002", inID, []step{enters(a2a.TaskStateCompleted)}},
	{"tck-stream-003", inID, works(text("Stream task lifecycle"))},
	{"tck-stream-ordering-001", inID, works(text("Ordered output"))},
	{"tck-stream-artifact-text", inID, works(text("Streamed text content"))},
	{"tck-stream-artifact-file", inID, works(file())},
	{"tck-stream-artifact-chunked", inID, works(text("chunk-1 "), text("chunk-2"))},
	{"tck-stream-basic", inText, works(text("Streamed content"))},
	{"tck-stream-chunked", inText, works(text("chunk-1 "), text("chunk-2"), text(" chunk-3"))},

	{"tck-delayed-complete", inID, []step{enters(working), waits(aMoment), reports(a2a.TaskStateCompleted, "Done after delay")}},
	{"tck-long-running", inText, slices.Insert(works(text("Done at last")), 1, waits(aWhile))},
	{"test-", inID, asks}, // the TCK of v0.3 continues such tasks, and cancels them
	{"test-resubscribe-message-id", inID, []step{enters(working), waits(aWhile), enters(a2a.TaskStateCompleted)}},
	{"tck-cancel", inText, []step{enters(working), waits(forever)}},
})

// longestFirst sorts s, so that the first match is the longest.
func longestFirst(s []scenario) []scenario {
	slices.SortStableFunc(s, func(a, b scenario) int { return len(b.word) - len(a.word) })
	return s
}

// find returns the scenario whose word is a prefix of s at a place, or nil.
func find(at fieldSet, s string) *scenario {
	for i := range scenarios {
		if sc := &scenarios[i]; sc.at&at != 0 && strings.HasPrefix(s, sc.word) {
			return sc
		}
	}
	return nil
}

// choose returns the steps that the message of a run requests.
func choose(ec *a2asrv.ExecutorContext) []step {
	m := ec.Message
	if m == nil {
		return completes
	}
	if sc := find(inID, m.ID); sc != nil {
		return sc.steps
	}
	words := firstText(m)
	if sc := find(inText, words); sc != nil {
		return sc.steps
	}
	if strings.HasPrefix(firstText(opening(ec)), multiTurn) && strings.TrimSpace(words) != "done" {
		return asks
	}
	return completes
}

// firstText returns the first part of a message if that is text.
func firstText(m *a2a.Message) string {
	if m == nil || len(m.Parts) == 0 {
		return ""
	}
	return m.Parts[0].Text()
}

// opening returns the caller's first message of a task, or nil.
func opening(ec *a2asrv.ExecutorContext) *a2a.Message {
	if ec.StoredTask == nil {
		return nil
	}
	for _, m := range ec.StoredTask.History {
		if m.Role == a2a.MessageRoleUser {
			return m
		}
	}
	return nil
}
