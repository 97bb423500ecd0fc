package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

// FuzzCall checks that the id of a request is returned unchanged, whatever the outcome, and
// that an answer is always valid JSON.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`,
		`{"jsonrpc":"2.0","id":"\u0041","method":"SendMessage","params":{` + okMessage + `}}`,
		`[{}]`, `{"id":null}`, `{"jsonrpc":"2.0","id":1e5,"method":"M"}`, `{} x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := dec.Call(in)
		if c.ID != nil && !bytes.Contains(in, c.ID) {
			t.Errorf("id %q is not in the request %q", c.ID, in)
		}
		out := dialect.NewEnvelope(c.ID).Append(nil, []byte(`{}`))
		if err != nil {
			checkTold(t, err)
			out = rpcError(nil, c.ID, err, "ref")
		}
		if err := rawjson.Check(out, 10); err != nil {
			t.Errorf("answer %q: %v", out, err)
		}
	})
}

// checkTold checks that the text of a decoder's error was written for callers.
func checkTold(t *testing.T, err error) {
	t.Helper()
	var e *apierror.Error
	if r := dialect.Explain(err, ""); !errors.As(err, &e) || r.Hidden || r.HTTP != 400 || len(r.Message) > 1000 {
		t.Errorf("error %.200q leaves as %+.300v", err, r)
	}
}

func FuzzSend(f *testing.F) {
	for _, s := range []string{
		`{` + okMessage + `}`,
		`{"tenant":"a","message":{"message_id":"m","contextId":"c","role":1,"parts":[{"raw":"_w"},{"data":null}]},"configuration":{"historyLength":"1"},"metadata":{"skill":"s"}}`,
		`{"configuration":{"taskPushNotificationConfig":{"taskId":"","url":"u","authentication":{"schemes":["Bearer"]}}},` + okMessage + `}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := dec.SendAt(in)
		if err != nil {
			checkTold(t, err)
			return
		}
		if p := r.Push; p != nil && (p.URL == "" || p.TaskID != "" && p.TaskID != r.Message.TaskID || p.Credentials != "" && p.Scheme == "") {
			t.Errorf("push config %+v of a message of task %q", p, r.Message.TaskID)
		}
		again, _, err := a2ajson.Message(nil, r.Message.Body, a2ajson.Options{Role: a2a.MessageRoleUser})
		if err != nil || !bytes.Equal(again, r.Message.Body) {
			t.Errorf("body %s is not canonical: %s, %v", r.Message.Body, again, err)
		}
		if r.Metadata != nil && (rawjson.KindOf(r.Metadata) != rawjson.Object || bytes.ContainsAny(r.Metadata, "\r\n")) {
			t.Errorf("metadata %q is not an object on one line", r.Metadata)
		}
		var m a2a.Message
		err = json.Unmarshal(r.Message.Body, &m)
		if err != nil && !bytes.Contains(r.Message.Body, []byte(`"data":null`)) && !strings.Contains(err.Error(), "cannot unmarshal number") {
			t.Errorf("SDK refuses %s: %v", r.Message.Body, err)
		}
		if m.TaskID != "" || m.ContextID != "" {
			t.Errorf("body %s has the ids of the task", r.Message.Body)
		}
	})
}

// FuzzParams runs the decoders of all other operations on the same params.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{"tenant":"a","id":"t","historyLength":1,"metadata":{"k":1}}`,
		`{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":7,"statusTimestampAfter":"2026-01-31T12:00:00+02:00","includeArtifacts":true}`,
		`{"taskId":"t","id":"p","url":"u","authentication":{"scheme":"Bearer"},"page_size":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := dec.Body(in); err != nil {
			checkTold(t, err)
			return
		}
		var errs []error
		keep := func(_ any, err error) {
			if err != nil {
				errs = append(errs, err)
			}
		}
		list, err := dec.List(in)
		keep(list, err)
		if err == nil && (list.PageSize < 1 || list.PageSize > 100 || list.Since < 0 || list.HistoryLength != nil && *list.HistoryLength < 0) {
			t.Errorf("List(%s) = %+v", in, list)
		}
		get, err := dec.Get(in)
		keep(get, err)
		if err == nil && (get.ID == "" || get.HistoryLength != nil && *get.HistoryLength < 0) {
			t.Errorf("Get(%s) = %+v", in, get)
		}
		keep(dec.Cancel(in))
		keep(dec.Subscribe(in))
		keep(dec.Extended(in))
		config, err := dec.CreatePush(in)
		keep(config, err)
		if err == nil {
			checkShown(t, config)
		}
		keep(dec.PushRef(in))
		keep(dec.PushList(in))
		for _, err := range errs {
			checkTold(t, err)
		}
	})
}

// checkShown checks that the public view of a push config is JSON that the SDK reads, without
// its secrets.
func checkShown(t *testing.T, in *op.PushConfig) {
	t.Helper()
	b := dialect.AppendPushConfig(nil, &op.ShownPush{TaskID: in.TaskID, ID: in.ID, URL: in.URL, Scheme: in.Scheme})
	var got a2a.PushConfig
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("SDK refuses %s: %v", b, err)
	}
	want := a2a.PushConfig{TaskID: in.TaskID, ID: in.ID, URL: in.URL}
	if in.Scheme != "" {
		want.Auth = &a2a.PushAuthInfo{Scheme: in.Scheme}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", b, diff)
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"tenant=a&contextId=c&status=2&pageSize=7&statusTimestampAfter=2026-01-31T12:00:00+02:00&includeArtifacts=true",
		"page_size=%37&status=input-required", "a=1;b=2", "%zz", "id=t&history_length=0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		list, err := dec.ListAt(query)
		if err != nil {
			checkTold(t, err)
		} else if list.PageSize < 1 || list.PageSize > 100 || list.Since < 0 {
			t.Errorf("ListAt(%q) = %+v", query, list)
		}
		get, err := dec.GetAt("t", query)
		if err != nil {
			checkTold(t, err)
		} else if get.ID != "t" {
			t.Errorf("GetAt(%q) = %+v", query, get)
		}
		if _, err := dec.PushRefAt("t", "p", query); err != nil {
			checkTold(t, err)
		}
		configs, err := dec.PushListAt("t", query)
		if err != nil {
			checkTold(t, err)
		} else if configs.TaskID != "t" || configs.PageSize < 0 {
			t.Errorf("PushListAt(%q) = %+v", query, configs)
		}
	})
}
