package httpfront_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/webhooks"
	"github.com/parley-a2a/parley/push"
)

// bulk is the content that the agent of these tests returns.
var bulk = []byte(strings.Repeat("0123456789", 1000))

// giver returns content as one artifact.
func giver(content []byte, name, mediaType string) a2asrv.AgentExecutor {
	return described(func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		p := a2a.NewRawPart(content)
		p.Filename, p.MediaType = name, mediaType
		_ = yield(a2a.NewArtifactUpdateEvent(ec, "file", p), nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	})
}

// partsConfig returns the config of an engine that stores parts longer than 1,000 bytes
// separately.
func partsConfig(t testing.TB) engine.Config {
	t.Helper()
	s, err := blobstore.Open(t.TempDir(), blobstore.Options{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Config{Parts: &blobstore.Externalizer{Store: s, Base: "https://hub.example", Threshold: 1000}}
}

const ann, bob = "Authorization: Bearer ann", "Authorization: Bearer bob"

// partsHub serves a hub with a task of ann that has a part, and returns the path of the part.
func partsHub(t testing.TB, cfg engine.Config, front httpfront.Config, x a2asrv.AgentExecutor) (*hub, string) {
	t.Helper()
	front.Auth = byKey()
	front.Engine = startEngineWith(t, cfg, newAgent("giver", x))
	h := startHub(t, front)
	return h, partOf(t, h.do("POST", "/v1/a2a/message:send", message("go"), v1, ann).body)
}

// partOf returns the path of the part that an answer refers to.
func partOf(t testing.TB, body string) string {
	t.Helper()
	_, tail, ok := strings.Cut(body, "https://hub.example")
	path, _, _ := strings.Cut(tail, `"`)
	if !ok || !strings.HasPrefix(path, blobstore.PathPrefix) {
		t.Fatalf("no reference in %s", body)
	}
	return path
}

func TestPart(t *testing.T) {
	t.Parallel()
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, `../a "b".html`, "text/html; charset=utf-8"))
	got := h.do("GET", path, "", ann)
	if got.code != 200 || got.body != string(bulk) {
		t.Fatalf("GET = %d, %d bytes", got.code, len(got.body))
	}
	etag := `"` + path[len(path)-64:] + `"`
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Disposition": `attachment; filename="a \"b\".html"`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "private, no-cache", "Etag": etag, "Content-Length": "10000", "Accept-Ranges": "bytes",
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("%s = %q, want %q", name, v, want)
		}
	}
	head := h.do("HEAD", path, "", ann)
	if head.code != 200 || head.body != "" || head.header.Get("Content-Length") != "10000" || head.header.Get("Etag") != etag {
		t.Errorf("HEAD = %d %v", head.code, head.header)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if got := h.do(method, path, "", ann); got.code != 405 || got.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s = %d, Allow %q", method, got.code, got.header.Get("Allow"))
		}
	}
}

func TestPartRanges(t *testing.T) {
	t.Parallel()
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, "", ""))
	etag := `"` + path[len(path)-64:] + `"`
	for _, tt := range []struct {
		headers []string
		code    int
		body    string
		ranges  string
	}{
		{[]string{"Range: bytes=0-9"}, 206, "0123456789", "bytes 0-9/10000"},
		{[]string{"Range: bytes=9995-"}, 206, "56789", "bytes 9995-9999/10000"},
		{[]string{"Range: bytes=-3"}, 206, "789", "bytes 9997-9999/10000"},
		{[]string{"Range: bytes=9999-20000"}, 206, "9", "bytes 9999-9999/10000"},
		{[]string{"Range: bytes=10000-"}, 416, "", "bytes */10000"},
		{[]string{"Range: bytes=5-1"}, 416, "", ""},
		{[]string{"Range: bytes=a-b"}, 416, "", ""},
		{[]string{"Range: lines=1-2"}, 416, "", ""},
		{[]string{"Range: bytes=0-9", "If-Range: " + etag}, 206, "0123456789", "bytes 0-9/10000"},
		{[]string{"Range: bytes=0-9", `If-Range: "other"`}, 200, string(bulk), ""},
		{[]string{"If-None-Match: " + etag}, 304, "", ""},
		{[]string{`If-None-Match: "other", ` + etag}, 304, "", ""},
		{[]string{"If-None-Match: *"}, 304, "", ""},
		{[]string{`If-None-Match: "other"`}, 200, string(bulk), ""},
		{[]string{`If-Match: "other"`}, 412, "", ""},
		{[]string{"Range: bytes=0-9999,0-9999,0-9999"}, 200, string(bulk), ""}, // more than all of it
	} {
		got := h.do("GET", path, "", append(tt.headers, ann)...)
		if got.code != tt.code || tt.code < 300 && got.body != tt.body || got.header.Get("Content-Range") != tt.ranges && tt.ranges != "" {
			t.Errorf("GET with %q = %d %.30q, Content-Range %q", tt.headers, got.code, got.body, got.header.Get("Content-Range"))
		}
	}
	got := h.do("GET", path, "", ann, "Range: bytes=0-1,5-6")
	kind, params, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if got.code != 206 || kind != "multipart/byteranges" || err != nil {
		t.Fatalf("two ranges = %d %s, %v", got.code, kind, err)
	}
	r := multipart.NewReader(strings.NewReader(got.body), params["boundary"])
	for _, want := range []string{"01", "56"} {
		p, err := r.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(p); string(b) != want || err != nil {
			t.Errorf("range = %q, %v, want %q", b, err, want)
		}
	}
}

// TestPartScope checks that only the owner of the task can read a part, and that all others get
// the same answer.
func TestPartScope(t *testing.T) {
	t.Parallel()
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, "", ""))
	theirs := partOf(t, h.do("POST", "/v1/a2a/message:send", message("go"), v1, bob).body)
	digest := path[len(path)-64:]
	missing := h.do("GET", blobstore.PathPrefix+"missing/"+digest, "", bob)
	if missing.code != 404 || !json.Valid([]byte(missing.body)) {
		t.Fatalf("a missing task = %d %s", missing.code, missing.body)
	}
	for _, tt := range []struct{ path, who string }{{path, bob}, {theirs, ann}} {
		if got := h.do("GET", tt.path, "", tt.who); got.code != 404 || got.body != missing.body {
			t.Errorf("another's part = %d %s, want %s", got.code, got.body, missing.body)
		}
	}
	for _, tt := range []struct{ path, who string }{{path, ann}, {theirs, bob}} {
		if got := h.do("GET", tt.path, "", tt.who); got.code != 200 {
			t.Errorf("one's own part = %d", got.code)
		}
	}
	for _, headers := range [][]string{nil, {"Authorization: Basic YW5uOg=="}, {"Cookie: ann"}} {
		if got := h.do("GET", path, "", headers...); got.code != 401 || got.header.Get("Www-Authenticate") == "" || strings.Contains(got.body, "0123456789") {
			t.Errorf("without credentials (%q) = %d %s", headers, got.code, got.body)
		}
	}
}

func TestPartPaths(t *testing.T) {
	t.Parallel()
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, "", ""))
	id, digest, _ := strings.Cut(strings.TrimPrefix(path, blobstore.PathPrefix), "/")
	for _, p := range []string{
		blobstore.PathPrefix, blobstore.PathPrefix + id, blobstore.PathPrefix + id + "/", blobstore.PathPrefix + "/" + digest,
		path + "/", path + "/x", path + ".json", blobstore.PathPrefix + id + "//" + digest,
		blobstore.PathPrefix + id + "/" + strings.ToUpper(digest), blobstore.PathPrefix + id + "/" + digest[:63], blobstore.PathPrefix + id + "/" + digest + "0",
		blobstore.PathPrefix + id + "/%30" + digest[1:], blobstore.PathPrefix + id + "%2F" + digest, blobstore.PathPrefix + id + "/%2e%2e/" + digest,
		blobstore.PathPrefix + "%2e%2e/" + digest, blobstore.PathPrefix + "..%2F..%2F" + id + "/" + digest, blobstore.PathPrefix + "./" + id + "/" + digest,
		blobstore.PathPrefix + id + "%00/" + digest, blobstore.PathPrefix + "%00/" + digest, blobstore.PathPrefix + id + "/" + strings.Repeat("%00", 64),
		blobstore.PathPrefix + strings.Repeat("x", 10_000) + "/" + digest, blobstore.PathPrefix + id + "/" + strings.Repeat("0", 10_000),
		"/v1/Parts/" + id + "/" + digest, "/v1//parts/" + id + "/" + digest, "/v1/a2a/parts/" + id + "/" + digest,
		"/a2a/giver" + path, blobstore.PathPrefix + id + ";x/" + digest, blobstore.PathPrefix + "content/" + digest, blobstore.PathPrefix + id + "/content",
	} {
		if got := h.do("GET", p, "", ann); got.code != 404 || strings.Contains(got.body, "0123456789") || !json.Valid([]byte(got.body)) {
			t.Errorf("GET %.120s = %d %.80q", p, got.code, got.body)
		}
	}
	if got := h.do("GET", path+"?x=../..", "", ann); got.code != 200 {
		t.Errorf("a query that says nothing = %d", got.code)
	}
}

// TestPartHeaders checks that the name and media type of a part cannot harm its reader.
func TestPartHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, mediaType, wantType, wantDisposition string }{
		{"", "", "application/octet-stream", "attachment"},
		{"a\r\nSet-Cookie: x.txt", "text/html\r\nSet-Cookie: x", "application/octet-stream", `attachment; filename="aSet-Cookie: x.txt"`},
		{"naïve.txt", "TEXT/Plain;Charset=UTF-8", "text/plain; charset=UTF-8", `attachment; filename*=utf-8''na%C3%AFve.txt`},
		{"..", "html", "application/octet-stream", "attachment"},
		{`C:\dir\a.txt`, "multipart/form-data; boundary=\"a\\\"b\"", `multipart/form-data; boundary="a\"b"`, `attachment; filename=a.txt`},
		{strings.Repeat("x", 300), strings.Repeat("x", 200) + "/" + strings.Repeat("y", 200), "application/octet-stream", "attachment"},
	} {
		h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, tt.name, tt.mediaType))
		got := h.do("GET", path, "", ann)
		if a, b := got.header.Get("Content-Type"), got.header.Get("Content-Disposition"); a != tt.wantType || b != tt.wantDisposition || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%q, %q: Content-Type %q, Content-Disposition %q, want %q, %q", tt.name, tt.mediaType, a, b, tt.wantType, tt.wantDisposition)
		}
	}
}

// TestPartDialects checks that every operation that returns a task shows the reference, in the
// shape of the dialect.
func TestPartDialects(t *testing.T) {
	t.Parallel()
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(bulk, "a.bin", "application/x-a"))
	id, _, _ := strings.Cut(strings.TrimPrefix(path, blobstore.PathPrefix), "/")
	address := "https://hub.example" + path
	v10 := `"url":"` + address + `","filename":"a.bin","mediaType":"application/x-a"`
	v03 := `"file":{"uri":"` + address + `","name":"a.bin","mimeType":"application/x-a"}`
	for _, tt := range []struct{ method, path, body, version, want string }{
		{"POST", "/a2a", rpc("GetTask", `{"id":"`+id+`"}`), "1.0", v10},
		{"POST", "/a2a", rpc("ListTasks", `{"includeArtifacts":true}`), "1.0", v10},
		{"GET", "/v1/a2a/tasks/" + id, "", "1.0", v10},
		{"GET", "/v1/a2a/tasks?includeArtifacts=true", "", "1.0", v10},
		{"POST", "/a2a", rpc("tasks/get", `{"id":"`+id+`"}`), "", v03},
		{"GET", "/v1/tasks/" + id, "", "0.3", `"fileWithUri":"` + address + `"`},
		{"POST", "/a2a/giver/v1/message:send", `{"request":{"messageId":"m","role":"ROLE_USER","content":[{"text":"go"}]}}`, "0.3", `"fileWithUri":"https://hub.example/v1/parts/`},
		{"POST", "/a2a/giver/a2a", rpc("tasks/get", `{"id":"`+id+`"}`), "", address},
		{"POST", "/tasks/send", `{"taskId":"job-1","message":{"role":"user","parts":[{"kind":"text","text":"go"}]}}`, "", `https://hub.example/v1/parts/job-1/`},
	} {
		got := h.do(tt.method, tt.path, tt.body, "A2A-Version: "+tt.version, ann)
		got.body = strings.ReplaceAll(got.body, `\"`, `"`) // a job has data in a string
		if got.code != 200 || !strings.Contains(got.body, `"size":10000`) || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s %s %s = %d %s, want %s", tt.method, tt.path, tt.body, got.code, got.body, tt.want)
		}
		if len(got.body) > 3000 {
			t.Errorf("%s %s: an answer of %d bytes", tt.method, tt.path, len(got.body))
		}
	}
	for _, tt := range []struct{ path, body, version string }{
		{"/a2a", rpc("SendStreamingMessage", message("go")), "1.0"},
		{"/v1/a2a/message:stream", message("go"), "1.0"},
		{"/a2a", rpc("message/stream", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"go"}]}}`), ""},
	} {
		got := h.do("POST", tt.path, tt.body, "A2A-Version: "+tt.version, "Accept: text/event-stream", ann)
		own := partOf(t, got.body)
		if part := h.do("GET", own, "", ann); part.code != 200 || part.body != string(bulk) {
			t.Errorf("the part of stream %s = %d", tt.path, part.code)
		}
	}
	legacy := `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"file","file":{"uri":"` + address + `"}}]}}`
	got := h.do("POST", "/a2a", rpc("message/send", legacy), ann)
	if got.code != 200 || !strings.Contains(got.body, `"uri":"https://hub.example/v1/parts/`) || strings.Contains(got.body, address) {
		t.Errorf("a v0.3 message with the address of a part = %d %s", got.code, got.body)
	}
}

