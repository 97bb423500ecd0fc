package console_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/inbox"
)

// attach sends a form with files.
func (p *person) attach(fields map[string]string, files ...string) page {
	p.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields["token"] = p.token
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, name := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}, "Content-Type": {"image/png"}})
		if err == nil {
			_, err = part.Write([]byte("bytes of " + name))
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/console/try", &b)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	return p.do(r)
}

// TestAttach sends a text, a JSON object and files in one message.
func TestAttach(t *testing.T) {
	t.Parallel()
	p := newWorld(t, false).person()
	p.get("/console/try?agent=echo")
	a := p.attach(map[string]string{"agent": "echo", "text": "look", "data": `{"big": 12345678901234567890, "a": [1]}`}, "one.png", "two.png")
	if a.code != 200 || !strings.HasPrefix(a.path, "/console/task?id=") {
		t.Fatalf("send = %d %s %s", a.code, a.path, a.body)
	}
	wants(t, p.get(a.path), 200, "look", "12345678901234567890", "one.png", "two.png", "image/png")
	id := strings.TrimPrefix(a.path, "/console/task?id=")
	if got := p.get("/console/task/part?id=" + id + "&v=1&part=3"); got.body != "bytes of two.png" || got.header.Get("Content-Type") != "image/png" {
		t.Errorf("the second file = %s %q", got.header.Get("Content-Type"), got.body)
	}
	p.get("/console/try?agent=echo")
	wants(t, p.attach(map[string]string{"agent": "echo", "text": "look", "data": "[1]"}), 422, "not a JSON object", ">look<", ">[1]<")
	wants(t, p.attach(map[string]string{"agent": "echo", "text": ""}), 422, "Write a message")
	wants(t, p.attach(map[string]string{"agent": "echo"}, strings.Split(strings.Repeat("x ", 21), " ")[:21]...), 422, "at most 20 files")
	if a := p.attach(map[string]string{"agent": "echo", "text": strings.Repeat("x", 5<<20)}); a.code == 200 {
		t.Error("a form of 5 MiB is accepted")
	}
}

// TestWaiting checks the number of items of the inbox in the title of pages.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob := w.as(annsKey), w.as(bobsKey)
	for _, id := range []inbox.ID{"aaaa", "bbbb"} {
		if _, err := w.inbox.Put(t.Context(), &inbox.Item{ID: id, Kind: inbox.Question, Owner: "ann", Agent: "echo", Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, ann.get("/console/tasks"), 200, "<title>(2) Tasks", "2<span class=\"sr\"> wait")
	wants(t, bob.get("/console/tasks"), 200, "<title>Tasks")
	ann.get("/console/inbox")
	wants(t, ann.post("/console/inbox", "id", "aaaa", "verb", "answer", "text", "y"), 200, "<title>(1) Inbox")
}
