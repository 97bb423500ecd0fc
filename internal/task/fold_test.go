package task_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

func TestFoldHistory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		es   []task.Entry
		want []string
	}{
		{"first message", []task.Entry{created(hello)}, []string{hello}},
		{"current status", []task.Entry{created(hello), status(task.InputRequired, question)}, []string{hello}},
		{
			"superseded status",
			[]task.Entry{created(hello), status(task.InputRequired, question), status(task.Working, "")},
			[]string{hello, question},
		},
		{
			"answer while the question is current",
			[]task.Entry{created(hello), status(task.InputRequired, question), followUp(answer)},
			[]string{hello, answer},
		},
		{
			"answer behind the question",
			[]task.Entry{created(hello), status(task.InputRequired, question), followUp(answer), status(task.Completed, done)},
			[]string{hello, question, answer},
		},
		{
			"the same status message again",
			[]task.Entry{created(hello), status(task.Working, done), status(task.Working, done), status(task.Completed, done)},
			[]string{hello},
		},
		{
			"the same status message behind an answer",
			[]task.Entry{
				created(hello), status(task.InputRequired, question), followUp(answer),
				status(task.InputRequired, question), status(task.Working, ""),
			},
			[]string{hello, answer, question},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, f, _ := buildTask(t, tt.es...)
			h.Consumed = h.LastMessage
			want := "[" + strings.Join(tt.want, ",") + "]"
			if diff := cmp.Diff(want, string(f.AppendHistory(nil, &h, nil))); diff != "" {
				t.Errorf("history mismatch (-want +got):\n%s", diff)
			}
			if got := f.Messages(); got != len(tt.want) {
				t.Errorf("Messages() = %d, want %d", got, len(tt.want))
			}
		})
	}
}

func TestFoldArtifacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		es   []task.Entry
		want string
	}{
		{"none", nil, `[]`},
		{
			"unknown fields and digits stay",
			[]task.Entry{whole("a", `{"artifactId":"a","x-n":1.10,"parts":[{"data":{"big":12345678901234567890},"x":[]}],"y":null}`)},
			`[{"artifactId":"a","x-n":1.10,"y":null,"parts":[{"data":{"big":12345678901234567890},"x":[]}]}]`,
		},
		{
			"chunks append",
			[]task.Entry{
				chunk("a", `{"artifactId":"a","name":"n","parts":[{"text":"1"}],"metadata":{"k":1,"l":2}}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"2"},{"text":"3"}],"metadata":{"l":3,"m":4}}`),
				chunk("a", `{"artifactId":"a","description":"d","parts":[]}`),
			},
			`[{"artifactId":"a","name":"n","description":"d","parts":[{"text":"12"},{"text":"3"}],"metadata":{"k":1,"l":3,"m":4}}]`,
		},
		{
			"adjacent text of one media type is one part",
			[]task.Entry{
				chunk("a", `{"artifactId":"a","parts":[{"text":"a\"\\"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":""}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"\u00e9"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"mediaType":"text/markdown","text":"# b"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"\n","mediaType":"text/markdown"},{"data":1}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"c"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"d","metadata":{"k":1}}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"e","metadata":{"k":1}}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"f","filename":"f"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"g"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"h"}]}`),
			},
			`[{"artifactId":"a","parts":[{"text":"a\"\\\u00e9"},{"text":"# b\n","mediaType":"text/markdown"},{"data":1},{"text":"c"},` +
				`{"text":"d","metadata":{"k":1}},{"text":"e","metadata":{"k":1}},{"text":"f","filename":"f"},{"text":"gh"}]}]`,
		},
		{
			"a chunk may rename",
			[]task.Entry{
				chunk("a", `{"artifactId":"a","name":"old","description":"d","parts":[]}`),
				chunk("a", `{"artifactId":"a","name":"new","parts":[{"text":"1"}]}`),
			},
			`[{"artifactId":"a","name":"new","description":"d","parts":[{"text":"1"}]}]`,
		},
		{
			"a whole artifact replaces, in its place",
			[]task.Entry{
				whole("a", `{"artifactId":"a","name":"n","parts":[{"text":"old"}],"metadata":{"k":1}}`),
				whole("b", `{"artifactId":"b","parts":[{"text":"b"}]}`),
				whole("a", `{"artifactId":"a","parts":[{"text":"new"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"er"}]}`),
			},
			`[{"artifactId":"a","parts":[{"text":"newer"}]},{"artifactId":"b","parts":[{"text":"b"}]}]`,
		},
		{
			"names that need escapes",
			[]task.Entry{whole("a", `{"artifactId":"a\"","\u0061\n":1,"parts":[],"metadata":{"\"":2}}`)},
			`[{"artifactId":"a\"","a\n":1,"parts":[],"metadata":{"\"":2}}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, f, _ := buildTask(t, append([]task.Entry{created(hello)}, tt.es...)...)
			if diff := cmp.Diff(tt.want, string(f.AppendArtifacts(nil))); diff != "" {
				t.Errorf("artifacts mismatch (-want +got):\n%s", diff)
			}
			if got, want := f.Artifacts(), strings.Count(tt.want, "artifactId"); got != want {
				t.Errorf("Artifacts() = %d, want %d", got, want)
			}
		})
	}
}

// TestFoldManyMembers exceeds the number of names that are searched linearly.
func TestFoldManyMembers(t *testing.T) {
	t.Parallel()
	es := []task.Entry{created(hello)}
	want := map[string]any{}
	for i := range 100 {
		e := status(task.Working, "")
		key := fmt.Sprint("k", i%40)
		e.Meta = fmt.Appendf(nil, `{"%s":%d}`, key, i)
		want[key] = float64(i)
		es = append(es, e)
	}
	h, f, _ := buildTask(t, es...)
	got, err := f.A2A(&h)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Metadata); diff != "" {
		t.Errorf("metadata mismatch (-want +got):\n%s", diff)
	}
	again, err := task.DecodeFold(f.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(f.AppendTask(nil, &h, task.TaskOptions{})), string(again.AppendTask(nil, &h, task.TaskOptions{}))); diff != "" {
		t.Errorf("task from a snapshot mismatch (-want +got):\n%s", diff)
	}
}

func TestFoldWantsTheNextVersion(t *testing.T) {
	t.Parallel()
	_, f, es := buildTask(t, created(hello), status(task.Working, ""))
	before := string(f.AppendBinary(nil))
	for _, v := range []int64{0, 1, 2, 4} {
		e := es[1]
		e.Version = v
		if err := f.Add(&e); !errors.Is(err, task.ErrGap) {
			t.Errorf("Add(version %d after 2) = %v, want ErrGap", v, err)
		}
	}
	if got := string(f.AppendBinary(nil)); got != before {
		t.Error("a refused entry changed the fold")
	}
}

func TestReplyText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		es   []task.Entry
		want string
	}{
		{"nothing", nil, ""},
		{"status", []task.Entry{status(task.Completed, done)}, "done"},
		{"no status message", []task.Entry{status(task.Working, done), status(task.Completed, "")}, ""},
		{
			"chunks join, artifacts are lines, data is silent",
			[]task.Entry{
				chunk("a", `{"artifactId":"a","parts":[{"text":"one\n"},{"data":{"text":"no"}}]}`),
				whole("c", `{"artifactId":"c","parts":[{"url":"http://x","filename":"text"}]}`),
				chunk("b", `{"artifactId":"b","parts":[{"mediaType":"text/plain","text":"three"}]}`),
				chunk("a", `{"artifactId":"a","parts":[{"text":"tw\u006f"}]}`),
				status(task.Completed, done),
			},
			"one\ntwo\nthree",
		},
		{
			"artifacts without text",
			[]task.Entry{whole("c", `{"artifactId":"c","parts":[{"raw":"AQI="}]}`), status(task.Completed, done)},
			"done",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, f, _ := buildTask(t, append([]task.Entry{created(hello)}, tt.es...)...)
			if got := f.ReplyText(); got != tt.want {
				t.Errorf("ReplyText() = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestChunksCostTheSame counts allocations: the cost of a chunk must not depend on the number
// of earlier chunks.
func TestChunksCostTheSame(t *testing.T) {
	const n = 20_000
	f := task.Fold{}
	e := chunk("a", `{"artifactId":"a","parts":[{"text":"word"}]}`)
	add := func(n int) {
		for range n {
			e.Version++
			if err := f.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(n)
	if got := testing.AllocsPerRun(1, func() { add(n) }); got > 10 {
		t.Errorf("%d chunks behind %d others allocate %v times, want at most 10", n, n, got)
	}
}

// taskHistory is a random legal life of a task.
type taskHistory struct {
	heads   []task.Head
	entries []task.Entry
}

func anyHistory(t *rapid.T) taskHistory {
	var s taskHistory
	h := head()
	read := rapid.Int64Range(0, 10).Draw(t, "read")
	for i := range rapid.IntRange(1, 25).Draw(t, "length") {
		e := anyPlain(t, i)
		next, stored, err := task.Apply(h, e)
		if err != nil {
			continue
		}
		h = next
		h.Consumed = min(read, h.LastMessage)
		s.heads, s.entries = append(s.heads, h), append(s.entries, stored)
	}
	return s
}

// anyPlain draws an entry with a body that the SDK's types can hold.
func anyPlain(t *rapid.T, i int) task.Entry {
	text := rapid.SampledFrom([]string{"a", "", "q\"\u2028\n", "ünï", "\U0001f600"})
	message := func() []byte {
		m := &a2a.Message{
			ID: fmt.Sprint("m", i), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(text.Draw(t, "text"))},
			Metadata: anyMeta(t),
		}
		return marshal(t, m)
	}
	if i == 0 {
		return task.Entry{Kind: task.Created, State: task.Submitted, At: at(0), Body: message()}
	}
	e := task.Entry{At: at(int64(i))}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		e.Kind, e.Body = task.Message, message()
	case 1, 2:
		e.Kind, e.State = task.Status, rapid.SampledFrom(states).Draw(t, "state")
		if rapid.Bool().Draw(t, "says") {
			e.Body = message()
		}
		if m := anyMeta(t); m != nil {
			e.Meta = marshal(t, m)
		}
		e.Others = anyOthers(t, "frame", "event", "status", "task")
	case 3:
		e.Kind, e.Body = task.Other, []byte(`{"otherUpdate":{"n":9007199254740993}}`)
	default:
		a := &a2a.Artifact{
			ID: a2a.ArtifactID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "artifact")), Metadata: anyMeta(t),
			Name: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "name"), Parts: a2a.ContentParts{},
		}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			a.Parts = append(a.Parts, a2a.NewTextPart(text.Draw(t, "text")), a2a.NewDataPart(map[string]any{"n": 1.5}))
		}
		e.Kind, e.ArtifactID, e.Body = task.Artifact, a.ID, marshal(t, a)
		e.Others = anyOthers(t, "frame", "event")
		e.Append, e.LastChunk = rapid.Bool().Draw(t, "append"), rapid.IntRange(0, 9).Draw(t, "last") == 0
	}
	return e
}

func anyMeta(t *rapid.T) map[string]any {
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"k", "l", "m\""}), 0, 2).Draw(t, "meta")
	var meta map[string]any
	for _, k := range keys {
		if meta == nil {
			meta = map[string]any{}
		}
		meta[k] = rapid.SampledFrom([]any{nil, true, 1.5, "s", []any{}}).Draw(t, "value")
	}
	return meta
}

// anyOthers draws unknown members, for some of the levels.
func anyOthers(t *rapid.T, levels ...string) []byte {
	others := map[string]any{}
	for _, level := range levels {
		if m := anyMeta(t); m != nil {
			others[level] = m
		}
	}
	if len(others) == 0 {
		return nil
	}
	return marshal(t, others)
}

func marshal(t *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reader is a caller that follows a stream with the SDK's types: it receives frames and builds
// the task from them.
type reader struct {
	task *a2a.Task
}

func (r *reader) take(t *rapid.T, frame []byte) {
	if strings.HasPrefix(string(frame), `{"otherUpdate"`) {
		return // the SDK has no type for it
	}
	var sr a2a.StreamResponse
	if err := json.Unmarshal(frame, &sr); err != nil {
		t.Fatalf("the SDK cannot read frame %s: %v", frame, err)
	}
	switch ev := sr.Event.(type) {
	case *a2a.Task:
		r.task = ev
	case *a2a.TaskStatusUpdateEvent:
		if m := r.task.Status.Message; m != nil {
			r.task.History = append(r.task.History, m)
		}
		r.task.Status = ev.Status
		for k, v := range ev.Metadata {
			r.task.SetMeta(k, v)
		}
	case *a2a.TaskArtifactUpdateEvent:
		r.artifact(ev)
	}
}

func (r *reader) artifact(ev *a2a.TaskArtifactUpdateEvent) {
	for i, a := range r.task.Artifacts {
		if a.ID != ev.Artifact.ID {
			continue
		}
		if !ev.Append {
			r.task.Artifacts[i] = ev.Artifact
			return
		}
		a.Parts = append(a.Parts, ev.Artifact.Parts...)
		if ev.Artifact.Name != "" {
			a.Name = ev.Artifact.Name
		}
		if a.Metadata == nil {
			a.Metadata = map[string]any{}
		}
		maps.Copy(a.Metadata, ev.Artifact.Metadata)
		return
	}
	r.task.Artifacts = append(r.task.Artifacts, ev.Artifact)
}

// TestFoldAgreesWithReaders compares the folded task with the task that a caller builds from
// the frames of the same entries, at every version.
func TestFoldAgreesWithReaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyHistory(t)
		var r reader
		var f task.Fold
		for i := range s.entries {
			e, h := &s.entries[i], s.heads[i]
			if err := f.Add(e); err != nil {
				t.Fatal(err)
			}
			h.Consumed = h.LastMessage
			if frame := task.AppendFrame(nil, &h, e); len(frame) > 0 {
				r.take(t, frame)
			}
			got, err := f.A2A(&h)
			if err != nil {
				t.Fatal(err)
			}
			// Messages of the caller have no frames, so the history is not compared.
			opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(a2a.Task{}, "History")}
			if diff := cmp.Diff(r.task, got, opts); diff != "" {
				t.Fatalf("at version %d (-reader +fold):\n%s", e.Version, diff)
			}
		}
	})
}

// TestFoldIsJSON wants every rendering to be one line of valid JSON, and A2A to return the same
// as the SDK's decoder.
func TestFoldIsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyHistory(t)
		f := folded(t, nil, s.entries)
		h := s.heads[len(s.heads)-1]
		for _, n := range []*int{nil, ptr(0), ptr(1), ptr(3)} {
			b := f.AppendTask(nil, &h, task.TaskOptions{History: n, Artifacts: true})
			if err := rawjson.Check(b, 100); err != nil || strings.ContainsAny(string(b), "\r\n") {
				t.Fatalf("AppendTask = %s: %v", b, err)
			}
			var got a2a.Task
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("the SDK cannot read %s: %v", b, err)
			}
			if n != nil && len(got.History) != min(*n, f.Messages()) {
				t.Fatalf("history of %d has %d messages of %d", *n, len(got.History), f.Messages())
			}
			if n == nil {
				want, err := f.A2A(&h)
				if diff := cmp.Diff(want, &got); err != nil || diff != "" {
					t.Fatalf("A2A = %v, mismatch (-A2A +SDK):\n%s", err, diff)
				}
			}
		}
	})
}

func folded(t *rapid.T, f *task.Fold, es []task.Entry) *task.Fold {
	if f == nil {
		f = &task.Fold{}
	}
	for i := range es {
		if err := f.Add(&es[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestFoldFromSnapshot wants the same task from every starting point.
func TestFoldFromSnapshot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyHistory(t)
		h := s.heads[len(s.heads)-1]
		o := task.TaskOptions{Artifacts: true}
		want := string(folded(t, nil, s.entries).AppendTask(nil, &h, o))
		for cut := range s.entries {
			f, err := task.DecodeFold(folded(t, nil, s.entries[:cut]).AppendBinary(nil))
			if err != nil {
				t.Fatalf("DecodeFold at version %d = %v", cut, err)
			}
			if f.Version != int64(cut) {
				t.Fatalf("snapshot at version %d says %d", cut, f.Version)
			}
			got := string(folded(t, f, s.entries[cut:]).AppendTask(nil, &h, o))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("from a snapshot at version %d (-start +snapshot):\n%s", cut, diff)
			}
		}
	})
}

// TestFoldManyArtifacts adds chunks to artifacts in turn, from few to many.
func TestFoldManyArtifacts(t *testing.T) {
	t.Parallel()
	const n = 30
	var f task.Fold
	v := int64(0)
	for range 2 {
		for i := range n {
			id := a2a.ArtifactID(fmt.Sprint("a", i))
			v++
			e := task.Entry{
				Version: v, Kind: task.Artifact, ArtifactID: id, Append: true,
				Body: fmt.Appendf(nil, `{"artifactId":%q,"parts":[{"text":"%d "}]}`, id, i),
			}
			if err := f.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f.Artifacts() != n {
		t.Fatalf("%d artifacts, want %d", f.Artifacts(), n)
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%d %d ", i, i))
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), f.ReplyText()); diff != "" {
		t.Errorf("texts of the artifacts mismatch (-want +got):\n%s", diff)
	}
}

// TestFoldSize: the size is that of the task, not of its log.
func TestFoldSize(t *testing.T) {
	t.Parallel()
	var f task.Fold
	h := task.Head{ID: "t", State: task.Working}
	large := strings.Repeat("x", 10_000)
	for i, e := range []task.Entry{
		{Kind: task.Created, State: task.Submitted, Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + large + `"}]}`)},
		{Kind: task.Other, Body: []byte(`{"unknown":"` + large + `"}`)},
		{Kind: task.Artifact, ArtifactID: "a", Body: []byte(`{"artifactId":"a","name":"n","parts":[{"text":"` + large + `"}],"metadata":{"k":1}}`)},
		{Kind: task.Artifact, ArtifactID: "a", Body: []byte(`{"artifactId":"a","parts":[{"text":"` + large + `"}]}`)},
		{Kind: task.Artifact, ArtifactID: "a", Append: true, Body: []byte(`{"artifactId":"a","parts":[{"text":"` + large + `"}]}`)},
		{Kind: task.Status, State: task.Working, Meta: []byte(`{"s":"` + large + `"}`), Others: []byte(`{"task":{"o":"` + large + `"}}`)},
	} {
		e.Version = int64(i + 1)
		if err := f.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	got, want := f.Size(), len(f.AppendTask(nil, &h, task.TaskOptions{Artifacts: true}))
	if want < 50_000 || want > 51_000 || got < want-200 || got > want+200 {
		t.Errorf("Size = %d, and the task has %d bytes as JSON", got, want)
	}
}

// TestAnswerOfTheLastTurn checks that the message with the answer has the artifacts since the last
// message of the caller, also from a snapshot at any version, and all of them if there are none.
func TestAnswerOfTheLastTurn(t *testing.T) {
	t.Parallel()
	part := func(id, text string) string { return `{"artifactId":"` + id + `","parts":[{"text":"` + text + `"}]}` }
	es := []task.Entry{
		created(hello), whole("q", part("q", "which?")), status(task.InputRequired, ""), followUp(hello),
		whole("a", part("a", "1")), chunk("a", part("a", "2")), whole("b", part("b", "3")), status(task.Completed, ""),
	}
	h, built, es := buildTask(t, es...)
	const want = `"role":"ROLE_AGENT","parts":[{"text":"12"},{"text":"3"}]}`
	answer := task.TaskOptions{Artifacts: true, Answer: true}
	if got := string(built.AppendTask(nil, &h, answer)); !strings.Contains(got, want) {
		t.Errorf("task = %s, want a message with %s", got, want)
	}
	for at := range es {
		f := new(task.Fold)
		for i := range es {
			if err := f.Add(&es[i]); err != nil {
				t.Fatal(err)
			}
			if i == at {
				var err error
				if f, err = task.DecodeFold(f.AppendBinary(nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := string(f.AppendTask(nil, &h, answer)); !strings.Contains(got, want) {
			t.Errorf("with a snapshot at %d the task is %s, want a message with %s", at, got, want)
		}
	}
	if got := string(built.AppendTask(nil, &h, task.TaskOptions{Artifacts: true})); strings.Contains(got, `"message"`) {
		t.Errorf("without the option the task is %s", got)
	}
}
