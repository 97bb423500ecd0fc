package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// checkOf checks an agent on the page for it.
func (b *tab) checkOf(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.hub.url+"/console/conformance"), chromedp.WaitVisible(`input[name="url"]`),
		chromedp.SendKeys(`input[name="url"]`, address), chromedp.Click("main form button"))
}

// hostileServer is an agent with hostile texts in its card, and one in each of its answers.
func hostileServer(t *testing.T) *httptest.Server {
	t.Helper()
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/agent-card.json" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"name":"<img src=//zq7.example>","version":"</pre><zq7>","skills":[{"id":"javascript:zq7()"}],"supportedInterfaces":[` + // shown by the report
				`{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://` + r.Host + `/rpc"},{"protocolBinding":"HTTP+JSON","protocolVersion":"1.0","url":"http://` + r.Host + `/rest"},` +
				`{"protocolBinding":"<script>zq7()</script>","protocolVersion":"1.0","url":"javascript:zq7()"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(hostiletest.Texts[int(calls.Add(1))%len(hostiletest.Texts)]))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestConformance checks another hub, an address that the hub may not call, and an agent whose
// answers try to become more than text. The report has the bytes that show each failure.
func TestConformance(t *testing.T) {
	t.Parallel()
	axe := axeCore(t)
	far := start(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	h.serve(t, "--config", files(t, map[string]string{"parley.yaml": "directory: {allow: [loopback]}\n"}))
	b := open(t, h)
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(trap).Do(ctx)
		return err
	}))
	b.checkOf("http://10.1.2.3/a2a")
	b.shows(".alert", "10.1.2.3 is a private address")
	b.checkOf(far.url)
	b.shows("#report h2", "complies")
	b.shows("#report dd", "jsonrpc 1.0 "+far.url)
	b.holds(`document.querySelectorAll("details li").length > 150`)
	b.accessible("a report that passes", axe)
	b.shot("conformance-passes")

	missing := slices.DeleteFunc(slices.Clone(hostiletest.Texts), func(s string) bool { return !plain(s) })
	agent := hostileServer(t)
	for n := 0; len(missing) > 0 && n < 12; n++ { // each has other texts in its answers
		b.checkOf(agent.URL)
		b.shows("#report h2", "does not comply")
		p := b.harmless("a report of failures", 100)
		missing = slices.DeleteFunc(missing, func(s string) bool {
			return strings.Contains(p.Text, "< "+strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n< "), "< \n", "<\n"))
		})
	}
	if len(missing) > 0 {
		t.Errorf("no report shows %q", missing)
	}
	b.accessible("a report of failures", axe)
	b.shot("conformance-fails")
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.requests, func(address string) bool { return !strings.HasPrefix(address, h.url+"/console/") }) {
		t.Errorf("the browser has requested %q", b.requests)
	}
}

// TestConformanceOfOthers opens the page without the rights of an administrator.
func TestConformanceOfOthers(t *testing.T) {
	t.Parallel()
	need(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	h.key(t, "--agent", "root", "--role", "admin") // the first one
	ann := h.key(t, "--agent", "ann")
	h.serve(t)
	b := open(t, h)
	b.enter(ann)
	b.run(chromedp.Navigate(h.url + "/console/conformance"))
	b.shows("h1", "Forbidden")
}
