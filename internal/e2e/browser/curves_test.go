package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestCurves keeps the overview open until the hub has taken a sample of its work.
func TestCurves(t *testing.T) {
	b := open(t, start(t))
	for range 3 {
		b.send("echo", "Hello")
	}
	b.run(chromedp.Navigate(b.hub.url + "/console/"))
	b.holds(`document.querySelectorAll(".curve canvas").length === document.querySelectorAll(".curve").length && document.querySelectorAll(".curve").length >= 4`)
	b.holds(`/^[0-9.]+ ms$/.test(document.querySelector('[data-name="store.p50"] b').textContent)`)
	b.holds(`document.getElementById("curvenote").textContent === ""`)
	b.shot("overview-curves")
}
