package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var info = a2a.TaskInfo{TaskID: "t", ContextID: "c"}

func agentSays(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
}

func chunk(id a2a.ArtifactID, more bool, parts ...*a2a.Part) a2a.Event {
	e := a2a.NewArtifactUpdateEvent(info, id, parts...)
	e.Append = more
	return e
}

func inStatus(state a2a.TaskState, text string) a2a.Event {
	var m *a2a.Message
	if text != "" {
		m = agentSays(text)
	}
	return a2a.NewStatusUpdateEvent(info, state, m)
}

func snapshot(state a2a.TaskState, artifacts ...*a2a.Artifact) a2a.Event {
	return &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: state}, Artifacts: artifacts}
}

var (
	text   = a2a.NewTextPart
	begun  = snapshot(a2a.TaskStateSubmitted)
	done   = func(text string) a2a.Event { return inStatus(a2a.TaskStateCompleted, text) }
	works  = func(text string) a2a.Event { return inStatus(a2a.TaskStateWorking, text) }
	inputs = func(text string) a2a.Event { return inStatus(a2a.TaskStateInputRequired, text) }
)

func TestShow(t *testing.T) {
	t.Parallel()
	data := a2a.NewDataPart(1)
	tests := []struct {
		name   string
		live   bool
		events []a2a.Event
		out    string
		notes  string
		code   int
	}{
		{
			"chunks join as they are", false,
			[]a2a.Event{begun, chunk("a", false, text("one ")), chunk("a", true, text("two")), done("one two")},
			"one two\n", "", exitOK,
		},
		{
			"chunks as they come", true,
			[]a2a.Event{begun, chunk("a", false, text("one ")), works(""), chunk("a", true, text("two\n")), done("")},
			"one two\n", "", exitOK,
		},
		{
			"artifacts and other parts have their own lines", false,
			[]a2a.Event{begun, chunk("a", false, text("x"), data, text("y")), chunk("b", false, text("z")), done("")},
			"x\n1\ny\nz\n", "", exitOK,
		},
		{
			"the parts of one artifact have their own lines, chunks continue", false,
			[]a2a.Event{begun, chunk("a", false, text("x"), text("y")), chunk("a", true, text("z"), text("w")), done("")},
			"x\nyz\nw\n", "", exitOK,
		},
		{
			"an artifact that is replaced is shown again", true,
			[]a2a.Event{begun, chunk("a", false, text("old")), chunk("a", false, text("new")), done("")},
			"old\nnew\n", "", exitOK,
		},
		{
			"a snapshot adds what is new", true,
			[]a2a.Event{
				begun, chunk("a", false, text("one ")),
				snapshot(a2a.TaskStateWorking, &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{text("one "), text("two")}}), done(""),
			},
			"one two\n", "", exitOK,
		},
		{"the status answers", false, []a2a.Event{begun, done("done")}, "done\n", "", exitOK},
		{"nothing to say", false, []a2a.Event{begun, done("")}, "a: completed\n", "", exitOK},
		{"a bare message", true, []a2a.Event{agentSays("hi")}, "hi\n", "", exitOK},
		{
			"progress is a note, once, when live", true,
			[]a2a.Event{begun, works("step 1"), chunk("a", false, text("x")), works("step 2"), done("")},
			"x\n", "working: step 1\nworking: step 2\n", exitOK,
		},
		{"progress is silent otherwise", false, []a2a.Event{begun, works("step 1"), done("x")}, "x\n", "", exitOK},
		{
			"a question", false,
			[]a2a.Event{begun, inputs("which?")},
			"which?\n", "The task is waiting (input-required). To answer: parley send --agent a --task t \"your answer\"\n", exitInterrupted,
		},
		{
			"what no words of the caller settle", false,
			[]a2a.Event{begun, inStatus(a2a.TaskStateAuthRequired, "the owner is asked")},
			"the owner is asked\n", "The task is waiting (auth-required). To follow it: parley tasks watch --agent a t\n", exitInterrupted,
		},
		{
			"a question that the artifact asked", true,
			[]a2a.Event{begun, chunk("a", false, text("which")), chunk("a", true, text("?\n")), inputs(" which?")},
			"which?\n", "The task is waiting (input-required). To answer: parley send --agent a --task t \"your answer\"\n", exitInterrupted,
		},
		{
			"a question that an earlier artifact asked", false,
			[]a2a.Event{begun, chunk("a", false, text("which?")), chunk("b", false, text("x")), inputs("which?")},
			"which?\nx\nwhich?\n", "The task is waiting (input-required). To answer: parley send --agent a --task t \"your answer\"\n", exitInterrupted,
		},
		{
			"a snapshot with another artifact of that name", true,
			[]a2a.Event{
				begun, chunk("a", false, text("one"), text("two")),
				snapshot(a2a.TaskStateWorking, &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{text("three")}}, nil), done(""),
			},
			"one\ntwo\nthree\n", "", exitOK,
		},
		{
			"two artifacts of one name break nothing", true,
			[]a2a.Event{
				snapshot(a2a.TaskStateWorking, &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{text("x"), text("y")}}, &a2a.Artifact{ID: "a"}),
				done(""),
			},
			"x\ny\n", "", exitOK,
		},
		{"a failure keeps what there is", false, []a2a.Event{begun, chunk("a", false, text("half")), inStatus(a2a.TaskStateFailed, "broke")}, "half\n", "", exitFailed},
		{"still working", false, []a2a.Event{begun, works("")}, "", "", exitFailed},
		{"events without a task", false, []a2a.Event{chunk("a", false, text("x")), done("")}, "x\n", "", exitOK},
		{"no events", false, nil, "", "", exitFailed},
		{
			"empty and missing parts", true,
			[]a2a.Event{begun, chunk("a", false, text(""), nil, text("x")), &a2a.TaskArtifactUpdateEvent{TaskID: "t"}, done("")},
			"x\n", "", exitOK,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, notes bytes.Buffer
			s := newShow(&OS{Stdout: &out, Stderr: &notes}, &output{}, tt.live)
			s.agent = "a"
			for _, e := range tt.events {
				if err := s.event(e); err != nil {
					t.Fatalf("event() = %v", err)
				}
			}
			if err := s.finish(); err != nil {
				t.Fatalf("finish() = %v", err)
			}
			code := exitOK
			var e *exit
			if errors.As(s.outcome(" --agent a"), &e) {
				code = e.code
			}
			if out.String() != tt.out || notes.String() != tt.notes || code != tt.code {
				t.Errorf("got %q, notes %q, exit %d; want %q, %q, %d", out.String(), notes.String(), code, tt.out, tt.notes, tt.code)
			}
		})
	}
}

