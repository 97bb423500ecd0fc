package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/task"
)

// sample is the outcome of one task. Its JSON keys are short because there are many samples.
type sample struct {
	Success    bool    `json:"s,omitempty"`
	Cost       float64 `json:"c,omitempty"` // US dollars
	Input      int64   `json:"i,omitempty"` // tokens
	Output     int64   `json:"o,omitempty"`
	Millis     int64   `json:"m,omitempty"`
	Confidence float64 `json:"p,omitempty"`
	Sure       bool    `json:"q,omitempty"` // whether Confidence was reported
}

// record holds the last samples of an agent and a skill, oldest first.
type record struct{ samples []sample }

func (r *record) add(s sample) {
	if len(r.samples) >= window {
		r.samples = append(r.samples[:0], r.samples[len(r.samples)-window+1:]...)
	}
	r.samples = append(r.samples, s)
}

// weight returns the relative probability of drawing the agent.
func (r *record) weight() float64 {
	if r == nil || len(r.samples) == 0 {
		return 1
	}
	successes, cost := 0.0, 0.0
	for i := range r.samples {
		cost += r.samples[i].Cost
		if r.samples[i].Success {
			successes++
		}
	}
	if successes == 0 {
		return leastWeight
	}
	rate := successes / float64(len(r.samples))
	return max(rate/(1+cost/successes), leastWeight)
}

// MIME types of the recognised parts.
const (
	mark           = "application/vnd.protolabs."
	costType       = mark + "cost-v1+json"
	confidenceType = mark + "confidence-v1+json"
)

// gateKey is the metadata of the status by which the gate ends a task that it does not pass on.
const gateKey = "parley.gate"

// Wants reports whether a message or artifact may contain a cost or a confidence, or is the
// gate's refusal.
func Wants(body []byte) bool {
	return bytes.Contains(body, []byte(mark)) || bytes.Contains(body, []byte(gateKey))
}

// claims collects the data that an agent reports in the parts of a task.
type claims struct {
	cost       costClaim
	confidence confidenceClaim
	sure       bool
	// refused is set if the gate has refused the task, so that its agent never saw it.
	refused bool
}

// costClaim is the payload of cost-v1.
type costClaim struct {
	Usage struct {
		Input      float64 `json:"input_tokens"`
		Output     float64 `json:"output_tokens"`
		CacheRead  float64 `json:"cache_read_input_tokens"`
		CacheWrite float64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
	DurationMs float64 `json:"durationMs"`
	CostUSD    float64 `json:"costUsd"`
	Success    *bool   `json:"success"`
}

// Spent is the cost of a task, as its agent has reported it.
type Spent struct {
	// Input and Output are numbers of tokens; Input has those that were cached, too.
	Input, Output int64
	// USD is the cost in dollars, if the agent knows it.
	USD float64
}

// SpentIn returns the cost that a message reports; zero if it reports none.
func SpentIn(message []byte) Spent {
	if !Wants(message) {
		return Spent{}
	}
	var c claims
	c.read(message)
	u := &c.cost.Usage
	return Spent{Input: tokens(u.Input + u.CacheRead + u.CacheWrite), Output: tokens(u.Output), USD: min(max(c.cost.CostUSD, 0), maxUSD)}
}

// maxTokens and maxUSD bound reports, which are untrusted.
const maxTokens, maxUSD = 1e12, 1e9

func tokens(n float64) int64 { return int64(min(max(n, 0), maxTokens)) }

// confidenceClaim is the payload of confidence-v1.
type confidenceClaim struct {
	Confidence *float64 `json:"confidence"`
	Success    *bool    `json:"success"`
}

// read reads the claims in a body. Unreadable parts are ignored, because the body is untrusted.
func (c *claims) read(body []byte) {
	var holder struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Parts    []struct {
			Data     json.RawMessage `json:"data"`
			Metadata struct {
				MimeType string `json:"mimeType"`
			} `json:"metadata"`
		} `json:"parts"`
	}
	if json.Unmarshal(body, &holder) != nil {
		return
	}
	if holder.Metadata[gateKey] != nil {
		c.refused = true
	}
	if own := holder.Metadata[costType]; own != nil { // the form used by the agents of the hub
		var cost costClaim
		if json.Unmarshal(own, &cost) == nil {
			c.cost = cost
		}
	}
	for _, p := range holder.Parts {
		switch p.Metadata.MimeType {
		case costType:
			var cost costClaim
			if json.Unmarshal(p.Data, &cost) == nil {
				c.cost = cost
			}
		case confidenceType:
			var confidence confidenceClaim
			if json.Unmarshal(p.Data, &confidence) == nil && confidence.Confidence != nil {
				c.confidence, c.sure = confidence, true
			}
		}
	}
}

