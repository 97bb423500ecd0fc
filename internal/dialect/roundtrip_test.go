package dialect_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// client reads the output of a shape's writers, as a client of the shape would, with the
// decoder's own readers of parts.
type client struct {
	shape dialect.Shape
	part  func(dst, part []byte) ([]byte, error)
	// room is set if the shape carries unknown members.
	room bool
}

// clients returns every HTTP dialect except jobs, which have no tasks.
func clients() []client {
	all := []client{
		{dialect.V1, asItIs, true},
		{dialect.V03, dialect.ReadV03Part, true},
		{dialect.V03Proto, dialect.ReadProtoPart, false},
	}
	for _, d := range dialect.Added() {
		all = append(all, client{d.Shape, unwrapped, true})
	}
	return all
}

// tasks reports whether the dialect has tasks where others have messages.
func (c *client) tasks() bool { return dialect.Of(c.shape).Serving.Tasks }

func asItIs(dst, part []byte) ([]byte, error) { return append(dst, part...), nil }

func unwrapped(dst, part []byte) ([]byte, error) { return dialect.UnwrapPart(dst, part), nil }

// v1 returns an object of the shape as one of v1.0.
func (c *client) v1(t *rapid.T, obj []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(obj) {
		switch name {
		case "kind", "final":
			if c.shape == dialect.V03 || c.shape == dialect.V03Proto {
				continue
			}
		case "parts", "content":
			name = "parts"
			v = each(v, func(v []byte) []byte { return c.readPart(t, v) })
		case "status", "message", "artifact", "task", "statusUpdate", "artifactUpdate":
			v = c.v1(t, v)
		case "history", "artifacts", "tasks":
			v = each(v, func(v []byte) []byte { return c.v1(t, v) })
		case "role":
			v = []byte(`"ROLE_` + strings.TrimPrefix(strings.ToUpper(string(v[1:])), "ROLE_"))
		case "state":
			v = stateOfV1(v)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, name), ':'), v...)
	}
	return append(out, '}')
}

func (c *client) readPart(t *rapid.T, v []byte) []byte {
	got, err := c.part(nil, v)
	if err != nil {
		t.Fatalf("%v: part %s: %v", c.shape, v, err)
	}
	return got
}

// stateOfV1 returns the v1.0 name of a state of any dialect.
func stateOfV1(v []byte) []byte {
	s, _ := rawjson.String(v)
	var name strings.Builder
	for i, r := range strings.ReplaceAll(strings.TrimPrefix(s, "TASK_STATE_"), "-", "_") {
		if i > 0 && unicode.IsUpper(r) && s[0] >= 'a' {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(r))
	}
	return []byte(`"TASK_STATE_` + strings.ReplaceAll(name.String(), "CANCELLED", "CANCELED") + `"`)
}

// event returns an event of a stream as a StreamResponse of v1.0.
func (c *client) event(t *rapid.T, ev []byte) []byte {
	read := c.v1(t, ev)
	if c.shape == dialect.V03 || c.tasks() {
		arm := `{"statusUpdate":`
		if bytes.Contains(read, []byte(`"artifact":`)) && !bytes.Contains(read, []byte(`"status":{"state"`)) {
			arm = `{"artifactUpdate":`
		}
		return append(append([]byte(arm), read...), '}')
	}
	return read
}

func each(list []byte, one func(v []byte) []byte) []byte {
	var all [][]byte
	for v := range rawjson.Elements(list) {
		all = append(all, one(v))
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
}

// onEveryClient runs f with random objects for every dialect.
func onEveryClient(t *testing.T, f func(t *rapid.T, c *client)) {
	t.Helper()
	t.Parallel()
	for _, c := range clients() {
		t.Run(c.shape.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { f(t, &c) })
		})
	}
}

// stable fails unless the object read has everything that was written, and is written again
// byte for byte.
func stable(t *rapid.T, v1, once, read, twice []byte) {
	if err := rawjson.Check(once, 100); err != nil {
		t.Fatalf("%s is not JSON: %v", once, err)
	}
	if bytes.ContainsAny(once, "\r\n") {
		t.Fatalf("%q has more than one line", once)
	}
	if diff := cmp.Diff(decoded(t, v1), decoded(t, read)); diff != "" {
		t.Fatalf("%s lost something (-want +got):\n%s", once, diff)
	}
	if !bytes.Equal(once, twice) {
		t.Fatalf("written again as %s, want %s", twice, once)
	}
}

// Tasks are written, read back and written again in every dialect without loss and byte for
// byte.
func TestRoundTripOfTasks(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		v1 := anyTask(t, c.room)
		once := c.shape.AppendResult(nil, dialect.GetTask, v1)
		read := c.v1(t, once)
		stable(t, v1, once, read, c.shape.AppendResult(nil, dialect.GetTask, read))
	})
}

