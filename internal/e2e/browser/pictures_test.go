package browser_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPictures writes the pictures of the documentation into the folder PARLEY_PICTURES, if there
// is one.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PARLEY_PICTURES")
	if dir == "" {
		return
	}
	b := open(t, start(t))
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}))
	for _, s := range [][2]string{{"echo", "Hello"}, {"clock", "What time is it?"}, {"report", "the week"}, {"interview", "start"}} {
		b.send(s[0], s[1])
	}
	b.send("slow", "6s 3 steps")
	b.shows("#head .badge", "completed")
	task := "task?id=" + b.task()
	b.fillCurves()
	for name, path := range map[string]string{"task": task, "tasks": "tasks", "try": "try?agent=interview&text=start", "overview": ""} {
		b.run(chromedp.Navigate(b.hub.url + "/console/" + path))
		var png []byte
		b.run(chromedp.WaitReady("main"))
		if name == "overview" {
			b.holds(`[...document.querySelectorAll("[data-name] b")].every(e => e.textContent !== "–")`)
		}
		b.run(chromedp.EmulateViewport(1080, 680), chromedp.CaptureScreenshot(&png))
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fillCurves keeps agents at work until the curves of the overview have a dozen samples.
func (b *tab) fillCurves() {
	b.t.Helper()
	for n := 0; ; n++ {
		b.send("slow", "2s 2 steps")
		b.send("echo", "Hello again")
		if n%3 == 0 {
			b.send("report", "the month")
		}
		b.run(chromedp.Navigate(b.hub.url + "/console/samples"))
		var body string
		b.run(chromedp.Text("body", &body))
		var curves struct{ Times []int64 }
		if err := json.Unmarshal([]byte(body), &curves); err != nil {
			b.t.Fatalf("%v: %s", err, body)
		}
		if len(curves.Times) >= 12 {
			return
		}
	}
}
