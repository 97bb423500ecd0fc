// Package command makes an agent of any program.
//
// For each message of a task the program is started once. It reads the text of the
// message (its text parts, joined by newlines) from standard input and writes its
// answer to standard output; the exit code says how the task goes on:
//
//	0      the task is COMPLETED; the output is the answer
//	3      the task is INPUT_REQUIRED; the output is the question
//	other  the task is FAILED; the end of standard error says why
//
// The output is passed on while the program runs, as chunks of one artifact for
// each run; a question is in that artifact, too. A chunk waits for a moment (50 ms) for
// the end of the program or for more: what a program says at once and then ends is one
// chunk, which closes the artifact. If there is nothing left to say at the end, the final
// status closes it. Output that is not UTF-8 text
// becomes one raw part at the end. The beginning of a text (16 KiB) is also the
// message of the final status.
//
// The environment tells the program more. Variables of the hub that begin with
// PARLEY_ are not passed on.
//
//	PARLEY_MESSAGE_FILE  the whole message as JSON
//	PARLEY_TASK_FILE     the task so far as JSON; set from the second message on
//	PARLEY_TASK_ID       the id of the task
//	PARLEY_CONTEXT_ID    the id of its context
//	PARLEY_RUN_KEY       the same for each attempt at one message
//	PARLEY_ATTEMPT       the number of the attempt, from 1
//	PARLEY_CALLER        whose work it is, as JSON: id, owner, and name, org and roles if
//	                     there are any; the id is "local" for callers without credentials
//	PARLEY_ASSERTION     a token that says the same to others, if Assert is set
//	PARLEY_SKILL         the skill that the caller asked for, or empty
//	PARLEY_RUN_DIR       a private folder that is removed after the run
//	PARLEY_CORRELATION_ID, PARLEY_PARENT_ID
//	                     what the caller sent under these names, or empty
//	TRACEPARENT, TRACESTATE
//	                     the trace context of the W3C, if there is one
//
// # Guarantees
//
// The program runs in a process group of its own. When the task is canceled, the
// timeout is over or the hub stops, the group gets SIGTERM, and SIGKILL when Grace
// has passed. A cancellation is confirmed only when the program is gone. What the
// program leaves behind in its group is killed when it ends. A run ends in every
// case: a program that cannot be started, one that writes without end and one that
// never reads its input included.
//
// If the hub is killed, [Reap] finds what it left running, and kills it. Each run is
// recorded before its program starts, and the program carries the mark of its record
// in the environment, so that there is no moment at which an orphan is unknown.
//
// # What it does not promise
//
// A program that leaves its process group escapes signals; while it keeps its
// environment, Reap still finds it. Reap works on Linux alone. Elsewhere the folders
// of lost runs are removed and their programs are not looked for; and where there
// are no process groups (Windows), only the program itself is ended, at once.
//
// # Companions
//
// A [Companion] is a program that runs beside the hub for long, such as an MCP server. It
// has its group, its record and its end as the others, and speaks with the hub over its
// input and output.
//
// # Concurrency
//
// An Agent is safe for concurrent use once its fields are set. Each run has three
// goroutines beside the caller's for as long as the program runs, and one that
// watches the context; none outlives the run.
//
// # Testing
//
// The tests run real shell scripts.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// Defaults of Agent.
const (
	DefaultGrace     = 5 * time.Second
	DefaultMaxOutput = 8 << 20
)

// ExitInput is the exit code with which a program asks for input. The parley command
// itself uses it in the same sense.
const ExitInput = 3

