package builtin_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
)

func TestClock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		part *a2a.Part
		want map[string]any
	}{
		{"question", a2a.NewTextPart("what time is it?"), map[string]any{"time": "2000-01-01T00:00:00Z", "unix": int64(946684800), "zone": "UTC"}},
		{"slash in a question", a2a.NewTextPart("time in Rome/Paris?"), map[string]any{"time": "2000-01-01T00:00:00Z", "unix": int64(946684800), "zone": "UTC"}},
		{"zone as text", a2a.NewTextPart(" Etc/GMT-2 "), map[string]any{"time": "2000-01-01T02:00:00+02:00", "unix": int64(946684800), "zone": "Etc/GMT-2"}},
		{"zone as data", a2a.NewDataPart(map[string]any{"zone": "Etc/GMT+1"}), map[string]any{"time": "1999-12-31T23:00:00-01:00", "unix": int64(946684800), "zone": "Etc/GMT+1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				events := run(t, "clock", asking(tt.part))
				all := artifacts(t, events)
				if diff := cmp.Diff(tt.want, all[0].Parts[0].Data()); diff != "" {
					t.Errorf("data mismatch (-want +got):\n%s", diff)
				}
				if got := all[0].Parts[0].MediaType; got != "application/json" {
					t.Errorf("media type = %q, want application/json", got)
				}
				final(t, events, a2a.TaskStateCompleted)
				if got := all[0].Parts[1].Text(); got != tt.want["time"] {
					t.Errorf("text = %q, want %q", got, tt.want["time"])
				}
			})
		})
	}
}

func TestClockRejectsUnknownZones(t *testing.T) {
	t.Parallel()
	long := "Nowhere/" + strings.Repeat("x", 1000)
	for _, part := range []*a2a.Part{
		a2a.NewTextPart("Nowhere/Land"),
		a2a.NewTextPart("../../etc/passwd"),
		a2a.NewDataPart(map[string]any{"zone": long}),
	} {
		events := run(t, "clock", asking(part))
		text := final(t, events, a2a.TaskStateRejected).Status.Message.Parts[0].Text()
		if !strings.HasPrefix(text, "unknown time zone ") || len(text) > 120 {
			t.Errorf("rejection = %q, want a short one that names the zone", text)
		}
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		takes time.Duration
		says  []string
	}{
		{"0", 0, []string{"0 s of 0 s", "worked for 0 s"}},
		{"work for 2 seconds.", 2 * time.Second, []string{"0 s of 2 s", "1 s of 2 s", "2 s of 2 s", "worked for 2 s"}},
		{"1.5", 1500 * time.Millisecond, []string{"0 s of 1.5 s", "1 s of 1.5 s", "1.5 s of 1.5 s", "worked for 1.5 s"}},
		{"500ms", 500 * time.Millisecond, []string{"0 s of 0.5 s", "0.5 s of 0.5 s", "worked for 0.5 s"}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				events := run(t, "slow", asking(a2a.NewTextPart(tt.text)))
				if took := time.Since(begin); took != tt.takes {
					t.Errorf("took %v, want %v", took, tt.takes)
				}
				var says []string
				for _, e := range events {
					if s, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
						says = append(says, agent.Text(s.Status.Message))
					}
				}
				says[len(says)-1] = artifacts(t, events)[0].Parts[0].Text()
				if diff := cmp.Diff(tt.says, says); diff != "" {
					t.Errorf("messages mismatch (-want +got):\n%s", diff)
				}
				final(t, events, a2a.TaskStateCompleted)
			})
		})
	}
}

func TestSlowDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		run(t, "slow", asking(a2a.NewTextPart("take your time")))
		if took, want := time.Since(begin), 5*time.Second; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

func TestSlowRejects(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"-1", "3601", "2h", "-5s", "inf", "NaN", "1e300"} {
		output := final(t, run(t, "slow", asking(a2a.NewTextPart(text))), a2a.TaskStateRejected)
		if got, want := output.Status.Message.Parts[0].Text(), "the time to work must be between 0 s and 1h0m0s"; got != want {
			t.Errorf("slow %q says %q, want %q", text, got, want)
		}
	}
}