// sampleOf returns the sample of a task; false if the task is not counted, because its end is not
// the agent's work.
func sampleOf(o *Outcome) (sample, bool) {
	var s sample
	if o.ByHub {
		return s, false
	}
	switch o.State {
	case task.Completed:
		s.Success = true
	case task.Failed, task.Rejected:
	default:
		return s, false
	}
	var c claims
	for _, body := range o.Bodies {
		c.read(body)
	}
	if c.refused {
		return s, false
	}
	for _, text := range []*bool{c.confidence.Success, c.cost.Success} {
		if text != nil && s.Success {
			s.Success = *text // a report can lower a success, never turn a failure into a success
		}
	}
	s.Cost = amount(c.cost.CostUSD, 1e6)
	s.Input = int64(amount(c.cost.Usage.Input+c.cost.Usage.CacheRead+c.cost.Usage.CacheWrite, 1e12))
	s.Output = int64(amount(c.cost.Usage.Output, 1e12))
	s.Millis = int64(cmp.Or(amount(c.cost.DurationMs, 1e12), float64(o.Took.Milliseconds())))
	if c.sure {
		s.Confidence, s.Sure = amount(*c.confidence.Confidence, 1), true
	}
	return s, true
}

// amount limits x to the range from 0 to most.
func amount(x, most float64) float64 {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return min(x, most)
}

// Cost summarises the costs of an agent and a skill.
type Cost struct {
	Agent          task.Agent `json:"agent"`
	Skill          string     `json:"skill"`
	Samples        int        `json:"samples"`
	SuccessRate    float64    `json:"successRate"`
	CostUSD        float64    `json:"costUsd"`
	CostPerSuccess float64    `json:"costPerSuccess"`
	InputTokens    int64      `json:"inputTokens"`
	OutputTokens   int64      `json:"outputTokens"`
	// P50Ms and P95Ms are percentiles of the durations of tasks, in milliseconds.
	P50Ms int64 `json:"p50Ms"`
	P95Ms int64 `json:"p95Ms"`
	// Weight is the relative probability of drawing the agent.
	Weight float64 `json:"weight"`
}

// Confidence summarises the confidence of an agent in a skill.
type Confidence struct {
	Agent   task.Agent `json:"agent"`
	Skill   string     `json:"skill"`
	Samples int        `json:"samples"`
	// Mean is the average over all tasks; OnSuccess and OnFailure over successful and failed
	// tasks.
	Mean      float64 `json:"mean"`
	OnSuccess float64 `json:"onSuccess"`
	OnFailure float64 `json:"onFailure"`
	// SureFailures counts the failures with high confidence.
	SureFailures int `json:"sureFailures"`
}

// Filter selects summaries. The zero Filter selects all.
type Filter struct {
	Agent      task.Agent
	Skill      string
	MinSamples int
}

// each calls f for the selected records, sorted by agent and skill.
func (b *Broker) each(filter Filter, f func(at pair, r *record)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []pair
	for at := range b.learned {
		if (filter.Agent == "" || at.a == string(filter.Agent)) && (filter.Skill == "" || strings.EqualFold(at.b, filter.Skill)) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(x, y pair) int { return cmp.Or(strings.Compare(x.a, y.a), strings.Compare(x.b, y.b)) })
	for _, at := range all {
		f(at, b.learned[at])
	}
}

