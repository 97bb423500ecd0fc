package browser_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCancel cancels a task that is working, on its page.
func TestCancel(t *testing.T) {
	b := open(t, start(t))
	b.send("slow", "60s 60 steps")
	b.shows("#head .badge", "working")
	b.confirms("Cancel", "")
	b.shows("#head .badge", "canceled")
}

// asks clicks the button of an action, below the nodes of a selector, which opens its dialog. It clicks by script: the
// page replaces its pieces at any time, and a click of the mouse may meet the one before.
func (b *tab) asks(below, label string) {
	b.t.Helper()
	b.holds(fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll(%q + " details.action > summary")];
		all.find(s => s.textContent.includes(%q))?.click();
		return document.querySelector("dialog[open] form") !== null;
	})()`, below, label))
}

// answers fills in the dialog that is open, and sends its form.
func (b *tab) answers(text string) {
	b.t.Helper()
	b.run(chromedp.Evaluate(fmt.Sprintf(`(() => {
		const form = document.querySelector("dialog[open] form"), text = %q;
		if (text) form.querySelector("input:not([type=hidden])").value = text;
		form.querySelector("button:not(.close)").click();
	})()`, text), nil))
}

// confirms clicks the button of an action, answers its dialog, and sends the form.
func (b *tab) confirms(label, text string) {
	b.t.Helper()
	b.asks("main", label)
	b.answers(text)
}

// versions returns the last version of each item on the page, and how many entries it joins.
func (b *tab) versions() (all [][2]int) {
	b.t.Helper()
	b.run(chromedp.Evaluate(`[...document.querySelectorAll("#timeline > .entry[data-version]")].map(e => [Number(e.dataset.version), Number(e.querySelector(".chunks b").textContent)])`, &all))
	return all
}

// TestKill kills the hub under the page of a task that is working. The page reports the lost
// connection, finds the hub again, and has every entry once.
func TestKill(t *testing.T) {
	h := start(t, "--listen", "127.0.0.1:0")
	b := open(t, h)
	b.run(chromedp.Navigate(h.url+"/console/"), chromedp.WaitVisible("h1"))
	b.send("slow", "60s 120 steps")
	b.holds(`document.querySelectorAll("#timeline > .entry").length > 3`)
	id := b.task()
	b.run(chromedp.Evaluate(`window.stayed = true`, nil))
	u, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	h.kill(t)
	b.shows("#live", "connection lost")
	h.serve(t, "--listen", u.Host)
	b.shows("#live", "live")
	h.cancel(t, id)
	b.shows("#head .badge", "canceled")
	var stayed bool
	b.run(chromedp.Evaluate(`window.stayed === true`, &stayed))
	if !stayed {
		t.Error("the page was loaded again")
	}
	last, whole := 0, 0
	for i, v := range b.versions() {
		if v[0] <= last {
			t.Errorf("entry %d of the page is #%d, after #%d", i, v[0], last)
		}
		last, whole = v[0], whole+v[1]
	}
	if last == 0 || whole != last {
		t.Errorf("the page has %d entries of %d", whole, last)
	}
}

// cancel cancels a task beside the browser.
func (h *hub) cancel(t *testing.T, id string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/v1/a2a/tasks/"+id+":cancel", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("cancel = %s", resp.Status)
	}
}

// TestKeyboard moves with the keyboard alone: to a page, through its lines, and to its first
// field.
func TestKeyboard(t *testing.T) {
	b := open(t, start(t))
	for i := range 3 {
		b.send("echo", fmt.Sprint("message ", i))
	}
	b.run(chromedp.KeyEvent("g"), chromedp.KeyEvent("t"), chromedp.WaitVisible("table.tasks"))
	focus := func() (s string) {
		b.run(chromedp.Evaluate(`document.activeElement.title || document.activeElement.name || ""`, &s))
		return s
	}
	b.run(chromedp.KeyEvent("j"))
	first := focus()
	b.run(chromedp.KeyEvent("j"))
	second := focus()
	b.run(chromedp.KeyEvent("k"))
	if back := focus(); first == "" || first == second || back != first {
		t.Errorf("j, j, k focus %q, %q, %q", first, second, back)
	}
	b.run(chromedp.KeyEvent("/"))
	if s := focus(); s != "q" {
		t.Errorf("/ focuses %q", s)
	}
	b.run(chromedp.Evaluate(`document.activeElement.value = ""`, nil)) // the protocol types the slash, too
	b.run(chromedp.KeyEvent(second[:len(second)-2] + kb.Enter))
	b.holds(`document.querySelector("#timeline") !== null`)
	if id := b.task(); !strings.HasPrefix(second, id) {
		t.Errorf("the beginning of %s leads to %s", second, id)
	}
}