// A canceled context ends the run immediately, not at the next step.
func TestSlowStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("canceled by a person")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1300*time.Millisecond, func() { cancel(cause) })
		begin := time.Now()
		var last error
		for _, err := range find(t, "slow").Executor.Execute(ctx, asking(a2a.NewTextPart("60"))) {
			last = err
		}
		if took := time.Since(begin); took != 1300*time.Millisecond {
			t.Errorf("stopped after %v, want 1.3s", took)
		}
		if !errors.Is(last, cause) {
			t.Errorf("last error = %v, want %v", last, cause)
		}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	events := run(t, "report", asking(a2a.NewTextPart("one three|pipe größe")))
	all := artifacts(t, events)
	if len(all) != 2 {
		t.Fatalf("%d artifacts, want 2", len(all))
	}
	want := "# Report\n\nThe message has 3 words.\n\n| Word | Letters |\n|---|---|\n| one | 3 |\n| three\\|pipe | 10 |\n| größe | 5 |\n"
	if diff := cmp.Diff(want, all[0].Parts[0].Text()); diff != "" {
		t.Errorf("report mismatch (-want +got):\n%s", diff)
	}
	if got := all[0].Parts[0].MediaType; got != "text/markdown" {
		t.Errorf("media type of the report = %q", got)
	}
	if got := all[1].Parts[0].MediaType; got != "image/png" {
		t.Errorf("media type of the chart = %q", got)
	}
	img, err := png.Decode(bytes.NewReader(all[1].Parts[0].Raw()))
	if err != nil {
		t.Fatalf("decode chart: %v", err)
	}
	if got, want := img.Bounds().Dx(), 4+3*16; got != want {
		t.Errorf("chart is %d wide, want %d", got, want)
	}
	for _, a := range all {
		if a.Name == "" || a.Description == "" {
			t.Errorf("artifact %q has no name or description", a.ID)
		}
	}
	final(t, events, a2a.TaskStateCompleted)
}

func TestReportBoundsItsWords(t *testing.T) {
	t.Parallel()
	all := artifacts(t, run(t, "report", asking(a2a.NewTextPart(strings.Repeat("word ", 5000)))))
	text := all[0].Parts[0].Text()
	if !strings.Contains(text, "has 5000 words") || strings.Count(text, "| word |") != 24 {
		t.Errorf("report counts wrong:\n%s", text)
	}
}

// talk performs an interview: each turn is a new run with the history so far.
func talk(t *testing.T, opening *a2a.Message, answers ...*a2a.Message) ([]string, []a2a.Event) {
	t.Helper()
	var asked []string
	history := []*a2a.Message{}
	var events []a2a.Event
	for i, m := range append([]*a2a.Message{opening}, answers...) {
		history = append(history, m)
		ec := &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1", Message: m}
		if i > 0 {
			ec.StoredTask = &a2a.Task{ID: "task-1", ContextID: "context-1", History: history}
		}
		events = run(t, "interview", ec)
		last := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
		if last.Status.State == a2a.TaskStateInputRequired {
			asked = append(asked, last.Status.Message.Parts[0].Text())
			// Servers move the message of an old status to the history.
			history = append(history, last.Status.Message)
		}
	}
	return asked, events
}