// Agent executes tasks by running a program. Fields must not change once the agent
// is in use.
type Agent struct {
	// Command is the program and its arguments. A name without a slash is searched in
	// the hub's PATH; a relative path counts from Dir. It is required.
	Command []string
	// Dir is the folder to run in. If empty, it is the hub's.
	Dir string
	// Env is added to the hub's environment, as "name=value"; it wins over that, but
	// not over the variables of the package comment.
	Env []string
	// Timeout ends a run that takes longer. Zero means no limit.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL. Zero means DefaultGrace; if it is
	// negative, SIGKILL comes at once.
	Grace time.Duration
	// MaxOutput is the number of bytes on standard output at which a run is ended and
	// fails. Zero means DefaultMaxOutput.
	MaxOutput int64
	// Runs is the folder that keeps a record of each run for Reap. If empty, there
	// are no records, and a hub that is killed leaves its programs running.
	Runs string
	// Assert returns a token that says who the caller of the context is; empty for none. If
	// nil, programs get none.
	Assert func(ctx context.Context) (string, error)
	// Idempotent, Serial and Silence are the agent's traits, see agent.Traits. A
	// program shows life by its output alone.
	Idempotent, Serial bool
	Silence            time.Duration

	// quiet is the time after which output is given on that may be the last, for tests;
	// zero means defaultQuiet.
	quiet time.Duration

	mu   sync.Mutex // guards runs
	runs map[runKey][]*run
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{Idempotent: a.Idempotent, Serial: a.Serial, Silence: a.Silence, NoMessage: true}
}

// Kind returns "command": how the agent is reached, for people.
func (a *Agent) Kind() string { return "command" }

// Why a run is ended before its program ends by itself.
var (
	errCanceled = errors.New("task was canceled")
	errTimeout  = errors.New("timeout")
	errTooLarge = errors.New("too much output")
	errUnread   = errors.New("nobody reads the events")
)

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r := &run{agent: a, ec: ec, gone: make(chan struct{})}
		ctx, r.stop = context.WithCancelCause(ctx)
		defer r.stop(nil)
		key := keyOf(ctx, ec)
		a.enter(key, r)
		defer a.leave(key, r)
		r.perform(ctx, yield)
	}
}

// Cancel implements a2asrv.AgentExecutor. It ends the task's program and confirms
// when that is gone. If ctx ends before, it confirms nothing; the program is ended all
// the same.
func (a *Agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, r := range a.running(keyOf(ctx, ec)) {
			r.stop(errCanceled)
			select {
			case <-r.gone:
			case <-ctx.Done():
				// An error would say that the agent refuses.
				return
			}
		}
		yield(status(ec, a2a.TaskStateCanceled, ""), nil)
	}
}

// runKey finds the runs of a task. A task id alone is unique within its owner only.
type runKey struct {
	owner task.Owner
	id    a2a.TaskID
}

func keyOf(ctx context.Context, ec *a2asrv.ExecutorContext) runKey {
	key := runKey{id: ec.TaskID}
	if p := auth.PrincipalFrom(ctx); p != nil {
		key.owner = p.Owner()
	}
	return key
}

func (a *Agent) enter(key runKey, r *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs == nil {
		a.runs = make(map[runKey][]*run)
	}
	a.runs[key] = append(a.runs[key], r)
}

func (a *Agent) leave(key runKey, r *run) {
	r.leave()
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := slices.DeleteFunc(a.runs[key], func(other *run) bool { return other == r })
	if len(rest) == 0 {
		delete(a.runs, key)
		return
	}
	a.runs[key] = rest
}

func (a *Agent) running(key runKey) []*run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs[key])
}

func (a *Agent) grace() time.Duration {
	if a.Grace == 0 {
		return DefaultGrace
	}
	return max(0, a.Grace)
}

// defaultQuiet is long for a program that ends after its last words, and short for a reader.
const defaultQuiet = 50 * time.Millisecond

func (a *Agent) lull() time.Duration { return cmp.Or(a.quiet, defaultQuiet) }

func (a *Agent) maxOutput() int64 {
	if a.MaxOutput == 0 {
		return DefaultMaxOutput
	}
	return a.MaxOutput
}

// stopped returns why ctx has ended, as an error that is also ctx.Err.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