// TestPartPush checks that webhooks get the reference, in both versions.
func TestPartPush(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
	}))
	t.Cleanup(hook.Close)
	cfg, store := partsConfig(t), new(memstore.Store)
	d, err := webhooks.New(webhooks.Config{Options: push.Options{Allow: []string{"loopback"}}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store = store
	enginetest.Deliver(&cfg, d)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Around(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }) })
	t.Cleanup(wg.Wait)
	t.Cleanup(stop)
	h, _ := partsHub(t, cfg, httpfront.Config{}, giver(bulk, "a.bin", ""))
	v10 := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"taskPushNotificationConfig":{"url":"` + hook.URL + `"}}}`
	v03 := `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"go"}]},"configuration":{"pushNotificationConfig":{"url":"` + hook.URL + `"}}}`
	for _, tt := range []struct{ body, version, want string }{
		{rpc("SendMessage", v10), "1.0", `"url":"https://hub.example/v1/parts/`}, {rpc("message/send", v03), "", `"uri":"https://hub.example/v1/parts/`},
	} {
		if got := h.do("POST", "/a2a", tt.body, "A2A-Version: "+tt.version, ann); got.code != 200 || strings.Contains(got.body, `"error"`) {
			t.Fatalf("send = %d %s", got.code, got.body)
		}
		for received := false; !received; {
			select {
			case body := <-bodies:
				if received = strings.Contains(body, tt.want); len(body) > 3000 {
					t.Errorf("a webhook receives %d bytes", len(body))
				}
			case <-time.After(time.Minute):
				t.Fatal("no webhook receives the reference")
			}
		}
	}
}

