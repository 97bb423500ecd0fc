package console

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// panel is a chart of the overview.
type panel struct {
	Title, Unit string
	Lines       []line
}

// line is a curve of a chart.
type line struct {
	Name, Label string
	// Now is the last value in words.
	Now string
	// Tone is the class of its colour.
	Tone string
}

// panels are the charts of the overview, with the names of their curves in /api/v1/samples.
var panels = []panel{
	{"Throughput", "1/s", []line{{Name: "tasks.ended", Label: "ended", Tone: "good"}, {Name: "tasks.failed", Label: "failed", Tone: "bad"}}},
	{"Latency of tasks", "s", []line{{Name: "latency.p50", Label: "p50", Tone: "busy"}, {Name: "latency.p99", Label: "p99", Tone: "ask"}}},
	{"Open tasks", "", []line{
		{Name: "open.submitted", Label: "submitted", Tone: "calm"},
		{Name: "open.working", Label: "working", Tone: "busy"},
		{Name: "open.input_required", Label: "input required", Tone: "ask"},
		{Name: "open.auth_required", Label: "auth required", Tone: "bad"},
	}},
	{"Queues", "", []line{
		{Name: "runs", Label: "running", Tone: "busy"},
		{Name: "queue.runs", Label: "waiting for a run", Tone: "ask"},
		{Name: "queue.workers", Label: "waiting for a worker", Tone: "bad"},
	}},
	{"Deliveries", "", []line{{Name: "webhooks.backlog", Label: "webhooks to notify", Tone: "busy"}, {Name: "dead_letters", Label: "dead letters", Tone: "bad"}}},
	{"Latency of the store", "s", []line{{Name: "store.p50", Label: "p50", Tone: "busy"}, {Name: "store.p99", Label: "p99", Tone: "ask"}}},
	{"Hubs", "", []line{{Name: "hubs", Label: "alive", Tone: "good"}}},
}

// panelsOf returns the charts for curves. Curves that were never known are omitted, and charts
// without a curve.
func panelsOf(c *adminjson.Curves) (all []panel) {
	for _, p := range panels {
		shown := panel{Title: p.Title, Unit: p.Unit}
		for _, l := range p.Lines {
			curve := c.Find(l.Name)
			if curve == nil || len(c.Times) > 0 && !known(curve) && p.Unit != "s" {
				continue
			}
			l.Now = amount(lastOf(curve), p.Unit)
			shown.Lines = append(shown.Lines, l)
		}
		if len(shown.Lines) > 0 && (p.Title != "Hubs" || len(c.Times) > 0) {
			all = append(all, shown)
		}
	}
	return all
}

// known reports whether a curve has a value.
func known(c *adminjson.Curve) bool {
	for _, v := range c.Values {
		if v != nil {
			return true
		}
	}
	return false
}

// lastOf returns the last value of a curve; nil if it is not known.
func lastOf(c *adminjson.Curve) *float64 {
	if len(c.Values) == 0 {
		return nil
	}
	return c.Values[len(c.Values)-1]
}

// amount returns a value in words.
func amount(v *float64, unit string) string {
	switch {
	case v == nil:
		return "–"
	case unit == "s" && *v < .01:
		return fmt.Sprintf("%.2g ms", *v*1e3)
	case unit == "s":
		return span(time.Duration(*v * float64(time.Second)))
	case unit == "1/s" && *v > 0 && *v < 10:
		return fmt.Sprintf("%.1f/s", *v)
	case unit == "1/s":
		return fmt.Sprintf("%.0f/s", *v)
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// curves reads the charts of an administrator; other callers have none.
func (p *page) curves() []panel {
	if !p.caller.Admin {
		return nil
	}
	var c adminjson.Curves
	if err := p.get("/api/v1/samples", &c); err != nil {
		return nil // a policy may hide them
	}
	return panelsOf(&c)
}

// sampleData answers with the samples after a time, for the script of the overview.
func sampleData(p *page) error {
	var c json.RawMessage
	if err := p.get("/api/v1/samples?"+query("after", p.r.FormValue("after")), &c); err != nil {
		return err
	}
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.Itoa(len(c)))
	_, _ = p.w.Write(c) // an error means that the browser has disconnected
	return nil
}
