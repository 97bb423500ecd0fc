// Package command turns any program into an agent.
//
// The program is started once for each message of a task. It reads the text of the message (its
// text parts, joined by newlines) from standard input and writes its answer to standard output.
// The exit code sets the state of the task:
//
//	0      the task is COMPLETED; the output is the answer
//	3      the task is INPUT_REQUIRED; the output is the question
//	other  the task is FAILED; the end of standard error is the reason
//
// The output is passed on while the program runs, as chunks of one artifact for each run; a
// question is also in that artifact. A chunk is held for a moment (50 ms), until the program
// ends or writes more. If a program writes its output at once and then ends, the output is
// therefore one chunk, which closes the artifact. If no output is left at the end, the final
// status closes the artifact. Output that is not UTF-8 text becomes one raw part at the end.
// The beginning of a text (16 KiB) is also the message of the final status.
//
// The environment has further information for the program. Variables of the hub that begin with
// PARLEY_ are not passed on.
//
//	PARLEY_MESSAGE_FILE  the whole message as JSON
//	PARLEY_TASK_FILE     the task so far as JSON; set from the second message on
//	PARLEY_TASK_ID       the id of the task
//	PARLEY_CONTEXT_ID    the id of its context
//	PARLEY_RUN_KEY       the same for each attempt at one message
//	PARLEY_ATTEMPT       the number of the attempt, from 1
//	PARLEY_CALLER        the caller as JSON: id, owner, and name, org and roles if
//	                     there are any; the id is "local" for callers without credentials
//	PARLEY_ASSERTION     a token that proves the caller's identity to others, if Assert
//	                     is set
//	PARLEY_SKILL         the requested skill, or empty
//	PARLEY_ACCEPTED_OUTPUT_MODES
//	                     the media types that the caller accepts, with commas between
//	                     them; not set if the caller accepts all
//	PARLEY_RUN_DIR       a private folder that is removed after the run
//	PARLEY_CORRELATION_ID, PARLEY_PARENT_ID
//	                     the values that the caller has sent under these names, or empty
//	TRACEPARENT, TRACESTATE
//	                     the trace context of the W3C, if there is one
//
// # Guarantees
//
// The program runs in a process group of its own. When the task is canceled, the timeout is
// over or the hub stops, the group gets SIGTERM, and SIGKILL after Grace. A cancellation is
// confirmed only when the program has ended. Processes that the program leaves in its group are
// killed when it ends. Every run ends, even if the program cannot be started, writes without
// end, or never reads its input.
//
// If the hub is killed, [Reap] finds the programs that are still running, and kills them. Each
// run is recorded before its program starts, and the environment of the program has the mark of
// its record, so every orphan can be found at any time.
//
// # Non-guarantees
//
// A program that leaves its process group escapes signals. Reap still finds it while it keeps
// its environment. Reap works on Linux alone. Elsewhere it removes the folders of lost runs and
// does not search for their programs. Without process groups (Windows), only the program itself
// is ended, at once.
//
// # Companions
//
// A [Companion] is a long-running program beside the hub, such as an MCP server. Its process
// group, record and end are like those of other programs. It exchanges data with the hub over
// its standard input and output.
//
// # Concurrency
//
// An Agent is safe for concurrent use once its fields are set. Each run has three goroutines
// beside the caller's while the program runs, and one that watches the context; none outlives
// the run.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/taskruns"
)

// Defaults of Agent.
const (
	DefaultGrace     = 5 * time.Second
	DefaultMaxOutput = 8 << 20
)

// ExitInput is the exit code with which a program asks for input. The parley command itself
// uses it with the same meaning.
const ExitInput = 3

// Agent executes tasks by running a program. Fields must not change once the agent is in use.
type Agent struct {
	// Command is the program and its arguments. A name without a slash is looked up in the
	// hub's PATH; a relative path is relative to Dir. It is required.
	Command []string
	// Dir is the working folder of the program. If empty, it is the hub's.
	Dir string
	// Env is added to the environment of childenv.Base, as "name=value", and overrides it. The
	// variables of the package comment override Env.
	Env []string
	// Inherit passes the whole environment of this process, for one that has no secrets of a hub.
	Inherit bool
	// Timeout is the longest duration of a run. Zero means no limit.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL. Zero means DefaultGrace; negative means
	// that SIGKILL is sent at once.
	Grace time.Duration
	// MaxOutput is the largest number of bytes on standard output; a run that exceeds it is
	// ended and fails. Zero means DefaultMaxOutput.
	MaxOutput int64
	// Runs is the folder with a record of each run for Reap. If empty, there are no records,
	// and a killed hub leaves its programs running.
	Runs string
	// Assert returns a token that proves the identity of the context's caller; empty for none.
	// If nil, programs get no token.
	Assert func(ctx context.Context) (string, error)
	// AfterCrash, Serial and Silence are the agent's traits, see agent.Traits. Only output ends the
	// silence of a program.
	AfterCrash agent.AfterCrash
	Serial     bool
	Silence    time.Duration

	// quiet is the time after which output that may be the last is passed on, for tests; zero
	// means defaultQuiet.
	quiet time.Duration

	runs taskruns.Set[*run]
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{AfterCrash: a.AfterCrash, Serial: a.Serial, Silence: a.Silence, NoMessage: true}
}

// Kind returns "command", the kind of the agent for people.
func (a *Agent) Kind() string { return "command" }

// Reasons for ending a run before its program ends by itself.
var (
	errCanceled = errors.New("task was canceled")
	errTimeout  = errors.New("timeout")
	errTooLarge = errors.New("too much output")
	errUnread   = errors.New("the hub reads no more events")
)

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r := &run{agent: a, ec: ec, gone: make(chan struct{})}
		ctx, r.stop = context.WithCancelCause(ctx)
		defer r.stop(nil)
		defer a.runs.Enter(taskruns.KeyOf(ctx, ec.TaskID), r)()
		defer r.leave()
		r.perform(ctx, yield)
	}
}

// Cancel implements a2asrv.AgentExecutor. It ends the task's program and confirms when the
// program has ended. If ctx ends first, Cancel confirms nothing, but the program is still
// ended.
func (a *Agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, r := range a.runs.Of(taskruns.KeyOf(ctx, ec.TaskID)) {
			r.stop(errCanceled)
			select {
			case <-r.gone:
			case <-ctx.Done():
				// An error would mean that the agent refuses.
				return
			}
		}
		yield(status(ec, a2a.TaskStateCanceled, ""), nil)
	}
}

// defaultQuiet is long for a program that ends after its last output, and short for a reader.
const defaultQuiet = 50 * time.Millisecond

func (a *Agent) lull() time.Duration { return cmp.Or(a.quiet, defaultQuiet) }

func (a *Agent) maxOutput() int64 { return cmp.Or(a.MaxOutput, DefaultMaxOutput) }

// stopped returns the cause of ctx, as an error that also wraps ctx.Err.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
