package cli

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
)

// output are the flags for the form of a reply.
type output struct {
	format
	Out string `help:"Save files of the reply in this folder; without it they are described." placeholder:"DIR"`
}

// show prints the events of a stream.
type show struct {
	// agent is the name of the agent, for an empty reply.
	agent string

	out, notes io.Writer
	words      printer
	// live writes artifacts as soon as they arrive, not at the end.
	live bool
	// format writes events as data; without live, only the result at the end.
	format *format
	// questions writes the questions of an agent to notes as soon as they arrive.
	questions bool

	fold client.Fold
	// shown are the parts of each artifact that were written, in this call or before.
	shown map[a2a.ArtifactID]a2a.ContentParts
	// last is the artifact of the last written part.
	last a2a.ArtifactID
	// open is set while the last line of out has no line feed yet.
	open       bool
	lastStatus string // id of the last status message that was written to notes

	// mu is held during writes: the tree is written by another goroutine.
	mu sync.Mutex
	// tree is nil if no tree is shown. After a tree, the reply is written at the end.
	tree *treeShow
}

func newShow(o *OS, f *output, live bool) *show {
	return &show{
		out: o.Stdout, notes: o.Stderr, words: printer{terminal: o.Terminal && !f.data(), save: f.Out},
		live: live, format: &f.format, shown: make(map[a2a.ArtifactID]a2a.ContentParts),
	}
}

// event handles the next event of a stream.
func (s *show) event(e a2a.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live && s.format.data() {
		if err := s.format.encode(s.out, a2a.StreamResponse{Event: e}); err != nil {
			return err
		}
	}
	s.forget(e)
	s.fold.Apply(e)
	if !s.live || s.format.data() || s.fold.Task == nil || s.tree.shown() {
		return nil
	}
	if err := s.progress(); err != nil {
		return err
	}
	return s.artifacts()
}

// forget marks all parts of an artifact as not shown if e replaces it.
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

// begins reports whether parts begin with head.
func begins(parts, head a2a.ContentParts) bool {
	return len(head) <= len(parts) && reflect.DeepEqual(parts[:len(head)], head)
}

// skip marks the artifacts of a task as shown: they are older than the message to send.
func (s *show) skip(task *a2a.Task) {
	for _, a := range task.Artifacts {
		if a != nil {
			s.shown[a.ID] = a.Parts
		}
	}
}

// progress writes the status messages of a working agent to notes. It also writes questions, if
// the command continues after them.
func (s *show) progress() error {
	status := s.fold.Task.Status
	asks := s.questions && client.Interrupted(status.State)
	if !asks && status.State != a2a.TaskStateWorking || status.Message == nil ||
		status.Message.ID != "" && status.Message.ID == s.lastStatus {
		return nil
	}
	s.lastStatus = status.Message.ID
	text, err := s.words.message(status.Message)
	if err != nil || text == "" {
		return err
	}
	s.endLine()
	_, err = fmt.Fprintf(s.notes, "%s: %s\n", stateName(status.State), text)
	return err
}

// finish writes the rest of the reply.
func (s *show) finish() error {
	if s.fold.Result() == nil {
		return nil
	}
	if s.format.data() {
		if s.live {
			return nil
		}
		return s.format.encode(s.out, a2a.StreamResponse{Event: s.fold.Result()})
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
		return nil // nothing is saved that is not described
	}
	text, err := s.words.message(task.Status.Message)
	if err == nil && text == "" && answers {
		text = s.words.clean(llm.NoReply(s.agent, stateName(task.Status.State)))
	}
	if err != nil || text == "" {
		return err
	}
	if strings.TrimSpace(text) == strings.TrimSpace(s.text()) {
		return nil
	}
	return s.line(text)
}

// outputs returns the text of the last written artifact, because it may contain the agent's
// question.
func (s *show) text() string {
	var b strings.Builder
	for _, a := range s.fold.Task.Artifacts {
		if a == nil || a.ID != s.last || s.last == "" {
			continue
		}
		for _, p := range a.Parts {
			if p == nil {
				continue
			}
			if b.Len() > 0 && p.Text() != "" && !s.fold.Continues(p) {
				b.WriteByte('\n')
			}
			b.WriteString(s.words.clean(p.Text()))
		}
	}
	return b.String()
}

// artifacts writes the parts that were not written before.
func (s *show) artifacts() error {
	for _, artifact := range s.fold.Task.Artifacts {
		if artifact == nil {
			continue
		}
		from := min(len(s.shown[artifact.ID]), len(artifact.Parts))
		for i, p := range artifact.Parts[from:] {
			if p == nil {
				continue
			}
			if err := s.part(artifact.ID, p, from > 0 && i == 0 || s.fold.Continues(p)); err != nil {
				return err
			}
		}
		if from < len(artifact.Parts) {
			s.shown[artifact.ID] = artifact.Parts
		}
	}
	return nil
}

// part writes a part of an artifact: text that continues the part before it, or lines of its own.
func (s *show) part(id a2a.ArtifactID, p *a2a.Part, continues bool) error {
	text, err := s.words.part(p)
	if err != nil {
		return err
	}
	_, isText := p.Content.(a2a.Text)
	if isText && text == "" {
		return nil
	}
	if s.last != id || !continues {
		s.endLine()
	}
	s.last = id
	if !isText {
		return s.line(text)
	}
	s.open = !strings.HasSuffix(text, "\n")
	_, err = io.WriteString(s.out, text)
	return err
}

// line writes text on its own lines.
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

// outcome returns the error or exit code for the state of the task, or else for the files that
// could not be saved. again are the flags of a command that reaches the same agent.
func (s *show) outcome(again string) error {
	err := s.ending(again)
	switch {
	case err == nil:
		return s.words.unsaved
	case s.words.unsaved != nil:
		fmt.Fprintln(s.notes, s.words.unsaved)
	}
	return err
}

func (s *show) ending(again string) error {
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
		case s.format.data():
		case state == a2a.TaskStateAuthRequired: // a message is neither a sign-in nor an approval
			fmt.Fprintf(s.notes, "The task is waiting (%s). To follow it: parley tasks watch%s %s\n", stateName(state), again, id)
		default:
			fmt.Fprintf(s.notes, "The task is waiting (%s). To answer: parley send%s --task %s \"your answer\"\n", stateName(state), again, id)
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
		return &exit{exitFailed, fmt.Errorf("task %s %s%s", task.ID, outcome(state), reason)}
	}
	return &exit{exitFailed, fmt.Errorf("task %s is still %s; to follow it: parley tasks watch%s %s",
		task.ID, stateName(state), again, quote(printable(string(task.ID))))}
}
