package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// corp is a real OpenID provider, on another site than the hub.
type corp struct {
	*hub
	// issuer is its address.
	issuer string
}

// startCorp starts a provider, and a hub that signs people in there.
func startCorp(t *testing.T) *corp {
	t.Helper()
	need(t)
	testenv.Tool(t, "node")
	folder := filepath.Dir(testenv.Made(t, "internal/e2e/interop/oidc/node_modules"))
	port, release, err := testenv.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	c := &corp{issuer: startNode(t, folder, "people.mjs", "http://"+address+"/console/sign-in/openid/corp")}
	config := fmt.Sprintf(`
auth:
  tokens:
    - name: corp
      issuer: %s
      audiences: ["https://hub.example"]
      algorithms: [ES256]
      roles_claim: groups
      roles: {operators: admin}
      sign_in: {client_id: console, client_secret: only-for-the-console}
`, c.issuer)
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.hub = &hub{data: filepath.Join(t.TempDir(), "data")}
	c.serve(t, "--config", file, "--listen", address)
	return c
}

// startNode starts a program of node and returns the first line that it prints. It ends with the
// test.
func startNode(t *testing.T, folder string, args ...string) string {
	t.Helper()
	c := exec.Command("node", args...)
	c.Dir, c.Stderr = folder, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait() // it ends with its input
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("node %s: %v", args[0], err)
	}
	return strings.TrimSpace(line)
}

// openAt opens a browser that may also visit the provider.
func (c *corp) openAt(t *testing.T) *tab {
	t.Helper()
	b := open(t, c.hub)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.visits = c.issuer
	return b
}

// signIn signs a person in from the page at a path.
func (b *tab) signIn(path, name string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.hub.url+path), chromedp.WaitVisible("#key"), chromedp.Click("main a.button"),
		chromedp.WaitVisible("#login"), chromedp.SendKeys("#login", name), chromedp.Click("button"))
}

// cookies returns the cookies of the browser for the console.
func (b *tab) cookies() (all []*network.Cookie) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		all, err = network.GetCookies().WithURLs([]string{b.hub.url + "/console/sign-in/openid/corp"}).Do(ctx)
		return err
	}))
	return all
}

// location returns the address of the page.
func (b *tab) location() (address string) {
	b.t.Helper()
	b.run(chromedp.Location(&address))
	return address
}

// TestOpenID signs people in at a real provider on another site: one without a role, and one with a
// role by a claim. The answer of the provider serves once and only in the browser that began.
func TestOpenID(t *testing.T) {
	c := startCorp(t)
	b := c.openAt(t)
	b.signIn("/console/tasks?state=TASK_STATE_FAILED", "ann")
	b.shows(".who .name", "Ann")
	if got, want := b.location(), c.url+"/console/tasks?state=TASK_STATE_FAILED"; got != want {
		t.Errorf("the sign-in leads to %s, want %s", got, want)
	}
	b.holds(`!document.querySelector('nav a[href="/console/audit"]')`)
	session := ""
	for _, k := range b.cookies() {
		if k.Name != "parley_console" || !k.HTTPOnly || k.SameSite != network.CookieSameSiteStrict {
			t.Errorf("cookie %s: HttpOnly %v, SameSite %q", k.Name, k.HTTPOnly, k.SameSite)
		}
		session = k.Value
	}

	// A link on another site does not end the session: the cookie is not sent at first.
	b.run(chromedp.Navigate(c.issuer+"/elsewhere?"+url.QueryEscape(c.url+"/console/inbox")), chromedp.Click("#link"))
	b.shows(".who .name", "Ann")
	b.shows("h1", "Inbox")

	// The answer of the provider serves once.
	answer := b.seen("/console/sign-in/openid/corp?")
	b.run(chromedp.Navigate(answer))
	b.shows("h1", "not signed in")
	b.run(chromedp.Navigate(c.url + "/console/"))
	b.shows(".who .name", "Ann")

	// Another browser is not signed in as Ann by her answer, nor without one.
	other := c.openAt(t)
	other.run(chromedp.Navigate(c.url+"/console/sign-in"), chromedp.WaitVisible("#key"), chromedp.Navigate(answer))
	other.shows("h1", "not signed in")
	other.signIn("/console/", "nobody")
	other.shows("h1", "not signed in")
	other.run(chromedp.Navigate(c.url + "/console/"))
	other.shows("h1", "Sign in")
	other.signIn("/console/", "root")
	other.shows(".who .name", "admin")
	other.run(chromedp.Navigate(c.url + "/console/audit"))
	other.shows("h1", "Audit")

	b.run(chromedp.Click(".who button"))
	b.shows("h1", "signed out")
	b.run(chromedp.Click("main a.button"), chromedp.WaitVisible("#key"))
	if session == "" || session == b.cookies()[0].Value {
		t.Error("the browser has the cookie of the session after the sign-out")
	}
	// The session itself has ended, too.
	b.run(network.SetCookie("parley_console", session).WithURL(c.url+"/console/"), chromedp.Navigate(c.url+"/console/"))
	b.shows("h1", "Sign in")
}
