package adminapi

import (
	"math"
	"net/http"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
)

// curves describe the series of the samples.
var curves = [samples.Count]struct{ name, unit, about string }{
	samples.Ended:         {"tasks.ended", "1/s", "Tasks that ended on this hub."},
	samples.Failed:        {"tasks.failed", "1/s", "Tasks that ended on this hub as failed or rejected."},
	samples.LatencyP50:    {"latency.p50", "s", "Median of the time from the creation of a task to its end."},
	samples.LatencyP99:    {"latency.p99", "s", "Time within which 99 of 100 tasks ended."},
	samples.Submitted:     {"open.submitted", "", "Submitted tasks of all hubs."},
	samples.Working:       {"open.working", "", "Working tasks of all hubs."},
	samples.InputRequired: {"open.input_required", "", "Tasks of all hubs that wait for input."},
	samples.AuthRequired:  {"open.auth_required", "", "Tasks of all hubs that wait for authorization."},
	samples.Runs:          {"runs", "", "Runs on this hub."},
	samples.Queued:        {"queue.runs", "", "Tasks that wait for a run on this hub."},
	samples.AtWorkers:     {"queue.workers", "", "Tasks that wait for a worker of their agent."},
	samples.Webhooks:      {"webhooks.backlog", "", "Webhooks with notifications to deliver."},
	samples.DeadLetters:   {"dead_letters", "", "Dead letters of queues that are stored."},
	samples.StoreP50:      {"store.p50", "s", "Median of the time that the store took for a change."},
	samples.StoreP99:      {"store.p99", "s", "Time within which the store stored 99 of 100 changes."},
	samples.Hubs:          {"hubs", "", "Hubs on the store that are alive."},
}

// listSamples answers with the samples after a time.
func (h *Handler) listSamples(r *http.Request) (*adminjson.Curves, error) {
	after := int64(0)
	if s := r.URL.Query().Get("after"); s != "" {
		var err error
		if after, err = strconv.ParseInt(s, 10, 64); err != nil || after < 0 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "after", "must be a number of milliseconds, at least 0")
		}
	}
	all := h.Samples.After(after)
	answer := &adminjson.Curves{StepMs: samples.Step.Milliseconds(), Times: make([]int64, len(all))}
	for i := range all {
		answer.Times[i] = all[i].At
	}
	for s, c := range curves {
		answer.Curves = append(answer.Curves, adminjson.Curve{Name: c.name, Unit: c.unit, About: c.about, Values: valuesOf(all, samples.Series(s))}) //nolint:gosec // there are few series
	}
	return answer, nil
}

// valuesOf returns the values of a series; an unknown one is nil.
func valuesOf(all []samples.Sample, s samples.Series) []*float64 {
	known, values := make([]float64, len(all)), make([]*float64, len(all))
	for i := range all {
		if v := float64(all[i].Values[s]); !math.IsNaN(v) {
			known[i] = v
			values[i] = &known[i]
		}
	}
	return values
}
