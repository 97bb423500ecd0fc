package peer

import (
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/outbound/transport"
)

func FuzzErrorOf(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", `{"error":null}`, `{"error":{}}`, `{"error":"no"}`, `{"error":{"code":-32001,"message":"m"}}`,
		`{"error":{"code":404,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`,
		`{"error":{"code":-32602,"data":[{"@type":1}]}}`, `{"result":{}}`, `{"detail":"x"}`,
	} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		err := ErrorOf(status, body)
		if ok := status >= 200 && status < 300; !ok && err == nil {
			t.Fatalf("ErrorOf(%d, %q) = nil, want an error", status, body)
		}
		if err == nil {
			return
		}
		var e *transport.Error
		if !errors.As(err, &e) || e.Err == nil || e.Status != status {
			t.Fatalf("ErrorOf(%d, %q) = %+v, want a transport.Error with a sentinel", status, body, err)
		}
		if e.Error() == "" {
			t.Errorf("ErrorOf(%d, %q) says nothing", status, body)
		}
	})
}
