package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
)

// Environment variables of the processes of delegates.
const (
	hookVar = "CRASH_HOOK" // the address of the test, to which each phase is reported
	logVar  = "CRASH_LOG"
)

// The roles of delegates.
const (
	remoteRole = "remote"
	packerRole = "packer"
)

// execution is a line in the log of a delegate.
type execution struct {
	Agent string `json:"agent"`
	Key   string `json:"key"`
	Run   string `json:"run"`
	// What is "begin" or "end".
	What string    `json:"what"`
	At   time.Time `json:"at"`
}

// write appends the line durably.
func (e execution) write() error {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(logVar), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// dispatch reports the phase of a delegate to the test, which may kill a process before it answers.
func dispatch(ctx context.Context, agent, what, key string) {
	q := url.Values{"at": {agent + " " + what}, "key": {key}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv(hookVar)+"?"+q.Encode(), nil)
	if err != nil {
		return
	}
	if resp, err := http.DefaultClient.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// do performs an instruction such as "do k1". It returns the answer to the planner, or a
// question.
func do(ctx context.Context, agent, received string, asked bool) (answer, question string, err error) {
	what, key, _ := strings.Cut(received, " ")
	if what == "ask" && !asked {
		return "", "which colour?", nil
	}
	e := execution{Agent: agent, Key: key, Run: uuid.NewString()[:8], What: "begin"}
	if err := e.write(); err != nil {
		return "", "", err
	}
	dispatch(ctx, agent, "begins", key)
	e.What = "end"
	if err := e.write(); err != nil {
		return "", "", err
	}
	dispatch(ctx, agent, "ends", key)
	return token(agent, key, e.Run), "", nil
}

// token is the answer of a delegate.
func token(agent, key, run string) string { return fmt.Sprintf("token(%s,%s,%s)", agent, key, run) }

// pack is the program of the worker at the queue.
func pack(ctx context.Context) error {
	b, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	received, asked := strings.TrimSpace(string(b)), false
	if file := os.Getenv("PARLEY_TASK_FILE"); file != "" {
		asked = true
		if received, err = firstSaid(file); err != nil {
			return err
		}
	}
	answer, question, err := do(ctx, "packer", received, asked)
	if err != nil {
		return err
	}
	fmt.Print(answer + question)
	if question != "" {
		os.Exit(3)
	}
	return nil
}

// firstSaid returns the first message of the task in a file.
func firstSaid(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var t taskJSON
	if err := json.Unmarshal(b, &t); err != nil || len(t.History) == 0 {
		return "", fmt.Errorf("task %s: %w", b, err)
	}
	return t.History[0].text(), nil
}

// serveRemote runs the process of the remote agent.
func serveRemote(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Getenv(addrVar))
	if err != nil {
		return err
	}
	card := &a2a.AgentCard{
		Name: "faraway", Description: "Does what it is told", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://"+l.Addr().String()+"/rpc", a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "do", Name: "do", Description: "Does it", Tags: []string{"do"}}},
	}
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(remote{}, a2asrv.WithCapabilityChecks(&card.Capabilities))))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	fmt.Fprintln(os.Stderr, "ready")
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(l)
}

// remote is the remote agent.
type remote struct{}

// Execute implements a2asrv.AgentExecutor.
func (remote) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		first := ec.Message
		if ec.StoredTask == nil {
			if !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
				return
			}
		} else if len(ec.StoredTask.History) > 0 {
			first = ec.StoredTask.History[0]
		}
		state := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))), nil)
		}
		if !state(a2a.TaskStateWorking, "at it") {
			return
		}
		answer, question, err := do(ctx, "faraway", agent.Text(first), ec.StoredTask != nil)
		switch {
		case err != nil:
			yield(nil, err)
		case question != "":
			state(a2a.TaskStateInputRequired, question)
		default:
			state(a2a.TaskStateCompleted, answer)
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (remote) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
