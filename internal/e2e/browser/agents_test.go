package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAddAgent reviews the card of an agent, adds the agent, probes, pauses and removes it.
func TestAddAgent(t *testing.T) {
	need(t)
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte("directory: {allow: [loopback]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const card = `article.card:has(a[href$="agent=far-report"])`
	far := start(t)
	b := open(t, start(t, "--config", file))
	b.run(chromedp.Navigate(b.hub.url+"/console/agents"), chromedp.WaitVisible(`input[name="url"]`),
		chromedp.SendKeys(`input[name="url"]`, far.url+"/a2a/report"), chromedp.Click(".after button"), chromedp.WaitVisible(".review"))
	b.shows(".review h2", "report")
	b.shot("agents-review")
	b.run(chromedp.SetValue(`.review input[name="agent"]`, "far-report"), chromedp.Click(`.review button`))
	b.shows(".news", "far-report was added")
	b.holds(`[...document.querySelectorAll("article.card")].some(c => c.querySelector("h2").textContent.startsWith("far-report") && c.querySelector('[value="remove"]'))`)
	b.run(chromedp.Evaluate(`[...document.querySelectorAll("article.card")].find(c => c.querySelector("h2").textContent.startsWith("far-report")).querySelector('[value="probe"]').click()`, nil))
	b.shows(".news", "far-report answers in")
	b.asks(card, "Pause")
	b.answers("")
	b.shows(".news", "far-report is paused")
	b.shot("agents-remote")
	b.asks(card, "Remove")
	b.answers("")
	b.shows(".news", "far-report was removed")
}
