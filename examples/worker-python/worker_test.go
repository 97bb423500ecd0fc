// Package workerpython has no Go code: its workers are in Python. These tests start them beside
// a hub, on real brokers, and call the agent as any caller would.
package workerpython

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/examples/exampletest"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit)) }

// sdk is the folder of the package that the workers use.
var sdk = filepath.Join("..", "..", "sdk", "python")

// python returns the interpreter of the virtual environment that .ci/venvs creates for the package.
func python(t *testing.T) string {
	t.Helper()
	return filepath.Join(testenv.Made(t, "sdk/python/.venv"), "bin", "python")
}

// broker is a broker that hub and workers use.
type broker struct {
	bus bus.Bus
	url string
	// cut ends all connections, for a while.
	cut func()
}

// brokers are the brokers that the package knows.
var brokers = map[string]func(t *testing.T) *broker{
	"rabbitmq": func(t *testing.T) *broker {
		server := rabbittest.Shared(t)
		url := server.VHost(t)
		return &broker{&amqpbus.Bus{URL: url}, url, func() { server.Cut(t) }}
	},
	"nats":     func(t *testing.T) *broker { return startNATS(t, natstest.Current(t)) },
	"nats 2.9": func(t *testing.T) *broker { return startNATS(t, natstest.Debian(t)) },
	"embedded": startEmbedded,
}

