package testagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message returns a kit's message: an id and a text.
func message(id, words string) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(words))
	m.ID = id
	return m
}

// first returns the context of the first run of a task.
func first(m *a2a.Message) *a2asrv.ExecutorContext {
	return &a2asrv.ExecutorContext{TaskID: "task", ContextID: "context", Message: m}
}

// later returns the context of a run for m in a task that began with opening.
func later(opening, m *a2a.Message) *a2asrv.ExecutorContext {
	ec := first(m)
	ec.StoredTask = &a2a.Task{ID: "task", ContextID: "context", History: []*a2a.Message{opening, m}}
	return ec
}

// play runs the agent and returns its events as text, one per line.
func play(ctx context.Context, t *testing.T, ec *a2asrv.ExecutorContext) []string {
	t.Helper()
	var got []string
	for e, err := range Executor().Execute(ctx, ec) {
		if err != nil {
			t.Fatalf("Execute: %v", err)
		}
		got = append(got, line(t, e))
	}
	return got
}

func line(t *testing.T, e a2a.Event) string {
	t.Helper()
	switch e := e.(type) {
	case *a2a.Message:
		if e.ContextID != "context" || e.TaskID != "" || e.Role != a2a.MessageRoleAgent {
			t.Errorf("the message is %+v, want one of the agent in the context, of no task", e)
		}
		return "message " + part(e.Parts)
	case *a2a.TaskStatusUpdateEvent:
		s := strings.TrimPrefix(string(e.Status.State), "TASK_STATE_")
		if e.TaskID != "task" || e.ContextID != "context" {
			t.Errorf("status of task %q in context %q", e.TaskID, e.ContextID)
		}
		if e.Status.Message != nil {
			s += " " + part(e.Status.Message.Parts)
		}
		return s
	case *a2a.TaskArtifactUpdateEvent:
		how := ""
		if e.Append {
			how += " append"
		}
		if e.LastChunk {
			how += " last"
		}
		return fmt.Sprintf("%s%s %s", e.Artifact.ID, how, part(e.Artifact.Parts))
	}
	t.Fatalf("unknown event %T", e)
	return ""
}

// part returns the only part of a list as text.
func part(parts []*a2a.Part) string {
	if len(parts) != 1 {
		return fmt.Sprintf("%d parts", len(parts))
	}
	p := parts[0]
	var s string
	switch c := p.Content.(type) {
	case a2a.Raw:
		s = fmt.Sprintf("raw %q", c)
	case a2a.URL:
		s = fmt.Sprintf("url %s", c)
	case a2a.Data:
		s = fmt.Sprintf("data %v", c.Value)
	default:
		s = fmt.Sprintf("%q", p.Text())
	}
	if p.Filename+p.MediaType != "" {
		s += fmt.Sprintf(" %s %s", p.Filename, p.MediaType)
	}
	return s
}

// played lists the events that the kits expect for each word, and their duration.
var played = []struct {
	word  string
	at    fieldSet
	takes time.Duration
	want  []string
}{
	{"tck-complete-task", either, 0, []string{`COMPLETED "Hello from TCK"`}},
	{"tck-message-response", either, 0, []string{`message "Direct message response"`}},
	{"tck-input-required", either, 0, []string{"INPUT_REQUIRED"}},
	{"tck-multi-turn", inText, 0, []string{"INPUT_REQUIRED"}},
	{"tck-auth-required", either, 0, []string{`AUTH_REQUIRED "Authorization is needed to continue"`}},
	{"tck-reject-task", either, 0, []string{`REJECTED "rejected"`}},
	{"tck-task-failure", inText, 0, []string{"WORKING", `FAILED "The task failed, as requested"`}},
	{"tck-artifact-text", either, 0, []string{`output last "Generated text content"`, "COMPLETED"}},
	{"tck-artifact-file", either, 0, []string{`output last raw "file content\n" output.txt text/plain`, "COMPLETED"}},
	{"tck-artifact-file-url", either, 0, []string{"output last url https://example.com/output.txt output.txt text/plain", "COMPLETED"}},
	{"tck-artifact-data", either, 0, []string{"output last data map[count:42 key:value]", "COMPLETED"}},
	{"tck-stream-001", inID, 0, []string{"WORKING", `output last "Stream hello from TCK"`, "COMPLETED"}},
	{"tck-stream-002", inID, 0, []string{"COMPLETED"}},
	{"tck-stream-003", inID, 0, []string{"WORKING", `output last "Stream task lifecycle"`, "COMPLETED"}},
	{"tck-stream-ordering-001", inID, 0, []string{"WORKING", `output last "Ordered output"`, "COMPLETED"}},
	{"tck-stream-artifact-text", inID, 0, []string{"WORKING", `output last "Streamed text content"`, "COMPLETED"}},
	{"tck-stream-artifact-file", inID, 0, []string{"WORKING", `output last raw "file content\n" output.txt text/plain`, "COMPLETED"}},
	{"tck-stream-artifact-chunked", inID, 0, []string{"WORKING", `output "chunk-1 "`, `output append last "chunk-2"`, "COMPLETED"}},
	{"tck-stream-basic", inText, 0, []string{"WORKING", `output last "Streamed content"`, "COMPLETED"}},
	{"tck-stream-chunked", inText, 0, []string{"WORKING", `output "chunk-1 "`, `output append "chunk-2"`, `output append last " chunk-3"`, "COMPLETED"}},
	{"tck-delayed-complete", inID, 2 * time.Second, []string{"WORKING", `COMPLETED "Done after delay"`}},
	{"tck-long-running", inText, 5 * time.Second, []string{"WORKING", `output last "Done at last"`, "COMPLETED"}},
	{"test-", inID, 0, []string{"INPUT_REQUIRED"}},
	{"test-resubscribe-message-id", inID, 5 * time.Second, []string{"WORKING", "COMPLETED"}},
	{"tck-cancel", inText, time.Hour, []string{"WORKING"}}, // until the test cancels it
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, tt := range played {
		for at, m := range map[fieldSet]*a2a.Message{
			inID:   message(tt.word+"-4711", "hello"),
			inText: message("m-4711", tt.word+" please"),
		} {
			if tt.at&at == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", tt.word, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					begin := time.Now()
					got := play(ctx, t, first(m))
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("events mismatch (-want +got):\n%s", diff)
					}
					if took := time.Since(begin); took != tt.takes {
						t.Errorf("took %v, want %v", took, tt.takes)
					}
				})
			})
		}
	}
}

