package builtin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

const (
	slowDefault = 5 * time.Second
	slowMost    = time.Hour
	slowStep    = time.Second
)

// slow works for the duration in the text, and reports its progress every second. The first
// number in the text counts seconds; "1.5s" and "2m" are also accepted. More than an hour is
// rejected.
func slow(ctx context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc) {
	total := duration(agent.Text(ec.Message))
	if total < 0 || total > slowMost {
		problem := fmt.Sprintf("the time to work must be between 0 s and %v", slowMost)
		emit(yield, agent.Status(ec, a2a.TaskStateRejected, a2a.NewTextPart(problem)))
		return
	}
	if !work(ctx, ec, yield, total) {
		return
	}
	answer := a2a.NewTextPart("worked for " + seconds(total))
	emit(yield,
		agent.Artifact(ec, &a2a.Artifact{ID: "result", Name: "result", Parts: a2a.ContentParts{answer}}),
		agent.Status(ec, a2a.TaskStateCompleted),
	)
}

// work waits for total and reports its progress. It returns false if it was stopped.
func work(ctx context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc, total time.Duration) bool {
	timer := time.NewTimer(slowMost)
	defer timer.Stop()
	for done := time.Duration(0); ; done += slowStep {
		progress := fmt.Sprintf("%s of %s", seconds(min(done, total)), seconds(total))
		if !emit(yield, agent.Status(ec, a2a.TaskStateWorking, a2a.NewTextPart(progress))) {
			return false
		}
		if done >= total {
			return true
		}
		timer.Reset(min(slowStep, total-done))
		select {
		case <-timer.C:
		case <-ctx.Done():
			yield(nil, fmt.Errorf("slow: %w: %w", ctx.Err(), context.Cause(ctx)))
			return false
		}
	}
}

// duration returns the first number or duration in text, or the default.
func duration(text string) time.Duration {
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, ".,;:!?()")
		if n, err := strconv.ParseFloat(word, 64); err == nil {
			return fromSeconds(n)
		}
		if d, err := time.ParseDuration(word); err == nil {
			return d
		}
	}
	return slowDefault
}

// fromSeconds returns n seconds, or a negative duration if n is out of range.
func fromSeconds(n float64) time.Duration {
	// The comparison is also false for NaN.
	if n >= 0 && n <= slowMost.Seconds() {
		return time.Duration(n * float64(time.Second))
	}
	return -1
}

// seconds formats d for a person.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