func TestShowQuestionsWhileWatching(t *testing.T) {
	t.Parallel()
	var out, notes bytes.Buffer
	s := newShow(&OS{Stdout: &out, Stderr: &notes}, &output{}, true)
	s.questions = true
	for _, e := range []a2a.Event{begun, inputs("which?"), works(""), done("that one")} {
		if err := s.event(e); err != nil {
			t.Fatalf("event() = %v", err)
		}
	}
	if err := s.finish(); err != nil {
		t.Fatalf("finish() = %v", err)
	}
	if out.String() != "that one\n" || notes.String() != "input-required: which?\n" {
		t.Errorf("got %q, notes %q", out.String(), notes.String())
	}
}

// TestShowSkips checks that earlier output is not shown again, even if it asks the same
// question.
func TestShowSkips(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := newShow(&OS{Stdout: &out, Stderr: &bytes.Buffer{}}, &output{}, true)
	before := &a2a.Task{Artifacts: []*a2a.Artifact{nil, {ID: "a", Parts: a2a.ContentParts{text("which?")}}}}
	s.skip(before)
	asked := snapshot(a2a.TaskStateInputRequired, before.Artifacts...)
	for _, e := range []a2a.Event{asked, works(""), chunk("a", true, text(" or that?")), inputs("which?")} {
		if err := s.event(e); err != nil {
			t.Fatalf("event() = %v", err)
		}
	}
	if err := s.finish(); err != nil {
		t.Fatalf("finish() = %v", err)
	}
	if want := " or that?\nwhich?\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestShowNotesOnce checks that a status message that is repeated as part of the task is shown
// once.
func TestShowNotesOnce(t *testing.T) {
	t.Parallel()
	var notes bytes.Buffer
	s := newShow(&OS{Stdout: &bytes.Buffer{}, Stderr: &notes}, &output{}, true)
	status := works("step 1").(*a2a.TaskStatusUpdateEvent).Status
	again := *status.Message
	task := &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Message: &again}}
	for _, e := range []a2a.Event{begun, &a2a.TaskStatusUpdateEvent{TaskID: "t", Status: status}, task} {
		if err := s.event(e); err != nil {
			t.Fatalf("event() = %v", err)
		}
	}
	if want := "working: step 1\n"; notes.String() != want {
		t.Errorf("notes %q, want %q", notes.String(), want)
	}
}

func TestShowJSON(t *testing.T) {
	t.Parallel()
	events := []a2a.Event{begun, inputs("which?")}
	for live, want := range map[bool]int{false: 1, true: 2} {
		var out, notes bytes.Buffer
		s := newShow(&OS{Stdout: &out, Stderr: &notes, Terminal: true}, &output{format: format{JSON: true}}, live)
		for _, e := range events {
			if err := s.event(e); err != nil {
				t.Fatalf("event() = %v", err)
			}
		}
		if err := s.finish(); err != nil {
			t.Fatalf("finish() = %v", err)
		}
		err := s.outcome("")
		var e *exit
		if !errors.As(err, &e) || e.code != exitInterrupted || e.err != nil {
			t.Errorf("outcome() = %v, want a silent exit 3", err)
		}
		if got := strings.Count(out.String(), "\n"); got != want || notes.Len() > 0 {
			t.Errorf("live %v: %d lines, notes %q, want %d lines:\n%s", live, got, notes.String(), want, out.String())
		}
		if !strings.Contains(out.String(), "TASK_STATE_INPUT_REQUIRED") {
			t.Errorf("live %v: no state in %s", live, out.String())
		}
	}
}

// brokenPipe is a writer that always fails.
type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestShowReportsABrokenPipe(t *testing.T) {
	t.Parallel()
	for _, o := range []output{{}, {format: format{JSON: true}}} {
		s := newShow(&OS{Stdout: brokenPipe{}, Stderr: &bytes.Buffer{}}, &o, true)
		err := errors.Join(s.event(begun), s.event(chunk("a", false, text("x"))))
		if !errors.Is(err, errPipe) {
			t.Errorf("json %v: event() = %v, want the error of the pipe", o.JSON, err)
		}
	}
}
