package dialect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

var dec = new(dialect.Decoder)

// check compares the result of a decoder with want.
func check[T any](t *testing.T, name string, want *T, got *T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", name, diff)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	want := &op.Get{Target: op.Target{Tenant: "a"}, ID: "t", HistoryLength: ptr(2)}
	got, err := dec.Get([]byte(`{"tenant":"a","id":"t","history_length":2}`))
	check(t, "Get", want, got, err)
	got, err = dec.GetAt("t", "tenant=a&historyLength=2&unknown=1&unknown=2&A2A-Version=1.0")
	check(t, "GetAt", want, got, err)
	got, err = dec.GetAt("t", "")
	check(t, "GetAt without query", &op.Get{ID: "t"}, got, err)

	refused := []struct{ params, query, field, problem string }{
		{params: ``, field: "id", problem: "required"},
		{params: `{"id":""}`, field: "id", problem: "required"},
		{params: `{"id":5}`, field: "id", problem: "string"},
		{params: `{"id":"t","historyLength":-1}`, field: "historyLength", problem: "negative"},
		{query: "historyLength=-1", field: "historyLength", problem: "negative"},
		{query: "history_length=x", field: "history_length", problem: "integer"},
		{query: "historyLength=", field: "historyLength", problem: "integer"},
		{query: "historyLength=1&historyLength=1", field: "historyLength", problem: "twice"},
		{query: "historyLength=1&history_length=1", field: "history_length", problem: "twice"},
		{query: "id=other", field: "id", problem: "path"},
	}
	for _, tc := range refused {
		var err error
		if tc.query != "" {
			_, err = dec.GetAt("t", tc.query)
		} else {
			_, err = dec.Get([]byte(tc.params))
		}
		wantField(t, err, tc.field, tc.problem)
	}
	for _, query := range []string{"historyLength=%zz", "a=1;b=2"} {
		if _, err := dec.GetAt("t", query); !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "query") {
			t.Errorf("GetAt with the query %q = %v", query, err)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	want := &op.Cancel{Target: op.Target{Tenant: "a"}, ID: "t", Metadata: []byte(`{"k":1}`)}
	got, err := dec.Cancel([]byte(`{"id":"t","agent_id":"a","metadata":{"k": 1}}`))
	check(t, "Cancel", want, got, err)
	got, err = dec.CancelAt("t", []byte(`{"tenant":"a","metadata":{"k":1}}`))
	check(t, "CancelAt", want, got, err)
	for _, body := range []string{"", " \n", "{}", "null", " null\n"} {
		got, err = dec.CancelAt("t", []byte(body))
		check(t, "CancelAt without body", &op.Cancel{ID: "t"}, got, err)
	}
	_, err = dec.CancelAt("t", []byte(`{"id":"u"}`))
	wantField(t, err, "id", "path")
	_, err = dec.Cancel([]byte(`{"id":"t","metadata":5}`))
	wantField(t, err, "metadata", "object")
	_, err = dec.Cancel(nil)
	wantField(t, err, "id", "required")
	for _, broken := range []string{"{", "\v", "\f{}", "\u00a0null"} {
		if _, err := dec.CancelAt("t", []byte(broken)); !errors.Is(err, a2a.ErrParseError) {
			t.Errorf("CancelAt of %q = %v", broken, err)
		}
	}
	if _, err := dec.CancelAt("t", []byte(`[]`)); !errors.Is(err, a2a.ErrInvalidRequest) {
		t.Errorf("CancelAt of a list = %v", err)
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	want := &op.Subscribe{Target: op.Target{Tenant: "a"}, ID: "t"}
	got, err := dec.Subscribe([]byte(`{"id":"t","tenant":"a"}`))
	check(t, "Subscribe", want, got, err)
	got, err = dec.SubscribeAt("t", "tenant=a", nil)
	check(t, "SubscribeAt by query", want, got, err)
	got, err = dec.SubscribeAt("t", "", []byte(`{"tenant":"a"}`))
	check(t, "SubscribeAt by body", want, got, err)
	got, err = dec.SubscribeAt("t", "tenant=a", []byte(`null`))
	check(t, "SubscribeAt by query with null", want, got, err)
	_, err = dec.Subscribe(nil)
	wantField(t, err, "id", "required")
	_, err = dec.SubscribeAt("t", "", []byte(`{"id":"u"}`))
	wantField(t, err, "id", "path")
}

func TestExtended(t *testing.T) {
	t.Parallel()
	got, err := dec.Extended(nil)
	check(t, "Extended", &op.ExtendedCard{}, got, err)
	got, err = dec.ExtendedAt("tenant=a")
	check(t, "ExtendedAt", &op.ExtendedCard{Target: op.Target{Tenant: "a"}}, got, err)
	_, err = dec.Extended([]byte(`{"tenant":1}`))
	wantField(t, err, "tenant", "string")
}

func millis(t *testing.T, s string) task.Millis {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return task.MillisOf(at)
}

func TestList(t *testing.T) {
	t.Parallel()
	want := &op.List{
		Target: op.Target{Tenant: "a"}, ContextID: "c", State: task.Working, PageSize: 7, PageToken: "p",
		HistoryLength: ptr(0), Since: millis(t, "2026-01-31T10:00:00Z"), IncludeArtifacts: true,
	}
	got, err := dec.List([]byte(`{"tenant":"a","contextId":"c","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"p","historyLength":0,"statusTimestampAfter":"2026-01-31T12:00:00+02:00","includeArtifacts":true}`))
	check(t, "List", want, got, err)
	got, err = dec.List([]byte(`{"tenant":"a","context_id":"c","status":2,"page_size":"7","page_token":"p","history_length":"0","status_timestamp_after":"2026-01-31T10:00:00.000Z","include_artifacts":true}`))
	check(t, "List in snake_case", want, got, err)
	for _, query := range []string{
		"tenant=a&contextId=c&status=TASK_STATE_WORKING&pageSize=7&pageToken=p&historyLength=0&statusTimestampAfter=2026-01-31T12%3A00%3A00%2B02%3A00&includeArtifacts=true",
		"agentId=a&context_id=c&status=2&page_size=7&page_token=p&history_length=0&status_timestamp_after=2026-01-31T12:00:00+02:00&include_artifacts=1",
		"agent_id=a&contextId=c&status=working&pageSize=7&pageToken=p&historyLength=0&statusTimestampAfter=2026-01-31T10:00:00Z&includeArtifacts=true",
		"agent_id=a&contextId=c&status=working&pageSize=7&pageToken=p&historyLength=0&lastUpdatedAfter=2026-01-31T10:00:00Z&includeArtifacts=true",
	} {
		got, err = dec.ListAt(query)
		check(t, "ListAt "+query, want, got, err)
	}
}

func TestListDefaults(t *testing.T) {
	t.Parallel()
	got, err := dec.List(nil)
	check(t, "List", &op.List{PageSize: 50}, got, err)
	got, err = dec.ListAt("status=&contextId=&includeArtifacts=false")
	check(t, "ListAt", &op.List{PageSize: 50}, got, err)
	got, err = (&dialect.Decoder{PageSize: 20}).ListAt("status=0")
	check(t, "ListAt with a page size of the surface", &op.List{PageSize: 20}, got, err)
}

func TestListStates(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]task.State{
		`"TASK_STATE_INPUT_REQUIRED"`: task.InputRequired, `"input-required"`: task.InputRequired,
		`"input_required"`: task.InputRequired, `6`: task.InputRequired, `"8"`: task.AuthRequired,
		`"TASK_STATE_UNSPECIFIED"`: task.Unspecified, `0`: task.Unspecified, `null`: task.Unspecified,
	} {
		got, err := dec.List([]byte(`{"status":` + in + `}`))
		if err != nil || got.State != want {
			t.Errorf("status %s = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{`"TASK_STATE_SLEEPING"`, `9`, `-1`, `1.5`, `true`, `{}`, `"300"`} {
		_, err := dec.List([]byte(`{"status":` + in + `}`))
		wantField(t, err, "status", "state")
	}
}

// Rule 32, and rule 77 for queries: values that cannot be parsed are not ignored.
func TestListRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ params, field, problem string }{
		{`{"pageSize":0}`, "pageSize", "between 1 and 100"},
		{`{"pageSize":101}`, "pageSize", "between 1 and 100"},
		{`{"page_size":-1}`, "page_size", "between 1 and 100"},
		{`{"pageSize":"x"}`, "pageSize", "integer"},
		{`{"historyLength":-1}`, "historyLength", "negative"},
		{`{"statusTimestampAfter":"yesterday"}`, "statusTimestampAfter", "RFC 3339"},
		{`{"statusTimestampAfter":5}`, "statusTimestampAfter", "RFC 3339"},
		{`{"includeArtifacts":"yes"}`, "includeArtifacts", "true or false"},
		{`{"contextId":[]}`, "contextId", "string"},
		{`{"pageToken":1}`, "pageToken", "string"},
	} {
		_, err := dec.List([]byte(tc.params))
		wantField(t, err, tc.field, tc.problem)
	}
	for _, tc := range []struct{ query, field, problem string }{
		{"pageSize=0", "pageSize", "between 1 and 100"},
		{"pageSize=1000", "pageSize", "between 1 and 100"},
		{"page_size=ten", "page_size", "integer"},
		{"status=SLEEPING", "status", "state"},
		{"includeArtifacts=maybe", "includeArtifacts", "true or false"},
		{"statusTimestampAfter=2026", "statusTimestampAfter", "RFC 3339"},
		{"contextId=a&context_id=a", "context_id", "twice"},
	} {
		_, err := dec.ListAt(tc.query)
		wantField(t, err, tc.field, tc.problem)
	}
}

// Stored timestamps have milliseconds; a more precise filter must not include an earlier task.
func TestListSinceRoundsUp(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-01-31T10:00:00.001Z":       "2026-01-31T10:00:00.001Z",
		"2026-01-31T10:00:00.001000001Z": "2026-01-31T10:00:00.002Z",
		"2026-01-31T10:00:00.0019Z":      "2026-01-31T10:00:00.002Z",
	} {
		got, err := dec.List([]byte(`{"statusTimestampAfter":"` + in + `"}`))
		if err != nil || got.Since != millis(t, want) {
			t.Errorf("after %s = %v, %v, want %s", in, got, err, want)
		}
	}
	got, err := dec.List([]byte(`{"statusTimestampAfter":"1901-01-01T00:00:00Z"}`))
	if err != nil || got.Since != 0 {
		t.Errorf("a time before all tasks = %v, %v, want no filter", got, err)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	want := &op.PushConfig{
		Target: op.Target{Tenant: "a"}, TaskID: "t", ID: "p", URL: "https://u", Token: "k",
		Scheme: "Bearer", Credentials: "c",
	}
	const fields = `"tenant":"a","id":"p","url":"https://u","token":"k","authentication":{"scheme":"Bearer","credentials":"c"}`
	got, err := dec.CreatePush([]byte(`{"task_id":"t",` + fields + `}`))
	check(t, "CreatePush", want, got, err)
	got, err = dec.CreatePushAt("t", []byte(`{`+fields+`}`))
	check(t, "CreatePushAt", want, got, err)
	for _, authentication := range []string{
		`{"schemes":["Bearer"],"credentials":"c"}`, `{"credentials":"c","schemes":["Bearer","Basic"]}`,
		`{"scheme":"Bearer","schemes":["Basic"],"credentials":"c"}`,
	} {
		got, err = dec.CreatePush([]byte(`{"taskId":"t","tenant":"a","id":"p","url":"https://u","token":"k","authentication":` + authentication + `}`))
		check(t, "CreatePush with "+authentication, want, got, err)
	}

	for _, tc := range []struct{ in, field, problem string }{
		{`{"url":"u"}`, "taskId", "required"},
		{`{"taskId":"t"}`, "url", "required"},
		{`{"taskId":"t","url":"u","authentication":{}}`, "authentication.scheme", "required"},
		{`{"taskId":"t","url":"u","authentication":"x"}`, "authentication", "object"},
		{`{"taskId":"t","url":5}`, "url", "string"},
		{`{"taskId":"t","url":"u","authentication":{"schemes":[]}}`, "authentication.scheme", "required"},
		{`{"taskId":"t","url":"u","authentication":{"schemes":["x",1]}}`, "authentication.schemes[1]", "string"},
		{`{"taskId":"t","url":"u","id":"` + strings.Repeat("x", 513) + `"}`, "id", "longer"},
	} {
		_, err := dec.CreatePush([]byte(tc.in))
		wantField(t, err, tc.field, tc.problem)
	}
	_, err = dec.CreatePushAt("t", []byte(`{"taskId":"u","url":"u"}`))
	wantField(t, err, "taskId", "path")
	if _, err := dec.CreatePushAt("t", nil); !errors.Is(err, a2a.ErrParseError) {
		t.Errorf("CreatePushAt without body = %v", err)
	}
}

func TestPushRef(t *testing.T) {
	t.Parallel()
	want := &op.PushRef{Target: op.Target{Tenant: "a"}, TaskID: "t", ID: "p"}
	got, err := dec.PushRef([]byte(`{"tenant":"a","taskId":"t","id":"p"}`))
	check(t, "PushRef", want, got, err)
	got, err = dec.PushRefAt("t", "p", "tenant=a&id=p")
	check(t, "PushRefAt", want, got, err)
	_, err = dec.PushRef([]byte(`{"taskId":"t"}`))
	wantField(t, err, "id", "required")
	_, err = dec.PushRef([]byte(`{"id":"p"}`))
	wantField(t, err, "taskId", "required")
	_, err = dec.PushRefAt("t", "p", "id=q")
	wantField(t, err, "id", "path")
}

func TestPushList(t *testing.T) {
	t.Parallel()
	want := &op.PushList{TaskID: "t", PageSize: 5, PageToken: "x"}
	got, err := dec.PushList([]byte(`{"task_id":"t","page_size":5,"page_token":"x"}`))
	check(t, "PushList", want, got, err)
	got, err = dec.PushListAt("t", "pageSize=5&pageToken=x")
	check(t, "PushListAt", want, got, err)
	_, err = dec.PushList([]byte(`{"taskId":"t","pageSize":-1}`))
	wantField(t, err, "pageSize", "negative")
	_, err = dec.PushList(nil)
	wantField(t, err, "taskId", "required")
	_, err = dec.PushListAt("t", "pageSize=x")
	wantField(t, err, "pageSize", "integer")
}

// The decoder reads the params of the SDK's client for the other operations.
func TestParamsFromSDK(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 10, 0, 0, 5e6, time.FixedZone("", 3600))
	marshal := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	list, err := dec.List(marshal(&a2a.ListTasksRequest{Status: a2a.TaskStateFailed, PageSize: 3, StatusTimestampAfter: &at, IncludeArtifacts: true}))
	check(t, "List", &op.List{State: task.Failed, PageSize: 3, Since: task.MillisOf(at), IncludeArtifacts: true}, list, err)
	get, err := dec.Get(marshal(&a2a.GetTaskRequest{ID: "t", HistoryLength: ptr(1)}))
	check(t, "Get", &op.Get{ID: "t", HistoryLength: ptr(1)}, get, err)
	cancel, err := dec.Cancel(marshal(&a2a.CancelTaskRequest{ID: "t", Metadata: map[string]any{"a": "b"}}))
	check(t, "Cancel", &op.Cancel{ID: "t", Metadata: []byte(`{"a":"b"}`)}, cancel, err)
	push, err := dec.CreatePush(marshal(&a2a.PushConfig{TaskID: "t", URL: "u", Auth: &a2a.PushAuthInfo{Scheme: "Bearer"}}))
	check(t, "CreatePush", &op.PushConfig{TaskID: "t", URL: "u", Scheme: "Bearer"}, push, err)
}