func user(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

func TestInterview(t *testing.T) {
	t.Parallel()
	asked, events := talk(t, user("hello"), user("Ada"), user("an engine"))
	if len(asked) != 2 {
		t.Fatalf("asked %q, want two questions", asked)
	}
	final(t, events, a2a.TaskStateCompleted)
	all := artifacts(t, events)
	want := map[string]any{"answers": []any{
		map[string]any{"question": asked[0], "answer": "Ada"},
		map[string]any{"question": asked[1], "answer": "an engine"},
	}}
	if diff := cmp.Diff(want, all[0].Parts[1].Data()); diff != "" {
		t.Errorf("answers mismatch (-want +got):\n%s", diff)
	}
	text := asked[0] + "\nAda\n" + asked[1] + "\nan engine\n"
	if got := all[0].Parts[0].Text(); got != text {
		t.Errorf("text = %q, want %q", got, text)
	}
}

func TestInterviewCountsQuestions(t *testing.T) {
	t.Parallel()
	meta := func(v any) *a2a.Message {
		m := user("hello")
		m.Metadata = map[string]any{"questions": v}
		return m
	}
	data := func(v any) *a2a.Message {
		return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"questions": v}))
	}
	for _, tt := range []struct {
		name    string
		opening *a2a.Message
		want    int // 0 means that the interview is rejected
	}{
		{"default", user("hello"), 2},
		{"text", user("please Ask 3, now"), 3},
		{"text without a number", user("ask me"), 2},
		{"ask at the end", user("you may ask"), 2},
		{"metadata", meta(1.0), 1},
		{"metadata as text", meta("4"), 4},
		{"metadata wins over text", func() *a2a.Message {
			m := meta(1.0)
			m.Parts[0] = a2a.NewTextPart("ask 3")
			return m
		}(), 1},
		{"data", data(3.0), 3},
		{"most", meta(20.0), 20},
		{"too many", meta(21.0), 0},
		{"none", user("ask 0"), 0},
		{"negative", meta(-1.0), 0},
		{"half", meta(1.5), 0},
		{"huge", data(1e300), 0},
		{"not a number", meta(true), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answers := make([]*a2a.Message, max(1, tt.want))
			for i := range answers {
				answers[i] = user("an answer")
			}
			if tt.want == 0 {
				_, events := talk(t, tt.opening)
				final(t, events, a2a.TaskStateRejected)
				return
			}
			asked, events := talk(t, tt.opening, answers...)
			if len(asked) != tt.want {
				t.Errorf("asked %d questions, want %d", len(asked), tt.want)
			}
			seen := map[string]bool{}
			for _, q := range asked {
				if seen[q] {
					t.Errorf("asked %q twice", q)
				}
				seen[q] = true
			}
			final(t, events, a2a.TaskStateCompleted)
		})
	}
}

// Equal ids of all messages, and messages that arrived while the run waited, do not change the
// count.
func TestInterviewContinues(t *testing.T) {
	t.Parallel()
	same := func(text string) *a2a.Message {
		m := user(text)
		m.ID = "same"
		return m
	}
	asked, events := talk(t, same("hello"), same("Ada"), same("an engine"))
	if len(asked) != 2 {
		t.Errorf("asked %d questions, want 2", len(asked))
	}
	final(t, events, a2a.TaskStateCompleted)

	opening, first, early := user("hello"), user("Ada"), user("too early")
	ec := &a2asrv.ExecutorContext{
		TaskID: "task-1", ContextID: "context-1", Message: first,
		StoredTask: &a2a.Task{History: []*a2a.Message{opening, first, early}},
	}
	final(t, run(t, "interview", ec), a2a.TaskStateInputRequired)

	// The history does not contain the message of this run yet.
	ec.StoredTask.History = []*a2a.Message{opening}
	final(t, run(t, "interview", ec), a2a.TaskStateInputRequired)
}

func TestInterviewTakesOtherAnswers(t *testing.T) {
	t.Parallel()
	file := a2a.NewRawPart([]byte("abc"))
	file.Filename = "cv.pdf"
	_, events := talk(t, user("ask 4"),
		a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"name": "Ada"})),
		a2a.NewMessage(a2a.MessageRoleUser, file),
		a2a.NewMessage(a2a.MessageRoleUser, a2a.NewFileURLPart("https://example.com/x", "")),
		a2a.NewMessage(a2a.MessageRoleUser),
	)
	data := artifacts(t, events)[0].Parts[1].Data().(map[string]any)["answers"].([]any)
	var got []any
	for _, a := range data {
		got = append(got, a.(map[string]any)["answer"])
	}
	want := []any{`{"name":"Ada"}`, "cv.pdf (3 bytes)", "https://example.com/x", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers mismatch (-want +got):\n%s", diff)
	}
}