// startEmbedded starts the broker of a hub. Workers have the key of their agent, which permits
// only the operations that they need.
func startEmbedded(t *testing.T) *broker {
	t.Helper()
	server, err := embedded.Start(embedded.Options{
		Listen: "127.0.0.1:0", Agent: func(key, _ string) (embedded.Credential, bool) {
			return embedded.Credential{Key: "1", Agent: "pythonist"}, key == "secret"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	b, err := server.Open(t.Context(), natsbus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.Contact().URL, "://", "://secret@", 1)
	return &broker{b, url, func() {
		if err := server.Drop("1"); err != nil {
			t.Errorf("drop the workers: %v", err)
		}
	}}
}

func startNATS(t *testing.T, p natstest.Program) *broker {
	t.Helper()
	server := natstest.Start(t, p)
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &broker{b, server.URL, func() {
		server.Stop(t)
		server.Start(t)
	}}
}

// bench is a hub with one agent, "pythonist", whose workers are other processes.
type bench struct {
	*broker
	t      *testing.T
	signer *bus.Signer
	client *client.Client
}

func newBench(t *testing.T, b *broker) *bench {
	t.Helper()
	signer, err := bus.NewSigner("h1", nil)
	if err != nil {
		t.Fatal(err)
	}
	store := new(memstore.Store)
	d := &queue.Dispatcher{Bus: b.bus, ID: signer.Hub(), Tasks: store, Signer: signer, Lease: 8 * time.Second}
	hub := parley.Hub{Store: store}
	hub.Handle(&a2a.AgentCard{Name: "pythonist"}, &queue.Agent{Dispatcher: d})
	server := httptest.NewServer(hub.Handler())
	hearing, deafen := context.WithCancel(context.WithoutCancel(t.Context()))
	running, stop := context.WithCancel(hearing)
	var wg, last sync.WaitGroup
	last.Go(func() {
		if err := d.Run(hearing); err != nil {
			t.Errorf("dispatcher: %v", err)
		}
	})
	wg.Go(func() {
		if err := hub.Run(running); err != nil {
			t.Errorf("hub: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
		deafen()
		last.Wait()
		server.Close()
		if err := b.bus.Close(); err != nil {
			t.Errorf("close the bus: %v", err)
		}
	})
	return &bench{b, t, signer, exampletest.Dial(t, server.URL, "")}
}

// process is a worker in Python.
type process struct {
	cmd *exec.Cmd
	// wait waits until it has ended.
	wait func() error
}

// start starts a worker that trusts the hub with key. It is killed when the test ends.
func (s *bench) start(key bus.HubKey) *process {
	s.t.Helper()
	cmd := exec.Command(python(s.t), "-B", "agent.py", s.url, "pythonist", key.String())
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(sdk, "src"))
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	w := &process{cmd, sync.OnceValue(cmd.Wait)}
	s.t.Cleanup(w.kill)
	return w
}

// kill ends the worker as "kill -9" does.
func (w *process) kill() {
	_ = w.cmd.Process.Kill() // it may be gone already
	_ = w.wait()
}

// say sends a message and returns the task in the response.
func (s *bench) say(m *a2a.Message) *a2a.Task {
	s.t.Helper()
	result, err := s.client.Send(s.t.Context(), &a2a.SendMessageRequest{Message: m})
	if err != nil {
		s.t.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		s.t.Fatalf("the answer is %T, want a task", result)
	}
	return task
}

func message(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

// TestWorkers runs the same scenarios on each broker.
func TestWorkers(t *testing.T) {
	t.Parallel()
	stories := map[string]func(*bench){
		"an agent that is not running yet": (*bench).late,
		"a stream":                         (*bench).stream,
		"a question":                       (*bench).question,
		"Python and Go at one queue":       (*bench).mixed,
		"kill -9, cut, cancel":             (*bench).faults,
		"an orderly end":                   (*bench).orderly,
		"a hub that is not trusted":        (*bench).stranger,
	}
	for name, connect := range brokers {
		for story, tell := range stories {
			t.Run(name+"/"+story, func(t *testing.T) {
				t.Parallel()
				tell(newBench(t, connect(t)))
			})
		}
	}
}

// late calls the agent before there is a worker.
func (s *bench) late() {
	req := exampletest.Say("hello")
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	result, err := s.client.Send(s.t.Context(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.Status.State.Terminal() {
		s.t.Fatalf("the answer is %+v, want a task that waits", result)
	}
	s.start(s.signer.HubKey())
	task, err = s.client.Wait(s.t.Context(), task.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := exampletest.Answer(s.t, task); got != "hello" {
		s.t.Errorf("the answer is %q, want %q", got, "hello")
	}
}

// stream reads an artifact in many chunks.
func (s *bench) stream() {
	const count = 500
	s.start(s.signer.HubKey())
	var got, want strings.Builder
	for n := range count {
		fmt.Fprintf(&want, "%d ", n)
	}
	var reply client.Fold
	for event, err := range s.client.Stream(s.t.Context(), exampletest.Say(fmt.Sprintf("stream %d", count))) {
		if err != nil {
			s.t.Fatal(err)
		}
		reply.Apply(event)
		if e, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			got.WriteString(e.Artifact.Parts[0].Text())
		}
	}
	if got.String() != want.String() {
		s.t.Errorf("the chunks are %q, want %q", got.String(), want.String())
	}
	if got, want := exampletest.Answer(s.t, reply.Task), fmt.Sprintf("%d numbers", count); got != want {
		s.t.Errorf("the answer is %q, want %q", got, want)
	}
}

// question answers the agent's question; one of two workers has asked, either may continue.
func (s *bench) question() {
	s.start(s.signer.HubKey())
	s.start(s.signer.HubKey())
	for _, name := range []string{"Ada", "Grace", "Barbara"} {
		task := s.say(message("ask"))
		if task.Status.State != a2a.TaskStateInputRequired {
			s.t.Fatalf("the state is %s, want %s", task.Status.State, a2a.TaskStateInputRequired)
		}
		answer := message(name)
		answer.TaskID = task.ID
		if got, want := exampletest.Answer(s.t, s.say(answer)), "Hello, "+name+"!"; got != want {
			s.t.Errorf("the answer is %q, want %q", got, want)
		}
	}
}

// mixed has workers in Python and in Go at the same queue: any free worker asks, and any free
// worker continues with the answer. It repeats this until each language has continued with a
// question of the other one.
func (s *bench) mixed() {
	s.start(s.signer.HubKey())
	ctx, stop := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { // ends before the test does
		ended <- (&worker.Worker{Bus: s.bus, Name: "pythonist", Executor: agent.Func(gopher), Concurrency: 1}).Run(ctx)
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("worker in Go: %v", err)
		}
	}()
	const sideBySide = 8
	pairs := make(map[string]int)
	late := time.Now().Add(4 * time.Minute)
	for n := 0; pairs["Python, Go"] == 0 || pairs["Go, Python"] == 0; n++ {
		if time.Now().After(late) {
			s.t.Fatalf("after %d questions those who asked and went on are %v", n*sideBySide, pairs)
		}
		received := make(chan string, sideBySide)
		for range sideBySide {
			go func() { received <- s.pair() }()
		}
		for range sideBySide {
			pairs[<-received]++
		}
	}
	s.t.Logf("who asked and who went on: %v", pairs)
}

// pair answers a question, and returns the languages of the worker that asked and the one that
// continued.
func (s *bench) pair() string {
	send := func(m *a2a.Message, want a2a.TaskState) *a2a.Task {
		result, err := s.client.Send(s.t.Context(), &a2a.SendMessageRequest{Message: m})
		task, ok := result.(*a2a.Task)
		if err != nil || !ok || task.Status.State != want {
			s.t.Errorf("the answer is %+v, %v, want a task that is %s", result, err, want)
			return nil
		}
		return task
	}
	task := send(message("ask"), a2a.TaskStateInputRequired)
	if task == nil {
		return ""
	}
	asked, answer := language(task.Status.Message), message("Ada")
	answer.TaskID = task.ID
	if task = send(answer, a2a.TaskStateCompleted); task == nil {
		return ""
	}
	if got := task.Status.Message.Parts[0].Text(); !strings.HasPrefix(got, "Hello, Ada!") {
		s.t.Errorf("the answer is %q", got)
	}
	return asked + ", " + language(task.Status.Message)
}

// gopher asks and greets as the agent in Python does.
func gopher(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	state, text := a2a.TaskStateInputRequired, "What is your name? (Go)"
	if ec.StoredTask != nil {
		state, text = a2a.TaskStateCompleted, "Hello, "+ec.Message.Parts[0].Text()+"! (Go)"
	}
	yield(a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))), nil)
}

// language returns the language of the worker that has sent m.
func language(m *a2a.Message) string {
	if strings.HasSuffix(m.Parts[0].Text(), "(Go)") {
		return "Go"
	}
	return "Python"
}

// faults kills the worker that performs a task. Another one gets it; its connection is cut, and
// then the task is canceled.
func (s *bench) faults() {
	first := s.start(s.signer.HubKey())
	req := exampletest.Say("wait")
	var second *process
	var reply client.Fold
	for event, err := range s.client.Stream(s.t.Context(), req) {
		if err != nil {
			s.t.Fatal(err)
		}
		reply.Apply(event)
		text := client.UpdateOf(event).Text
		switch {
		case second == nil && text == waits(first):
			second = s.start(s.signer.HubKey())
			first.kill()
		case second != nil && text == waits(second):
			s.cut()
			if _, err := s.client.Cancel(s.t.Context(), &a2a.CancelTaskRequest{ID: reply.Task.ID}); err != nil {
				s.t.Errorf("cancel: %v", err)
			}
		}
	}
	if state := reply.Task.Status.State; second == nil || state != a2a.TaskStateCanceled {
		s.t.Errorf("the state is %s, and the second worker %v, want %s and one", state, second, a2a.TaskStateCanceled)
	}
}

// waits returns the text of a worker that waits.
func waits(w *process) string { return fmt.Sprintf("process %d waits", w.cmd.Process.Pid) }

// orderly asks a worker to stop. Another one continues its task at once.
func (s *bench) orderly() {
	first := s.start(s.signer.HubKey())
	var second *process
	var reply client.Fold
	for event, err := range s.client.Stream(s.t.Context(), exampletest.Say("wait")) {
		if err != nil {
			s.t.Fatal(err)
		}
		reply.Apply(event)
		text := client.UpdateOf(event).Text
		switch {
		case second == nil && text == waits(first):
			if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				s.t.Fatal(err)
			}
			if err := first.wait(); err != nil {
				s.t.Errorf("the worker has ended with %v, want nil", err)
			}
			second = s.start(s.signer.HubKey())
		case second != nil && text == waits(second):
			if _, err := s.client.Cancel(s.t.Context(), &a2a.CancelTaskRequest{ID: reply.Task.ID}); err != nil {
				s.t.Errorf("cancel: %v", err)
			}
		}
	}
	if state := reply.Task.Status.State; state != a2a.TaskStateCanceled {
		s.t.Errorf("the state is %s, want %s", state, a2a.TaskStateCanceled)
	}
}

// stranger starts a worker that trusts another key. It moves the work to Dead, with the reason.
func (s *bench) stranger() {
	other, err := bus.NewSigner("h1", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(other.HubKey())
	req := exampletest.Say("hello")
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	if _, err := s.client.Send(s.t.Context(), req); err != nil {
		s.t.Fatal(err)
	}
	for letter, err := range s.bus.Receive(s.t.Context(), bus.Subscription{At: bus.Dead}) {
		if err != nil {
			s.t.Fatal(err)
		}
		want := "key " + s.signer.HubKey().ID() + " is not trusted"
		if letter.Reason != want || letter.Queue != protocol.JobAt("pythonist").Name {
			s.t.Errorf("the reason at %s is %q, want %q", letter.Queue, letter.Reason, want)
		}
		if err := letter.Ack(s.t.Context()); err != nil {
			s.t.Error(err)
		}
		break
	}
}
