package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/llm"
)

// output are the flags that say how a reply is shown.
type output struct {
	JSON bool   `name:"json" help:"Print the protocol's JSON objects, one a line."`
	Out  string `help:"Save files of the reply in this folder; without it they are described." placeholder:"DIR"`
}

// show writes what a stream tells.
type show struct {
	// agent is the name of the agent, for a reply that says nothing.
	agent string

	out, notes io.Writer
	words      words
	// live: artifacts are written as they come, not at the end.
	live bool
	// json: events are written as JSON; at the end only, unless live.
	json bool
	// questions: the questions of an agent are noted as they come.
	questions bool

	fold client.Fold
	// shown are the parts of each artifact that were written, now or before.
	shown map[a2a.ArtifactID]a2a.ContentParts
	// last is the artifact that was written to last.
	last a2a.ArtifactID
	// open: the last line of out has no end yet.
	open bool
	told string // the id of the last status message that went to notes

	// mu is held while something is written: the tree comes from another goroutine.
	mu sync.Mutex
	// tree is nil where no tree is shown. Once one is, the reply comes after it.
	tree *treeShow
}

func newShow(o *OS, f *output, live bool) *show {
	return &show{
		out: o.Stdout, notes: o.Stderr, words: words{terminal: o.Terminal && !f.JSON, save: f.Out},
		live: live, json: f.JSON, shown: make(map[a2a.ArtifactID]a2a.ContentParts),
	}
}

// event takes the next event of a stream.
func (s *show) event(e a2a.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live && s.json {
		if err := printJSON(s.out, a2a.StreamResponse{Event: e}); err != nil {
			return err
		}
	}
	s.forget(e)
	s.fold.Apply(e)
	if !s.live || s.json || s.fold.Task == nil || s.tree.shown() {
		return nil
	}
	if err := s.progress(); err != nil {
		return err
	}
	return s.artifacts()
}

// forget makes all of an artifact new if e replaces it.
func (s *show) forget(e a2a.Event) {
	switch e := e.(type) {
	case *a2a.TaskArtifactUpdateEvent:
		if e.Artifact != nil && !e.Append {
			delete(s.shown, e.Artifact.ID)
		}
	case *a2a.Task:
		for _, a := range e.Artifacts {
			if a != nil && !begins(a.Parts, s.shown[a.ID]) {
				delete(s.shown, a.ID)
			}
		}
	}
}

// begins reports whether parts are head and more.
func begins(parts, head a2a.ContentParts) bool {
	return len(head) <= len(parts) && reflect.DeepEqual(parts[:len(head)], head)
}

// skip takes the artifacts of a task as shown: they are older than the message that
// is about to be sent.
func (s *show) skip(task *a2a.Task) {
	for _, a := range task.Artifacts {
		if a != nil {
			s.shown[a.ID] = a.Parts
		}
	}
}

// progress notes what an agent says while it works, and its questions if the
// command goes on after them.
func (s *show) progress() error {
	status := s.fold.Task.Status
	asks := s.questions && client.Interrupted(status.State)
	if !asks && status.State != a2a.TaskStateWorking || status.Message == nil ||
		status.Message.ID != "" && status.Message.ID == s.told {
		return nil
	}
	s.told = status.Message.ID
	text, err := s.words.message(status.Message)
	if err != nil || text == "" {
		return err
	}
	s.endLine()
	_, err = fmt.Fprintf(s.notes, "%s: %s\n", stateName(status.State), text)
	return err
}

// finish writes what has not been written yet.
func (s *show) finish() error {
	if s.fold.Result() == nil {
		return nil
	}
	if s.json {
		return s.finishJSON()
	}
	if s.fold.Message != nil {
		text, err := s.words.message(s.fold.Message)
		if err == nil && text == "" {
			text = s.words.clean(llm.NoReply(s.agent, stateName(a2a.TaskStateCompleted)))
		}
		if err == nil {
			err = s.line(text)
		}
		return err
	}
	if err := s.artifacts(); err != nil {
		return err
	}
	s.endLine()
	task := s.fold.Task
	asks := client.Interrupted(task.Status.State)
	answers := task.Status.State == a2a.TaskStateCompleted && len(task.Artifacts) == 0
	if !asks && !answers {
		return nil // what is not told is not saved either
	}
	text, err := s.words.message(task.Status.Message)
	if err == nil && text == "" && answers {
		text = s.words.clean(llm.NoReply(s.agent, stateName(task.Status.State)))
	}
	if err != nil || text == "" {
		return err
	}
	if strings.TrimSpace(text) == strings.TrimSpace(s.said()) {
		return nil
	}
	return s.line(text)
}