// The same for lists, in the dialects that have them.
func TestRoundTripOfLists(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		if c.shape == dialect.V03 || c.shape == dialect.V03Proto {
			return
		}
		v1 := append(append([]byte(`{"tasks":[`), anyTask(t, c.room)...), `],"nextPageToken":"n","pageSize":20,"totalSize":9}`...)
		once := c.shape.AppendResult(nil, dialect.ListTasks, v1)
		read := c.v1(t, once)
		stable(t, v1, once, read, c.shape.AppendResult(nil, dialect.ListTasks, read))
	})
}

// The same for bare messages. Some dialects have none and get a task instead.
func TestRoundTripOfMessages(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		v1 := append(append([]byte(`{"message":`), anyMessage(t, c.room)...), '}')
		once := c.shape.AppendResult(nil, dialect.SendMessage, v1)
		read := c.v1(t, once)
		switch {
		case c.tasks():
			stable(t, read, once, read, c.shape.AppendResult(nil, dialect.GetTask, read))
			return
		case c.shape == dialect.V03:
			read = append(append([]byte(`{"message":`), read...), '}')
		}
		stable(t, v1, once, read, c.shape.AppendResult(nil, dialect.SendMessage, read))
	})
}

// The same for the events of streams.
func TestRoundTripOfEvents(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		v1 := anyUpdate(t, c.room)
		if c.tasks() && bytes.HasPrefix(v1, []byte(`{"artifactUpdate"`)) && !bytes.Contains(v1, []byte(`"append":true`)) {
			// The first chunk of an artifact appends like all others.
			v1 = append(v1[:len(v1)-2], `,"append":true}}`...)
		}
		once := c.shownEvent(v1)
		read := c.event(t, once)
		stable(t, v1, once, read, c.shownEvent(read))
	})
}

// shownEvent returns the event for an update, without the working event that some clients get
// before it and the answer that others get after it.
func (c *client) shownEvent(v1 []byte) []byte {
	events := c.shape.Frames(nil)(v1)
	if dialect.Of(c.shape).Serving.Messages {
		return events[0]
	}
	return events[len(events)-1]
}

// A client can send its own message again as it received it: the decoder reads the same
// message.
func TestRoundTripOfRequests(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		v1 := anyMessageOf(t, "ROLE_USER", anyParts(t, c.room), c.room)
		want, _, err := a2ajson.Message(nil, v1, a2ajson.Options{})
		if err != nil {
			t.Fatalf("%s: %v", v1, err)
		}
		history := append(append([]byte(`{"history":[`), v1...), `]}`...)
		shown := c.shape.AppendResult(nil, dialect.GetTask, history)
		var params []byte
		for name, v := range rawjson.Fields(shown) {
			if name == "history" {
				params = append(append([]byte(`{"message":`), v[1:len(v)-1]...), '}')
			}
		}
		got, err := c.request(dialect.SendMessage, params)
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		// The proto orders the members of a file differently.
		if diff := cmp.Diff(decoded(t, want), decoded(t, got.(*op.Send).Message.Body)); diff != "" {
			t.Fatalf("%s is read as another message (-want +got):\n%s", params, diff)
		}
	})
}

// request reads the params of a call of the shape, as the hub does.
func (c *client) request(o dialect.Operation, params []byte) (any, error) {
	var err error
	if c.shape == dialect.V03Proto {
		params, err = filler.LegacyAt(o, &dialect.LegacyPath{Task: "t", Body: params})
	} else {
		params, err = c.shape.Request(o, params)
	}
	if err != nil {
		return nil, err
	}
	return perform(o, params)
}

// A client can register a push notification config again as it received it, and receives the
// same config back. Some dialects have none.
func TestRoundTripOfPushConfigs(t *testing.T) {
	onEveryClient(t, func(t *rapid.T, c *client) {
		if c.tasks() {
			return
		}
		v1 := anyConfig(t)
		once := c.shape.AppendResult(nil, dialect.CreatePushConfig, v1)
		got, err := c.request(dialect.CreatePushConfig, once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		in := got.(*op.PushConfig)
		read := dialect.AppendPushConfig(nil, &op.ShownPush{TaskID: in.TaskID, ID: in.ID, URL: in.URL, Scheme: in.Scheme})
		stable(t, v1, once, read, c.shape.AppendResult(nil, dialect.CreatePushConfig, read))
	})
}

// A job carries less than a task, but its members are read and written again byte for
// byte, and its parts can be sent again.
func TestRoundTripOfJobs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Jobs may have null for absent members.
		v1 := bytes.ReplaceAll(anyTask(t, true), []byte(`"x-own":null`), []byte(`"x-own":0`))
		once := dialect.AppendJobResult(nil, "j", v1)
		read := readJob(t, once)
		if twice := dialect.AppendJobResult(nil, "j", read); !bytes.Equal(once, twice) {
			t.Fatalf("written again as %s, want %s", twice, once)
		}
	})
}

