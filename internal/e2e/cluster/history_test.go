package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// act is an operation of a client on one task.
type act struct {
	kind, hub string
	// begin and end are the times of its request and its answer since the start of the campaign.
	begin, end time.Duration
	// saw describes the task in the answer, and state its state; both are empty if the answer has
	// none. A list shows no content: it has a state alone.
	saw, state string
	// least is the version that is stored at the time of the answer at least.
	least int64
	// err is the reason for which the result is unknown; such an operation proves nothing.
	err string
}

func (a *act) String() string {
	s := fmt.Sprintf("%9.3f–%9.3f s  %-9s %s", a.begin.Seconds(), a.end.Seconds(), a.kind, a.hub)
	switch {
	case a.err != "":
		return s + "  unknown: " + a.err[:min(len(a.err), 120)]
	case a.saw != "":
		return s + "  " + a.saw
	case a.state != "":
		return s + "  " + a.state
	}
	return fmt.Sprintf("%s  version %d", s, a.least)
}

// history records the operations on one task.
type history struct {
	mu   sync.Mutex // guards acts
	acts []act
}

func (h *history) add(a act) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts = append(h.acts, a)
}

func (h *history) all() []act {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.acts)
}

// The JSON of a task and its events.
type (
	partsJSON  []struct{ Text string }
	statusJSON struct {
		State   string
		Message struct{ Parts partsJSON }
	}
	artifactJSON struct {
		ID    string `json:"artifactId"`
		Parts partsJSON
	}
	taskJSON struct {
		ID, ContextID string
		Status        statusJSON
		Artifacts     []artifactJSON
	}
	frameJSON struct {
		Task           *taskJSON
		StatusUpdate   *struct{ Status statusJSON }
		ArtifactUpdate *struct {
			Artifact artifactJSON
			Append   bool
		}
	}
)

func (p partsJSON) text() string {
	var b strings.Builder
	for i := range p {
		b.WriteString(p[i].Text)
	}
	return b.String()
}

func (s *statusJSON) state() string { return strings.TrimPrefix(s.State, "TASK_STATE_") }

func (t *taskJSON) text() string {
	var b strings.Builder
	for i := range t.Artifacts {
		b.WriteString(t.Artifacts[i].Parts.text())
	}
	return b.String()
}

// saw describes the task. Equal descriptions mean equal tasks.
func (t *taskJSON) saw() string {
	return t.Status.state() + " " + fmt.Sprintf("%q %q", t.Status.Message.Parts.text(), t.text())
}

func ended(state string) bool {
	return state == "COMPLETED" || state == "FAILED" || state == "CANCELED" || state == "REJECTED"
}

// moment is a task after one of its events.
type moment struct {
	version          int64
	state, saw, text string
}

// fold returns the moments of a task. Its log is the events after the first one, which is the
// message.
func fold(log []hubtest.Event) (all []moment, err error) {
	t := &taskJSON{Status: statusJSON{State: "SUBMITTED"}}
	all = append(all, moment{version: 1, state: t.Status.state(), saw: t.saw()})
	for i := range log {
		var f frameJSON
		if err := json.Unmarshal([]byte(log[i].Data), &f); err != nil {
			return nil, fmt.Errorf("event %s is not JSON: %w", log[i].ID, err)
		}
		switch {
		case f.Task != nil:
			t = f.Task
		case f.StatusUpdate != nil:
			t.Status = f.StatusUpdate.Status
		case f.ArtifactUpdate != nil:
			t.put(f.ArtifactUpdate.Artifact, f.ArtifactUpdate.Append)
		default:
			return nil, fmt.Errorf("event %s is of no known kind: %s", log[i].ID, log[i].Data)
		}
		var v int64
		if _, err := fmt.Sscan(log[i].ID, &v); err != nil {
			return nil, fmt.Errorf("event id %q: %w", log[i].ID, err)
		}
		all = append(all, moment{v, t.Status.state(), t.saw(), t.text()})
	}
	return all, nil
}