// Every scenario of the table is tested, at the same places.
func TestAllScenariosAreTested(t *testing.T) {
	t.Parallel()
	type row struct {
		Word string
		At   fieldSet
	}
	var want, got []row
	for _, sc := range scenarios {
		want = append(want, row{sc.word, sc.at})
	}
	for _, tt := range played {
		got = append(got, row{tt.word, tt.at})
	}
	less := func(a, b row) int { return strings.Compare(a.Word, b.Word) }
	slices.SortFunc(want, less)
	slices.SortFunc(got, less)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenarios (-table +test):\n%s", diff)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	const hello, asked = `COMPLETED "Hello from TCK"`, "INPUT_REQUIRED"
	multi := message("m-1", "tck-multi-turn start")
	input := message("tck-input-required-1", "hello")
	data := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"text": "tck-reject-task"}), a2a.NewTextPart("tck-reject-task"))
	for name, tt := range map[string]struct {
		ec   *a2asrv.ExecutorContext
		want string
	}{
		"no word":                              {first(message("m", "hello")), hello},
		"no message":                           {first(nil), hello},
		"no parts":                             {first(&a2a.Message{ID: "m", Role: a2a.MessageRoleUser}), hello},
		"a word within":                        {first(message("my-tck-reject-task", "please tck-reject-task")), hello},
		"the first part counts":                {first(data), hello},
		"the id before the text":               {first(message("tck-complete-task-1", "tck-reject-task")), hello},
		"a word of texts in an id":             {first(message("tck-cancel-task-1", "hello")), hello},
		"a word of ids in a text":              {first(message("m", "tck-stream-001")), hello},
		"an answer":                            {later(input, message("m", "Oslo")), hello},
		"the same word again":                  {later(input, message("tck-input-required-1", "Oslo")), asked},
		"another word":                         {later(input, message("tck-complete-task-1", "Oslo")), hello},
		"after authorization":                  {later(message("tck-auth-required-1", "x"), message("m", "continue")), hello},
		"a conversation continues":             {later(multi, message("m", "Oslo")), asked},
		"a conversation continues by its word": {later(multi, message("m", "tck-multi-turn second")), asked},
		"a conversation is done":               {later(multi, message("m", " done\n")), hello},
		"a conversation is ended by an id":     {later(multi, message("tck-complete-task-1", "Oslo")), hello},
		"done in a conversation with itself":   {first(message("m", "done")), hello},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tt.want}, play(t.Context(), t, tt.ec)); diff != "" {
				t.Errorf("events mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// The opening is a message of the caller, not of an agent.
func TestOpeningIsTheCallers(t *testing.T) {
	t.Parallel()
	ec := later(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("tck-multi-turn")), message("m", "hello"))
	if got := play(t.Context(), t, ec); len(got) != 1 || !strings.HasPrefix(got[0], "COMPLETED") {
		t.Errorf("events = %q, want the task completed", got)
	}
}

// Runs share no events, because receivers may change the parts.
func TestPartsAreNew(t *testing.T) {
	t.Parallel()
	artifact := func() *a2a.Part {
		for e, err := range Executor().Execute(t.Context(), first(message("tck-artifact-file-1", "x"))) {
			if a, ok := e.(*a2a.TaskArtifactUpdateEvent); err == nil && ok {
				return a.Artifact.Parts[0]
			}
		}
		t.Fatal("there is no artifact")
		return nil
	}
	one := artifact()
	one.Filename = "changed"
	if two := artifact(); two.Filename != "output.txt" {
		t.Errorf("the file of the next run is called %q", two.Filename)
	}
}

// A reader that stops gets no more events.
func TestStops(t *testing.T) {
	t.Parallel()
	n := 0
	for range Executor().Execute(t.Context(), first(message("tck-stream-artifact-chunked-1", "x"))) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestCancelConfirms(t *testing.T) {
	t.Parallel()
	var got []string
	for e, err := range Executor().Cancel(t.Context(), first(nil)) {
		if err != nil {
			t.Fatalf("Cancel: %v", err)
		}
		got = append(got, line(t, e))
	}
	if diff := cmp.Diff([]string{"CANCELED"}, got); diff != "" {
		t.Errorf("events mismatch (-want +got):\n%s", diff)
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	c := Card()
	if c.Name != string(Name) || len(c.Skills) != 1 || c.Skills[0].ID != string(Name) {
		t.Errorf("the card is that of %q with the skills %+v", c.Name, c.Skills)
	}
	if !slices.Contains(c.DefaultInputModes, "*/*") {
		t.Errorf("the agent takes %q only", c.DefaultInputModes)
	}
	if c.Capabilities.ExtendedAgentCard || len(c.Capabilities.Extensions) > 0 {
		t.Errorf("the card declares %+v, want neither an extended card nor extensions", c.Capabilities)
	}
	for _, word := range c.Skills[0].Examples {
		if find(inText, word) == nil {
			t.Errorf("the example %q is no word of the agent", word)
		}
	}
}
