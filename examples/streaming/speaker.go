package main

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// speaker repeats the message, with a pause after each word.
type speaker struct{ pause time.Duration }

func (s speaker) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := x.Message.Parts[0].Text()
		words := strings.SplitAfter(text, " ")
		for i, word := range words {
			chunk := a2a.NewArtifactUpdateEvent(x, "speech", a2a.NewTextPart(word))
			chunk.Append = i > 0
			chunk.LastChunk = i == len(words)-1
			if !yield(chunk, nil) {
				return
			}
			select {
			case <-time.After(s.pause):
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
		// The whole text is in the status for callers that read nothing else.
		whole := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(text))
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, whole), nil)
	}
}

func (speaker) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
