package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// TestCurves checks that administrators alone see curves, and that other callers get the same page
// and the same answer whatever the hub does.
func TestCurves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	boss, ann := w.as(rootKey), w.as(annsKey)
	page := boss.get("/console/").body
	for _, want := range []string{`data-curves="/console/samples"`, "Throughput", `data-name="latency.p99"`, `data-name="open.input_required"`, `data-name="dead_letters"`, `data-name="store.p99"`, "uPlot.iife.min.js"} {
		if !strings.Contains(page, want) {
			t.Errorf("the overview of an administrator is without %s", want)
		}
	}
	var answer struct {
		StepMs int64
		Curves []struct{ Name string }
	}
	if a := boss.get("/console/samples"); json.Unmarshal([]byte(a.body), &answer) != nil || answer.StepMs != 10_000 || len(answer.Curves) < 10 {
		t.Errorf("/console/samples = %d %.200s", a.code, a.body)
	}
	before := ann.get("/console/samples?after=0")
	boss.done(boss.send("echo", "x"))
	if after := ann.get("/console/samples?after=0"); before.code != 403 || after.code != 403 || before.body != after.body {
		t.Errorf("curves for a caller = %d, %d, want the same refusal", before.code, after.code)
	}
	if page := ann.get("/console/").body; strings.Contains(page, "curve") || strings.Contains(page, "uPlot") {
		t.Error("the overview of a caller has curves")
	}
}

// TestReleased checks that the files of others are those of their release, and that browsers get no
// folder and no template.
func TestReleased(t *testing.T) {
	t.Parallel()
	p := newWorld(t, false).person()
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		a := p.get("/console/assets/uplot/" + name)
		if sum := sha256.Sum256([]byte(a.body)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the hash %x, want that of uPlot 1.6.32: %s", name, sum, want)
		}
	}
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml", "uplot/LICENSE": "text/plain; charset=utf-8"} {
		if a := p.get("/console/assets/" + name); a.code != 200 || a.header.Get("Content-Type") != kind {
			t.Errorf("%s = %d, %s", name, a.code, a.header.Get("Content-Type"))
		}
	}
	for _, name := range []string{"", "uplot", "uplot/", "none.css", "..%2ftemplates%2flayout.html", "..%2f..%2f"} {
		if a := p.get("/console/assets/" + name); a.code != 404 {
			t.Errorf("%q = %d %.100s", name, a.code, a.body)
		}
	}
}
