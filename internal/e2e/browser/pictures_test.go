package browser_test

import (
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
	for name, path := range map[string]string{"task": task, "tasks": "tasks", "try": "try?agent=interview&text=start", "overview": ""} {
		b.run(chromedp.Navigate(b.hub.url + "/console/" + path))
		var png []byte
		b.run(chromedp.WaitReady("main"), chromedp.EmulateViewport(1080, 680), chromedp.CaptureScreenshot(&png))
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