// said returns the text of the artifact that was written to last: an agent may say
// its question there, too.
func (s *show) said() string {
	var b strings.Builder
	for _, a := range s.fold.Task.Artifacts {
		if a == nil || a.ID != s.last || s.last == "" {
			continue
		}
		for _, p := range a.Parts {
			if p != nil {
				b.WriteString(s.words.clean(p.Text()))
			}
		}
	}
	return b.String()
}

func (s *show) finishJSON() error {
	if s.live {
		return nil
	}
	return printJSON(s.out, a2a.StreamResponse{Event: s.fold.Result()})
}

// artifacts writes the parts that were not written before.
func (s *show) artifacts() error {
	for _, artifact := range s.fold.Task.Artifacts {
		if artifact == nil {
			continue
		}
		from := min(len(s.shown[artifact.ID]), len(artifact.Parts))
		for _, p := range artifact.Parts[from:] {
			if p == nil {
				continue
			}
			if err := s.part(artifact.ID, p); err != nil {
				return err
			}
		}
		if from < len(artifact.Parts) {
			s.shown[artifact.ID] = artifact.Parts
		}
	}
	return nil
}

// part writes a part of an artifact. The texts of one artifact follow one another
// as they are, since chunks are parts too; everything else has lines of its own.
func (s *show) part(id a2a.ArtifactID, p *a2a.Part) error {
	text, err := s.words.part(p)
	if err != nil {
		return err
	}
	if s.last != id {
		s.endLine()
	}
	s.last = id
	if _, ok := p.Content.(a2a.Text); !ok {
		return s.line(text)
	}
	if text == "" {
		return nil
	}
	s.open = !strings.HasSuffix(text, "\n")
	_, err = io.WriteString(s.out, text)
	return err
}

// line writes text as lines of its own.
func (s *show) line(text string) error {
	s.endLine()
	_, err := fmt.Fprintln(s.out, text)
	return err
}

func (s *show) endLine() {
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// outcome returns the error, or the exit code, that the state of the task means.
// again are the flags of a command that reaches the same agent.
func (s *show) outcome(again string) error {
	task := s.fold.Task
	if s.fold.Message != nil {
		return nil
	}
	if task == nil {
		return &exit{exitFailed, fmt.Errorf("no reply: %w", a2a.ErrInvalidAgentResponse)}
	}
	state := task.Status.State
	switch {
	case state == a2a.TaskStateCompleted:
		return nil
	case client.Interrupted(state):
		id := quote(printable(string(task.ID)))
		switch {
		case s.json:
		case state == a2a.TaskStateAuthRequired: // words of the caller are no sign-in, and no approval
			fmt.Fprintf(s.notes, "The task waits (%s). To see what becomes of it: parley tasks watch%s %s\n", stateName(state), again, id)
		default:
			fmt.Fprintf(s.notes, "The task waits (%s). To answer: parley send%s --task %s \"your answer\"\n", stateName(state), again, id)
		}
		return &exit{code: exitInterrupted}
	case state.Terminal():
		reason, err := s.words.message(task.Status.Message)
		if err != nil {
			return err
		}
		if reason != "" {
			reason = ": " + reason
		}
		return &exit{exitFailed, fmt.Errorf("task %s is %s%s", task.ID, stateName(state), reason)}
	}
	return &exit{exitFailed, fmt.Errorf("task %s is still %s; to follow it: parley tasks watch%s %s",
		task.ID, stateName(state), again, quote(printable(string(task.ID))))}
}

// printJSON writes v on one line.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
