package dialect_test

import (
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	_ "github.com/parley-a2a/parley/internal/testing/dialecttest" // adds the dialects of parts
)

const (
	kindless  = `{"message":{"role":"user","parts":[{"text":"hi"}]}}`
	kinded    = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`
	roleOfV1  = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	aboutTask = `{"id":"t1"}`
)

// Every call gets a dialect that can answer. Its request is rewritten into JSON that the
// decoder accepts or refuses with a reason.
func FuzzRecognize(f *testing.F) {
	for _, method := range []string{"message/send", "message/sendStream", "tasks/list", "tasks/get", "SendMessage", "tasks/pushNotificationConfig/set"} {
		for _, params := range []string{kindless, kinded, roleOfV1, aboutTask, `{"pageSize":null}`, `{"message":{"parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]},"configuration":{"blocking":false}}`} {
			f.Add(method, []byte(params), "", false)
		}
	}
	f.Add("tasks/get", []byte(aboutTask), "0.3", true)
	filler, last := dialect.Decoder{Fill: true}, dialect.Added()[0].Shape
	f.Fuzz(func(t *testing.T, method string, params []byte, version string, root bool) {
		if dec.Body(params) != nil {
			return
		}
		o, shape, err := dialect.Recognize(&dialect.Signs{
			Method: method, Params: params, Versions: []string{version}, Root: root,
			Recall: func(a2a.TaskID) (dialect.Shape, bool) { return last, true },
		})
		if err != nil {
			checkToldMore(t, err)
			return
		}
		if !slices.Contains(dialect.Names(), shape.String()) {
			t.Fatalf("%s is %v", method, shape)
		}
		v1, err := shape.Request(o, params)
		if err != nil {
			checkTold(t, err)
			return
		}
		if len(v1) > 0 {
			if err := rawjson.Check(v1, 1000); err != nil {
				t.Fatalf("%v %v: %s becomes %s: %v", shape, o, params, v1, err)
			}
		}
		if o == dialect.SendMessage || o == dialect.SendStreamingMessage {
			if r, err := filler.Send(v1); err != nil {
				checkTold(t, shape.Blame(o, err))
			} else if r.Message.ID == "" {
				t.Errorf("a message without id: %+v", r.Message)
			}
		}
	})
}

// checkToldMore is checkTold for errors about more than params.
func checkToldMore(t *testing.T, err error) {
	t.Helper()
	if r := dialect.Explain(err, "ref"); r.Hidden || r.Code == 0 || len(r.Message) > 1000 {
		t.Errorf("%v is told as %+v", err, r)
	}
}

func FuzzJob(f *testing.F) {
	for _, s := range []string{
		`{"taskId":"j","contextId":"c","skill":"s","metadata":{"a":1},"message":{"role":"user","parts":[{"kind":"text","text":"x","data":null}],"metadata":{}}}`,
		`{"taskId":"j","message":{"role":"user","parts":[{"kind":"data","data":{"n":1.50},"mimeType":"application/json"}]}}`,
		`{"task_id":"j","message":{"parts":[{"kind":"text"}]}}`, `{"taskId":"","message":{}}`, `[]`, `{"taskId":"j","message":`,
	} {
		f.Add([]byte(s))
	}
	filler := dialect.Decoder{Fill: true}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := filler.Job(body)
		if err != nil {
			checkToldMore(t, err)
			report := dialect.Explain(err, "ref")
			if b := report.AppendJobError(nil, body); rawjson.Check(b, 10) != nil {
				t.Errorf("the error of %q is %s", body, b)
			}
			return
		}
		if r.Message.TaskID == "" || rawjson.Check(r.Message.Body, 1000) != nil {
			t.Errorf("%s becomes %+v", body, r.Message)
		}
	})
}