func TestPartGone(t *testing.T) {
	t.Parallel()
	cfg := partsConfig(t)
	h, path := partsHub(t, cfg, httpfront.Config{}, giver(bulk, "", ""))
	if _, err := cfg.Parts.Store.Sweep(t.Context(), noTasks{}, time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	got := h.do("GET", path, "", ann)
	if got.code != 410 || !strings.Contains(got.body, "has expired") || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("GET = %d %v %s", got.code, got.header, got.body)
	}
	if got := h.do("GET", path, "", bob); got.code != 404 {
		t.Errorf("GET of another = %d", got.code)
	}
}

type noTasks struct{}

func (noTasks) Ended(context.Context, blobstore.Key) (time.Time, error) {
	return time.Time{}, task.ErrNotFound
}

func (noTasks) Names(context.Context, blobstore.Key, blobstore.Digest) (bool, error) {
	return false, task.ErrNotFound
}

// TestPartBandwidth checks that the bytes of parts count like those of requests against the
// limits of the caller.
func TestPartBandwidth(t *testing.T) {
	t.Parallel()
	cfg := partsConfig(t)
	cfg.BytesPerSecond = 100
	h, path := partsHub(t, cfg, httpfront.Config{}, giver(bulk, "", ""))
	if got := h.do("GET", path, "", ann); got.code != 200 {
		t.Fatalf("the first = %d", got.code)
	}
	if got := h.do("GET", path, "", ann); got.code != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("the second = %d %v", got.code, got.header)
	}
}