func (t *taskJSON) put(a artifactJSON, more bool) {
	i := slices.IndexFunc(t.Artifacts, func(b artifactJSON) bool { return b.ID == a.ID })
	switch {
	case i < 0:
		t.Artifacts = append(t.Artifacts, a)
	case more:
		t.Artifacts[i].Parts = append(t.Artifacts[i].Parts, a.Parts...)
	default:
		t.Artifacts[i] = a
	}
}

// checkLog checks that a task ends once: its last event, and no other one, is terminal. Between
// events are only the answers of the caller, which have versions without events.
func checkLog(moments []moment, answers int) error {
	missing := 0
	for i, m := range moments {
		if ended(m.state) != (i == len(moments)-1) {
			return fmt.Errorf("event %d of %d is %s", m.version, moments[len(moments)-1].version, m.state)
		}
		if i == 0 {
			continue
		}
		step := m.version - moments[i-1].version
		if step < 1 {
			return fmt.Errorf("event %d comes after %d", m.version, moments[i-1].version)
		}
		missing += int(step - 1)
	}
	if missing > answers {
		return fmt.Errorf("%d versions have no event, for %d answers", missing, answers)
	}
	return nil
}

// seen is the part of an operation that the model of a task reads: the versions that the answer
// may show, in order, or the version that is stored at least.
type seen struct {
	at    []int64
	least int64
}

// logModel is a task as a register: an index into its log that only grows. Each answer shows one
// position, not before those of the answers that came before its request.
var logModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		now, in := state.(int64), input.(seen)
		if in.at == nil {
			return true, max(now, in.least)
		}
		i, _ := slices.BinarySearch(in.at, now)
		if i == len(in.at) {
			return false, now
		}
		return true, in.at[i]
	},
	Equal: func(a, b any) bool { return a == b },
}

// checkActs checks that the operations on a task are linearizable, given its log.
func checkActs(acts []act, moments []moment) error {
	var ops []porcupine.Operation
	for i := range acts {
		a := &acts[i]
		if a.err != "" {
			continue
		}
		in := seen{least: a.least}
		if a.saw != "" || a.state != "" {
			in.at = a.versions(moments)
			if len(in.at) == 0 {
				return fmt.Errorf("the log never has the content of an answer: %v", a)
			}
		}
		if last := moments[len(moments)-1].version; a.least > last {
			return fmt.Errorf("the log ends at version %d, after an answer with a later one: %v", last, a)
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: in, Call: int64(a.begin), Return: int64(a.end)})
	}
	if porcupine.CheckOperationsTimeout(logModel, ops, time.Minute) == porcupine.Illegal {
		return errors.New("the operations are not linearizable: an answer shows an earlier version than one before its request")
	}
	return nil
}

// versions returns the versions that an answer may show. A version without an event is an answer to a
// question: the task shows the question, or that it works on.
func (a *act) versions(moments []moment) (all []int64) {
	for i, m := range moments {
		same := m.state == a.state && (a.saw == "" || m.saw == a.saw)
		if same {
			all = append(all, m.version)
		}
		if i+1 == len(moments) {
			break
		}
		for v := m.version + 1; v < moments[i+1].version; v++ {
			working := a.state == "WORKING" || a.state == "SUBMITTED"
			if same || working && (a.saw == "" || a.saw == fmt.Sprintf("%s %q %q", a.state, "", m.text)) {
				all = append(all, v)
			}
		}
	}
	return all
}

// explain lists the operations on a task and its log.
func explain(acts []act, moments []moment) string {
	var b strings.Builder
	slices.SortFunc(acts, func(x, y act) int { return int(x.begin - y.begin) })
	for i := range acts {
		fmt.Fprintf(&b, "\n  %v", &acts[i])
	}
	for i := range moments {
		fmt.Fprintf(&b, "\n  version %d: %.100s", moments[i].version, moments[i].saw)
	}
	return b.String()
}
