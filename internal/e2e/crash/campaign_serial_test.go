package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// The serial agents of the campaign, one for each kind of run. That at the queue has one worker, with
// fewer slots than there are contexts.
const (
	serialQueue   = "serial-queue"
	serialCommand = "serial-command"
	serialRemote  = "serial-remote"
	serialModel   = "serial-model"

	serialContexts = 4
	serialSlots    = 2
	// serialBacklog is the largest number of open messages of a context.
	serialBacklog = 4
)

var serialAgents = []string{serialQueue, serialCommand, serialRemote, serialModel}

// serialName matches the name of a job: its context, and its number there.
var serialName = regexp.MustCompile(`(r\d+-(serial-\w+)-\d+)-(\d+)`)

// peerProgram notes the executions of the remote agent.
const peerProgram = `
idempotency: {header: true}
agents:
  - name: serial-remote
    command: 'x=$(cat); echo "{\"agent\":\"serial-remote\",\"job\":\"$x\"}" >>RECORD; sleep 0.05; printf done'
`

// serialConfig returns the models and agents of the configuration, and starts the servers behind them. The
// remote agent may take longer than a clock is moved.
func (w *busSystem) serialConfig(program string) (models, agents string) {
	w.t.Helper()
	server := openaitest.New(w.t, openaitest.Config{Foreign: true}, func(r *openaitest.Request) openaitest.Turn {
		w.noteModel(serialName.FindString(r.Last("user")))
		return openaitest.Turn{Text: "done"}
	})
	peer := hubtest.Start(w.t, hubtest.Options{Config: strings.ReplaceAll(peerProgram, "RECORD", w.record)})
	return fmt.Sprintf("model_providers:\n  - {name: test, base_url: %q}\n", server.URL), fmt.Sprintf(`  - {name: %s, queue: %[1]s, serial: true}
  - {name: %s, serial: true, idempotent: true, %s}
  - {name: %s, serial: true, timeout: 24h, endpoint: {backend: a2a, base_url: %q, target: serial-remote, options: {idempotent: true}}}
  - {name: %s, serial: true, model: {model: test, system_prompt: "Say done.", forgetful: true}}
`, serialQueue, serialCommand, program, serialRemote, peer.URL(), serialModel)
}

// noteModel notes that the model was asked for the first time or again.
func (w *busSystem) noteModel(job string) {
	b, err := json.Marshal(&line{Agent: serialModel, Job: job})
	if err != nil {
		w.t.Error(err)
		return
	}
	file, err := os.OpenFile(w.record, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer file.Close()
	if _, err := file.Write(append(b, '\n')); err != nil {
		w.t.Error(err)
	}
}

// sendInOrder sends messages to all contexts of the serial agents until begin ends: the next message of
// a context once the hub has accepted the one before, and up to serialBacklog of them before it waits
// for their ends.
func (c *campaign) sendInOrder(ctx, begin context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, name := range serialAgents {
		for k := range serialContexts {
			wg.Go(func() {
				contextID := fmt.Sprintf("%s%s-%d", c.crowd.prefix, name, k)
				for n := 0; begin.Err() == nil; n += serialBacklog {
					var open []*job
					for i := range serialBacklog {
						j := c.serialJob(name, contextID, n+i)
						if err := j.untilAccepted(ctx); err != nil {
							c.crowd.note(j, err)
							return
						}
						open = append(open, j)
					}
					for _, j := range open {
						c.crowd.one(ctx, j)
					}
				}
			})
		}
	}
}

func (c *campaign) serialJob(name, contextID string, n int) *job {
	id := fmt.Sprintf("%s-%d", contextID, n)
	j := &job{
		reader: reader{skips: true, book: c.book, job: id}, name: id, agent: name, context: contextID,
		url: c.crowd.url, keyed: true, sends: true, text: id, load: name,
	}
	if name == serialQueue || name == serialCommand {
		j.kind, j.chunks = "stream", 1+rand.IntN(5)
	}
	return j
}

// untilAccepted sends the message until the hub has accepted it. Its error is a violation.
func (j *job) untilAccepted(ctx context.Context) error {
	for {
		err := j.send(ctx)
		if err == nil || isViolation(err) {
			return err
		}
		if pause(ctx, nil) != nil {
			return flawed(stuck, "message %s is not accepted: %v", j.name, err)
		}
	}
}

// checkOrder compares the order in which the messages of a context were executed first with that in
// which they were accepted.
func checkOrder(lines []line) (found []error) {
	jobs, seen, last := map[string]string{}, map[string]bool{}, map[string]int{}
	for i := range lines {
		if e := &lines[i]; e.Op == opTask || e.Op == opEnd {
			jobs[e.Task] = e.Job
		}
	}
	for i := range lines {
		e := &lines[i]
		name := cmp.Or(e.Job, jobs[e.Task])
		m := serialName.FindStringSubmatch(name)
		if e.Op != "" || m == nil || seen[name] {
			continue
		}
		seen[name] = true
		n, _ := strconv.Atoi(m[3]) // digits
		if before, ok := last[m[1]]; ok && n < before {
			found = append(found, flawed(unordered, "message %d of context %s was executed after message %d", n, m[1], before))
		}
		last[m[1]] = n
	}
	return found
}