// TestPartSlowReader checks that a stalled reader is disconnected after WriteTime.
func TestPartSlowReader(t *testing.T) {
	t.Parallel()
	cfg := partsConfig(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		if cfg.Store == nil {
			cfg.Store = new(memstore.Store)
		}
		e := engine.New(cfg)
		if err := e.Register(newAgent("giver", giver(bytes.Repeat(bulk, 200), "", ""))); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = e.Run(ctx) })
		front := httpfront.Config{Engine: e, Auth: auth.Anyone(), Limits: limits.Limits{WriteTime: 10 * time.Second}}
		l, closeAll := servePipes(t, front)
		sent := httptest.NewRequest("POST", "/v1/a2a/message:send", strings.NewReader(message("go")))
		sent.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		httpfront.New(front).ServeHTTP(answer, sent)
		c := l.dial(t)
		if _, err := io.WriteString(c, "GET "+partOf(t, answer.Body.String())+" HTTP/1.1\r\nHost: hub\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(11 * time.Second) // the client reads nothing, and then the rest is missing
		synctest.Wait()
		n, _ := io.Copy(io.Discard, c)
		if n >= int64(200*len(bulk)) || time.Since(began) > 12*time.Second {
			t.Errorf("a reader who waited %v still got %d bytes", time.Since(began), n)
		}
		c.Close()

		// A slow but steady reader gets everything, however long it takes.
		c = l.dial(t)
		if _, err := io.WriteString(c, "GET "+partOf(t, answer.Body.String())+" HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var got int64
		for began = time.Now(); ; time.Sleep(time.Second) {
			n, err := io.CopyN(io.Discard, c, 64<<10)
			got += n
			if err != nil {
				break
			}
		}
		if got < int64(200*len(bulk)) || time.Since(began) < 20*time.Second {
			t.Errorf("a reader who took %v got %d bytes", time.Since(began), got)
		}
		c.Close()
		closeAll()
		stop()
		wg.Wait()
	})
}

// TestPartMemory checks that eight concurrent readers of 32 MiB cost the hub a few buffers
// only.
func TestPartMemory(t *testing.T) {
	const size = 32 << 20
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}
	h, path := partsHub(t, partsConfig(t), httpfront.Config{}, giver(content, "", ""))
	if got := h.do("GET", "/v1/a2a/tasks/"+strings.Split(path, "/")[3], "", v1, ann); len(got.body) > 2000 {
		t.Errorf("the task has %d bytes", len(got.body))
	}
	content = nil
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			resp := h.open(t.Context(), "GET", path, "", ann)
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
				t.Errorf("read %d bytes, %v", n, err)
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("eight readers of %d bytes cost %d bytes of memory", size, used)
	} else {
		t.Logf("eight readers of %d MiB cost %d KiB of memory", size>>20, used>>10)
	}
}