// readJob returns the v1.0 task of a job's result.
func readJob(t *rapid.T, result []byte) []byte {
	c := client{dialect.Job, readJobPart, true}
	out, status := []byte(`{"id":"t"`), []byte(`{"state":""`)
	for name, v := range rawjson.Fields(result) {
		switch name {
		case "contextId":
			out = append(append(out, `,"contextId":`...), v...)
		case "state":
			names := [...]string{"SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED", "CANCELED"}
			status = []byte(`{"state":"TASK_STATE_` + names[v[0]-'0'] + `"`)
		case "artifacts":
			out = append(append(out, `,"artifacts":`...), each(v, func(v []byte) []byte { return c.v1(t, v) })...)
		case "message":
			status = append(append(status, `,"message":`...), c.v1(t, withMetadata(v, dialect.Untexted))...)
		}
	}
	return append(append(append(out, `,"status":`...), status...), "}}"...)
}

// withMetadata returns an object with f applied to its metadata.
func withMetadata(obj []byte, f func([]byte) []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(obj) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if name == "metadata" {
			v = f(v)
		}
		out = append(append(rawjson.AppendString(out, name), ':'), v...)
	}
	return append(out, '}')
}

// readJobPart reads a part of a result as one of a request.
func readJobPart(dst, part []byte) ([]byte, error) {
	read, err := dialect.ReadJobPart(nil, part)
	read = bytes.Replace(read, []byte(`"mimeType":`), []byte(`"mediaType":`), 1)
	return dialect.UnwrapPart(dst, read), err
}

// The v1.0 form of a task suffices to rebuild its log. The rebuilt task is written byte for
// byte the same over JSON-RPC and HTTP+JSON.
func TestRoundTripOfTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v1 := anyTask(t, true)
		for _, s := range []dialect.Surface{dialect.RPC, dialect.REST} {
			a := logged(t, v1)
			once := dialect.AppendTask(nil, &a, s)
			if diff := cmp.Diff(shownOn(s, decoded(t, v1)), decoded(t, once)); diff != "" {
				t.Fatalf("%s lost something (-want +got):\n%s", once, diff)
			}
			b := logged(t, once)
			if twice := dialect.AppendTask(nil, &b, s); !bytes.Equal(once, twice) {
				t.Fatalf("written again as %s, want %s", twice, once)
			}
		}
	})
}

// shownOn returns a task in the encoding of a surface.
func shownOn(s dialect.Surface, v any) any {
	if o := v.(map[string]any); s == dialect.REST && o["history"] == nil {
		o["history"] = []any{}
	}
	return v
}

// logged returns a task built from entries: its history, its artifacts, and then its status,
// read like those of callers and agents.
func logged(t *rapid.T, v1 []byte) op.Answer {
	h := task.Head{ID: "t", ContextID: "c", Consumed: 100}
	f := new(task.Fold)
	add := func(e task.Entry) {
		e.Version = f.Version + 1
		if err := f.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	var meta []byte
	for name, v := range rawjson.Fields(v1) {
		switch name {
		case "history":
			each(v, func(m []byte) []byte {
				add(task.Entry{Kind: task.Message, Body: canonical(t, a2ajson.Message, m)})
				return m
			})
		case "artifacts":
			each(v, func(a []byte) []byte {
				id := a2a.ArtifactID(strconv.FormatInt(f.Version, 10))
				add(task.Entry{Kind: task.Artifact, ArtifactID: id, Body: canonical(t, a2ajson.Artifact, a)})
				return a
			})
		case "status":
			readStatus(t, &h, v)
		case "metadata":
			meta = v
		}
	}
	add(task.Entry{Kind: task.Status, State: h.State, Body: h.StatusMessage, Meta: meta})
	return op.Answer{Head: h, Fold: f}
}

func readStatus(t *rapid.T, h *task.Head, status []byte) {
	h.StatusAt = task.MillisOf(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	for name, v := range rawjson.Fields(status) {
		switch name {
		case "state":
			s, _ := rawjson.String(v)
			var known bool
			if h.State, known = task.ParseState(s); !known {
				t.Fatalf("no state is called %s", v)
			}
		case "message":
			h.StatusMessage = canonical(t, a2ajson.Message, v)
		}
	}
}

// canonical reads a message or an artifact as the hub does.
func canonical(t *rapid.T, read func(dst, raw []byte, o a2ajson.Options) ([]byte, a2ajson.Facts, error), v []byte) []byte {
	body, _, err := read(nil, v, a2ajson.Options{})
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return body
}