// Costs returns the costs of the selected agents and skills.
func (b *Broker) Costs(filter Filter) []Cost {
	all := []Cost{}
	b.each(filter, func(at pair, r *record) {
		if c := r.cost(at); c.Samples >= filter.MinSamples {
			all = append(all, c)
		}
	})
	return all
}

func (r *record) cost(at pair) Cost {
	c := Cost{Agent: task.Agent(at.a), Skill: at.b, Samples: len(r.samples), Weight: r.weight()}
	var times []int64
	successes := 0
	for i := range r.samples {
		s := &r.samples[i]
		c.CostUSD += s.Cost
		c.InputTokens += s.Input
		c.OutputTokens += s.Output
		times = append(times, s.Millis)
		if s.Success {
			successes++
		}
	}
	if successes > 0 {
		c.CostPerSuccess = c.CostUSD / float64(successes)
	}
	c.SuccessRate = float64(successes) / float64(max(len(r.samples), 1))
	slices.Sort(times)
	if n := len(times); n > 0 {
		c.P50Ms, c.P95Ms = times[n/2], times[min(n*95/100, n-1)]
	}
	return c
}

// Confidences returns the confidences of the selected agents and skills.
func (b *Broker) Confidences(filter Filter) []Confidence {
	all := []Confidence{}
	b.each(filter, func(at pair, r *record) {
		if c := r.confidence(at); c.Samples > 0 && c.Samples >= filter.MinSamples {
			all = append(all, c)
		}
	})
	return all
}

func (r *record) confidence(at pair) Confidence {
	c := Confidence{Agent: task.Agent(at.a), Skill: at.b}
	successes := 0
	for i := range r.samples {
		s := &r.samples[i]
		switch {
		case !s.Sure:
			continue
		case s.Success:
			successes++
			c.OnSuccess += s.Confidence
		default:
			c.OnFailure += s.Confidence
			if s.Confidence >= sure {
				c.SureFailures++
			}
		}
		c.Samples++
	}
	c.Mean = (c.OnSuccess + c.OnFailure) / float64(max(c.Samples, 1))
	c.OnSuccess /= float64(max(successes, 1))
	c.OnFailure /= float64(max(c.Samples-successes, 1))
	return c
}

// kept is the stored form of a record.
type kept struct {
	Agent   string   `json:"agent"`
	Skill   string   `json:"skill,omitempty"`
	Samples []sample `json:"samples"`
}

// Open loads the stored outcomes. Unreadable data is skipped.
func (b *Broker) Open(ctx context.Context) error {
	if b.cfg.Notes == nil {
		return nil
	}
	note, err := b.cfg.Notes.Note(ctx, noteName)
	if err != nil || note == nil {
		return err
	}
	var all []kept
	if err := json.Unmarshal(note, &all); err != nil {
		b.cfg.Logger.Warn("the stored task outcomes cannot be read; statistics start from zero", "error", err)
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range all {
		r := new(record)
		for _, s := range k.Samples {
			r.add(s)
		}
		b.learned[pair{k.Agent, k.Skill}] = r
	}
	return nil
}

// save stores the outcomes if they have changed.
func (b *Broker) save(ctx context.Context) error {
	if b.cfg.Notes == nil {
		return nil
	}
	b.mu.Lock()
	dirty := b.dirty
	b.dirty = false
	b.mu.Unlock()
	if !dirty {
		return nil
	}
	all := []kept{}
	b.each(Filter{}, func(at pair, r *record) { all = append(all, kept{at.a, at.b, slices.Clone(r.samples)}) })
	note, err := json.Marshal(all)
	if err == nil {
		err = b.cfg.Notes.PutNote(ctx, noteName, note)
	}
	if err != nil {
		b.mu.Lock()
		b.dirty = true
		b.mu.Unlock()
		return fmt.Errorf("keep outcomes: %w", err)
	}
	return nil
}
