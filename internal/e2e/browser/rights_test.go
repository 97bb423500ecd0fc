package browser_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// another opens a further tab in the browser of b.
func (b *tab) another() *tab {
	b.t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	b.t.Cleanup(stop)
	return watch(b.t, ctx, b.hub)
}

// enter signs in with a key.
func (b *tab) enter(key string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.hub.url+"/console/"), chromedp.WaitVisible("#key"), chromedp.SendKeys("#key", key), chromedp.Click("main button"))
	b.shows(".who", "Sign out")
}

// TestRightsEnd takes away a key under an open page of a task, and signs out beside another one.
// Both pages report it, and continue after a further sign-in.
func TestRightsEnd(t *testing.T) {
	t.Parallel()
	need(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	root := h.key(t, "--agent", "root", "--role", "admin") // the first one
	anns, bobs := h.key(t, "--agent", "ann"), h.key(t, "--agent", "bob")
	h.serve(t)
	ann, bob := open(t, h), open(t, h)
	for b, key := range map[*tab]string{ann: anns, bob: bobs} {
		b.enter(key)
		b.send("slow", "600s 20 steps")
		b.shows("#live", "live")
	}
	h.command(t, "keys", "revoke", "--url", h.url, "--api-key", root, keyID(h.command(t, "keys", "list", "--url", h.url, "--api-key", root), "ann"))
	beside := bob.another()
	beside.run(chromedp.Navigate(h.url+"/console/inbox"), chromedp.Click(".who button"), chromedp.WaitVisible("#key"))

	ann.shows("#live", "signed out")
	bob.shows("#live", "signed out")
	ann.run(chromedp.Click("#live a"), chromedp.WaitVisible("#key"), chromedp.SendKeys("#key", anns), chromedp.Click("main button"))
	ann.shows(".alert", "does not accept this key")
	task := bob.task()
	bob.run(chromedp.Click("#live a"), chromedp.WaitVisible("#key"), chromedp.SendKeys("#key", bobs), chromedp.Click("main button"), chromedp.WaitVisible("#timeline"))
	if got := bob.task(); got != task {
		t.Errorf("the sign-in leads to the task %s, want %s", got, task)
	}
	bob.shows("#live", "live")
}

// command runs the command and returns its output.
func (h *hub) command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// keyID returns the id of the key of an agent from the list of keys.
func keyID(list, agent string) string {
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 1 && strings.Contains(line, agent) {
			return f[0]
		}
	}
	return ""
}
