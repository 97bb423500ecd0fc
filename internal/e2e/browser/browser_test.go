package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/internal/testing/testenv"

	cdplog "github.com/chromedp/cdproto/log"
)

var command, chromium string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var ok bool
		if chromium, ok = testenv.Find("chromium"); !ok {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "browser")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		command = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-o", command, "./cmd/parley")
		build.Dir = filepath.Join("..", "..", "..")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the command:", err)
			return 1
		}
		return m.Run()
	}())
}

// hub is a running command.
type hub struct {
	url  string
	data string
	// end ends the process, and returns when it has ended.
	end func(os.Signal) error
}

// kill ends the process without a warning.
func (h *hub) kill(t *testing.T) {
	t.Helper()
	if err := h.end(os.Kill); err == nil {
		t.Fatal("the hub has ended without a trace of the signal")
	}
}

// need skips or fails a test on a machine without Chromium.
func need(t *testing.T) {
	t.Helper()
	testenv.Tool(t, "chromium")
}

// start starts the command with a new data folder and returns when it listens.
func start(t *testing.T, args ...string) *hub {
	t.Helper()
	need(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	h.serve(t, args...)
	return h
}

// serve starts the command and returns when it listens.
func (h *hub) serve(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command(command, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", h.data, "--log-level", "warn"}, args...)...)
	c.Dir = t.TempDir()
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	h.end = func(s os.Signal) error {
		ended = true
		_ = c.Process.Signal(s)
		return c.Wait()
	}
	end := h.end
	t.Cleanup(func() {
		if ended {
			return
		}
		if err := end(os.Interrupt); err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, u, ok := strings.Cut(lines.Text(), "Address  "); ok {
			h.url = strings.TrimSpace(u)
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the hub
			return
		}
	}
	t.Fatal("the hub does not name its address")
}

// key creates a key of the hub.
func (h *hub) key(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(command, append([]string{"keys", "add", "--data", h.data}, args...)...).Output()
	if err != nil {
		t.Fatalf("create a key: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// tab is a page of the browser with everything that it has reported.
type tab struct {
	t   *testing.T
	ctx context.Context
	hub *hub

	mu      sync.Mutex // guards the fields below
	foreign []string
	reports []string
	// requests are the addresses of all requests, and visits is a further origin that the test visits.
	requests []string
	visits   string
}

// seen returns the last address below a path of the hub that the browser has requested.
func (b *tab) seen(path string) string {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range slices.Backward(b.requests) {
		if strings.HasPrefix(address, b.hub.url+path) {
			return address
		}
	}
	b.t.Fatalf("no request for %s among %q", path, b.requests)
	return ""
}

// open starts a browser.
func open(t *testing.T, h *hub) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return watch(t, ctx, h)
}

// watch returns the tab of a context, whose requests and reports it records.
func watch(t *testing.T, ctx context.Context, h *hub) *tab {
	t.Helper()
	b := &tab{t: t, ctx: ctx, hub: h}
	chromedp.ListenTarget(ctx, b.listen)
	// The first use starts the browser, which ends with its context.
	if err := chromedp.Run(ctx, network.Enable(), cdplog.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.quiet)
	return b
}

// listen records requests to other origins, and everything that the browser reports.
func (b *tab) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(ev.Request.URL)
		b.requests = append(b.requests, ev.Request.URL)
		origin := ""
		if err == nil {
			origin = u.Scheme + "://" + u.Host
		}
		if origin != b.hub.url && origin != "about://" && (b.visits == "" || origin != b.visits) {
			b.foreign = append(b.foreign, ev.Request.URL)
		}
	case *cdplog.EventEntryAdded:
		if ev.Entry.Source == cdplog.SourceSecurity || ev.Entry.Source == cdplog.SourceViolation || strings.Contains(ev.Entry.Text, "Content Security Policy") {
			b.reports = append(b.reports, ev.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.reports = append(b.reports, ev.ExceptionDetails.Error())
	}
}

// quiet checks that the pages have asked no other origin and that the browser has reported
// nothing.
func (b *tab) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.foreign) > 0 || len(b.reports) > 0 {
		b.t.Errorf("requests elsewhere: %q, reports: %q", b.foreign, b.reports)
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// text returns the text of the page.
func (b *tab) text() string {
	b.t.Helper()
	var s string
	b.run(chromedp.Text("main", &s))
	return s
}

// shows waits until an element of the page has a text, on this page or the next one.
func (b *tab) shows(selector, text string) {
	b.t.Helper()
	b.holds(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text))
}

// holds waits until an expression is true, on this page or the next one. It shows the tab: a page
// in the background draws no frames, with which the expression is evaluated.
func (b *tab) holds(expression string) {
	b.t.Helper()
	b.run(page.BringToFront())
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	for {
		err := chromedp.Run(ctx, chromedp.WaitReady("body"), chromedp.Poll(expression, nil))
		if err == nil {
			return
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context") {
			b.t.Fatalf("%s: %v\n%s", expression, err, b.text())
		}
	}
}

// shot writes pictures of the page, if they are asked for.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("PARLEY_SHOTS")
	if dir == "" {
		return
	}
	for _, v := range []struct {
		kind, scheme string
		wide         int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 390}} {
		var png []byte
		b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}),
			chromedp.EmulateViewport(v.wide, 900), chromedp.FullScreenshot(&png, 100))
		if err := os.WriteFile(filepath.Join(dir, name+"-"+v.kind+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	b.run(chromedp.EmulateViewport(1280, 900))
}

// TestFirstVisit follows a person on an empty hub from the first page to a streamed answer that
// arrives while the page is open.
func TestFirstVisit(t *testing.T) {
	b := open(t, start(t))
	b.run(chromedp.Navigate(b.hub.url+"/console/"), chromedp.WaitVisible(".welcome .button"))
	b.shot("overview-empty")
	b.run(chromedp.Click(".welcome .button"), chromedp.WaitVisible("textarea#text"))
	b.shot("try")
	b.run(chromedp.Click("main .stack button"), chromedp.WaitVisible("#timeline"))
	b.shows("#timeline .entry.agent .text", "Hello from the console")
	b.shows("#head .badge", "completed")
	b.shot("task-echo")

	// A task that is still working shows each entry as it comes, on the same page.
	b.run(chromedp.Navigate(b.hub.url+"/console/try?agent=slow&text="+url.QueryEscape("4s 4 steps")), chromedp.WaitVisible("textarea#text"),
		chromedp.Click("main .stack button"), chromedp.WaitVisible("#timeline"),
		chromedp.Evaluate(`window.stayed = true`, nil))
	b.shows("#head .badge", "working")
	b.shot("task-working")
	b.shows("#head .badge", "completed")
	var stayed bool
	b.run(chromedp.Evaluate(`window.stayed === true`, &stayed))
	if !stayed {
		t.Error("the page was loaded again")
	}
	b.shot("task-slow")
}

// TestQuestion answers a question of an agent on the page of the task.
func TestQuestion(t *testing.T) {
	b := open(t, start(t))
	b.run(chromedp.Navigate(b.hub.url+"/console/try?agent=interview&text=start"), chromedp.WaitVisible("textarea#text"),
		chromedp.Click("main .stack button"), chromedp.WaitVisible("#answer"))
	b.shot("task-question")
	b.run(chromedp.SendKeys("#answer", "Ada"), chromedp.Click("#head .answer button"),
		chromedp.WaitVisible(`//li[contains(@class, "caller")]//div[contains(., "Ada")]`, chromedp.BySearch)) // survives the new page
	b.run(chromedp.Navigate(b.hub.url+"/console/tasks"), chromedp.WaitVisible("table.tasks"))
	b.shot("tasks")
	b.run(chromedp.Navigate(b.hub.url+"/console/agents"), chromedp.WaitVisible(".cards"))
	b.shot("agents")
	b.run(chromedp.Navigate(b.hub.url+"/console/inbox"), chromedp.WaitVisible("h1"))
	b.shot("inbox")
	b.run(chromedp.Navigate(b.hub.url+"/console/"), chromedp.WaitVisible("table.tasks"))
	b.shot("overview")
}

// TestSignIn signs in with a key, and out again.
func TestSignIn(t *testing.T) {
	need(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	key := h.key(t, "--agent", "ann", "--role", "admin")
	h.serve(t)
	b := open(t, h)
	b.run(chromedp.Navigate(h.url+"/console/tasks"), chromedp.WaitVisible("#key"))
	b.shot("sign-in")
	b.run(chromedp.SendKeys("#key", "prl_wrong"), chromedp.Click("main button"), chromedp.WaitVisible(".alert"))
	b.run(chromedp.SendKeys("#key", key), chromedp.Click("main button"), chromedp.WaitVisible(".filters"))
	var html string
	b.run(chromedp.OuterHTML("html", &html))
	if strings.Contains(html, key) {
		t.Error("the page has the key in it")
	}
	b.run(chromedp.Click(".who button"), chromedp.WaitVisible("#key"))
}
