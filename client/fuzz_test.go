package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func FuzzErrorOf(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", `{"error":null}`, `{"error":{}}`, `{"error":"no"}`, `{"error":{"code":-32001,"message":"m"}}`,
		`{"error":{"code":404,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`,
		`{"error":{"code":-32602,"data":[{"@type":1}]}}`, `{"result":{}}`,
	} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		err := errorOf(status, body)
		if ok := status >= 200 && status < 300; !ok && err == nil {
			t.Fatalf("errorOf(%d, %q) = nil, want an error", status, body)
		}
		if err == nil {
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.Err == nil || e.Status != status {
			t.Fatalf("errorOf(%d, %q) = %+v, want an Error with a sentinel", status, body, err)
		}
		if e.Error() == "" {
			t.Errorf("errorOf(%d, %q) says nothing", status, body)
		}
	})
}

func FuzzParseCard(f *testing.F) {
	for _, body := range []string{
		"", "[]", "null", `{"name":"a"}`, `{"name":"a","supportedInterfaces":[null,{"url":"http://x","protocolBinding":"JSONRPC"}]}`,
		`{"name":"a","securitySchemes":{"x":{}}}`, `{"name":1}`, `{"name":"a","skills":[{"tags":null}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		card, err := parseCard(body)
		if (card == nil) == (err == nil) {
			t.Fatalf("parseCard(%q) = %v, %v, want a card or an error", body, card, err)
		}
		if err != nil {
			return
		}
		c, err := New(card, Options{})
		if err == nil {
			if i := c.Interface(); i.URL == "" {
				t.Errorf("a client of %q calls nothing", body)
			}
			c.Close()
		}
	})
}

func FuzzFrame(f *testing.F) {
	for _, body := range []string{"", " ", "{}", "{\n}", "{\r\n \"a\": 1}\n", "\r", "data: x"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := frame(body)
		if len(bytes.TrimSpace(body)) == 0 {
			if got != nil {
				t.Fatalf("frame(%q) = %q, want nothing", body, got)
			}
			return
		}
		text, ok := strings.CutSuffix(string(got), "\n\n")
		if !ok {
			t.Fatalf("frame(%q) = %q, want the end of an event", body, got)
		}
		var joined []string
		for line := range strings.SplitSeq(text, "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Fatalf("frame(%q) has the line %q", body, line)
			}
			joined = append(joined, data)
		}
		var want, have any
		if json.Unmarshal(body, &want) != nil {
			return
		}
		if err := json.Unmarshal([]byte(strings.Join(joined, "\n")), &have); err != nil {
			t.Errorf("frame(%q) is other JSON: %v", body, err)
		}
	})
}
