package cli

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// series are the labels of the metrics on a page, by the names of their series.
type series map[string]map[string]bool

// scraped returns the metrics of a hub, read by Prometheus' own parser.
func scraped(t *testing.T, h *busHub) map[string]*dto.MetricFamily {
	t.Helper()
	code, page := h.call("GET /metrics", "")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page + "\n"))
	if err != nil || code != 200 {
		t.Fatalf("/metrics = %d, %v", code, err)
	}
	return families
}

// seriesOf returns the series of the metrics.
func seriesOf(families map[string]*dto.MetricFamily) series {
	all := make(series)
	for name, f := range families {
		labels := map[string]bool{"instance": true, "job": true}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		all[name] = labels
		if f.GetType() == dto.MetricType_HISTOGRAM {
			all[name+"_sum"], all[name+"_count"], all[name+"_bucket"] = labels, labels, maps.Clone(labels)
			all[name+"_bucket"]["le"] = true
		}
	}
	return all
}

// gauge returns the value of the row of a metric that has all labels, such as "state=waiting".
func gauge(t *testing.T, f *dto.MetricFamily, labels ...string) float64 {
	t.Helper()
rows:
	for _, m := range f.GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, l.GetName()+"="+l.GetValue())
		}
		for _, l := range labels {
			if !slices.Contains(has, l) {
				continue rows
			}
		}
		return m.GetGauge().GetValue()
	}
	t.Errorf("%s has no row with %v", f.GetName(), labels)
	return -1
}

// busyHub starts a hub and lets it record every metric that a dashboard shows.
func busyHub(t *testing.T) (*busHub, map[string]*dto.MetricFamily) {
	t.Helper()
	received := make(chan struct{}, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received <- struct{}{} }))
	t.Cleanup(hook.Close)
	far := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(far.Close)
	b := new(bus.Memory)
	h := serveOn(t, b, t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{
			{Name: "greeter", Queue: "greeter"},
			{Name: "fails", Command: config.Command{"false"}},
			{Name: "far", URL: far.URL},
		}
		c.Push.Allow = []string{"loopback"}
	})
	poison := h.send("greeter", "poison")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for d, err := range b.Receive(ctx, bus.Subscription{At: protocol.JobAt("greeter")}) {
		if err == nil {
			err = d.DeadLetter(ctx, "it cannot be read")
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	h.follow(poison)
	h.send("greeter", "waits")
	h.follow(h.send("fails", "now"))
	h.follow(h.send("far", "now"))
	code, answer := h.call("POST /v1/a2a/fails/message:send", `{"message":{"messageId":"p","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"url":"`+hook.URL+`"}}}`, "A2A-Version: 1.0")
	if code != 200 {
		t.Fatalf("send with a webhook = %d %s", code, answer)
	}
	<-received
	h.call("GET /v1/a2a/tasks/missing", "", "A2A-Version: 1.0")
	trace.Count(ctx, trace.Republished, trace.Labels{Agent: "greeter"}, 1) // these take a broker, damage, a full disk and a model
	trace.Count(ctx, trace.Damaged, trace.Labels{}, 1)
	trace.Committed(1, time.Millisecond, "full")
	trace.Count(ctx, trace.ModelInput, trace.Labels{Agent: "m", Protocol: "p"}, 1)
	trace.Count(ctx, trace.ModelOutput, trace.Labels{Agent: "m", Protocol: "p"}, 1)
	trace.Count(ctx, trace.WebhookTries, trace.Labels{Outcome: "accepted"}, 1) // it is counted after the answer
	return h, scraped(t, h)
}

// TestMetricsOfQueues checks the numbers of tasks at queues and of dead letters, and that
// dashboards, alerts and the reference name metrics and labels that a hub has. It does not run in
// parallel: the provider belongs to the process.
func TestMetricsOfQueues(t *testing.T) {
	_, families := busyHub(t)
	if n := gauge(t, families["parley_queue_depth"], "target_agent=greeter", "state=waiting"); n != 1 {
		t.Errorf("%v tasks wait for a worker, want 1", n)
	}
	if n := gauge(t, families["parley_queue_depth"], "target_agent=greeter", "state=claimed"); n != 0 {
		t.Errorf("%v tasks are claimed, want 0", n)
	}
	if s := gauge(t, families["parley_queue_lag_seconds"], "target_agent=greeter"); s <= 0 || s > 600 {
		t.Errorf("the lag is %v s", s)
	}
	if n := gauge(t, families["parley_dead_letters"]); n != 1 {
		t.Errorf("%v dead letters, want 1", n)
	}
	if n := gauge(t, families["parley_queue_oldest_seconds"]); n != 0 {
		t.Errorf("a task waits for a run for %v s; none waits", n)
	}
	all := seriesOf(families)
	for _, expr := range slices.Concat(dashboard(t), alerts(t)) {
		for _, problem := range all.check(expr) {
			t.Errorf("%s: %s", expr, problem)
		}
	}
	reference(t, families)
}

// TestExpressionCheck checks the check.
func TestExpressionCheck(t *testing.T) {
	t.Parallel()
	all := series{"parley_a": {"x": true, "instance": true}, "parley_b_bucket": {"le": true, "x": true}}
	for expr, want := range map[string]int{
		`sum by (x) (parley_a{instance=~"$instance",x="parley_none"}) > 1`: 0,
		`histogram_quantile(0.9, sum by (le) (rate(parley_b_bucket[5m])))`: 0,
		`sum(parley_c)`:               1,
		`sum by (y) (parley_a)`:       1,
		`parley_a{z="1"}`:             1,
		`parley_a / parley_a{x=1`:     1,
		`label_values(parley_a, x)`:   0,
		`rate(parley_a[5x]) + nosuch`: 2,
	} {
		if got := all.check(expr); len(got) != want {
			t.Errorf("%s: %q, want %d problems", expr, got, want)
		}
	}
}

var (
	stringLiteral = regexp.MustCompile(`"[^"]*"`)
	selector      = regexp.MustCompile(`([a-z_][a-z0-9_]*)\s*\{([^{}]*)\}`)
	matcher       = regexp.MustCompile(`^\s*([a-z_]+)\s*(=~|!~|!=|=)\s*""\s*$`)
	grouping      = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^()]*)\)`)
	duration      = regexp.MustCompile(`\[([^\[\]]*)\]`)
	words         = regexp.MustCompile(`[a-z_][a-z0-9_]*`)
	functions     = []string{"sum", "min", "max", "rate", "increase", "absent", "histogram_quantile", "label_values", "avg"}
)

// check returns the problems of an expression: metrics and labels that do not exist, functions
// that are not known here, and brackets that do not match.
func (s series) check(expr string) (problems []string) {
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			return []string{"the brackets " + pair + " do not match"}
		}
	}
	expr = stringLiteral.ReplaceAllString(expr, `""`)
	labels := []string{}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		for part := range strings.SplitSeq(m[2], ",") {
			label := matcher.FindStringSubmatch(part)
			if label == nil {
				problems = append(problems, part+" is no matcher")
			} else if s[m[1]] != nil && !s[m[1]][label[1]] {
				problems = append(problems, m[1]+" has no label "+label[1])
			}
		}
	}
	expr = selector.ReplaceAllString(expr, "$1")
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		labels = append(labels, words.FindAllString(m[1], -1)...)
	}
	expr = grouping.ReplaceAllString(expr, "")
	for _, m := range duration.FindAllStringSubmatch(expr, -1) {
		if _, err := model.ParseDuration(m[1]); err != nil && m[1] != "$__rate_interval" {
			problems = append(problems, m[1]+" is no duration")
		}
	}
	expr = duration.ReplaceAllString(expr, "")
	if before, label, ok := strings.Cut(expr, ","); ok && strings.HasPrefix(expr, "label_values(") {
		labels, expr = append(labels, words.FindString(label)), before
	}
	var metrics []string
	for _, w := range words.FindAllString(expr, -1) {
		switch {
		case s[w] != nil:
			metrics = append(metrics, w)
		case !slices.Contains(functions, w):
			problems = append(problems, w+" is no metric of a hub")
		}
	}
	for _, label := range labels {
		if len(metrics) > 0 && !slices.ContainsFunc(metrics, func(m string) bool { return s[m][label] }) {
			problems = append(problems, "no metric of the expression has the label "+label)
		}
	}
	return problems
}

// deployed reads a file below deploy.
func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dashboard returns the expressions of the dashboard, and checks that its panels have ids of
// their own and do not overlap.
func dashboard(t *testing.T) (exprs []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana/parley.json"), &d); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: no id of its own, no title, or no expression", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			at := [2]int{x, p.GridPos.Y}
			if cells[at] != "" || x >= 24 {
				t.Errorf("panel %q overlaps %q, or is outside", p.Title, cells[at])
			}
			cells[at] = p.Title
		}
		for _, q := range p.Targets {
			exprs = append(exprs, q.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			exprs = append(exprs, v.Query)
		}
	}
	if len(exprs) < 20 {
		t.Errorf("%d expressions, want more", len(exprs))
	}
	return exprs
}

// alerts returns the expressions of the alerts. Each has a severity, a summary, and a section of the page of
// alerts.
func alerts(t *testing.T) (exprs []string) {
	t.Helper()
	var f struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(deployed(t, "prometheus/alerts.yaml"), &f, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "howto", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")[1:]
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			runbook := "https://github.com/parley-a2a/parley/blob/main/docs/howto/alerts.md#" + strings.ToLower(r.Alert)
			at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, r.Alert+"\n\n") })
			if at < 0 || r.Annotations["runbook_url"] != runbook {
				t.Errorf("alert %q has no section in docs/howto/alerts.md, or another runbook_url than %s", r.Alert, runbook)
			} else {
				sections = slices.Delete(sections, at, at+1)
			}
			if r.For != "" {
				if _, err := model.ParseDuration(r.For); err != nil {
					t.Errorf("%s: for %v", r.Alert, err)
				}
			}
			if r.Alert == "" || !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
				t.Errorf("alert %q lacks its name, severity or summary", r.Alert)
			}
			exprs = append(exprs, r.Expr)
		}
	}
	if len(sections) > 0 {
		t.Errorf("docs/howto/alerts.md has sections without an alert: %q", sections)
	}
	return exprs
}

// reference checks that docs/metrics.md has each metric of the hub with its labels.
func reference(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `(parley_[a-z0-9_]+)` \\| [a-z]+ \\| ([^|]*) \\|")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = regexp.MustCompile(`[a-z0-9_]+`).FindAllString(m[2], -1)
	}
	var missing []string
	for name, f := range families {
		if !strings.HasPrefix(name, "parley_") {
			continue
		}
		if _, ok := documented[name]; !ok {
			missing = append(missing, name)
			continue
		}
		for label := range seriesOf(map[string]*dto.MetricFamily{name: f})[name] {
			if label != "instance" && label != "job" && !strings.HasPrefix(label, "otel_") && !slices.Contains(documented[name], label) {
				t.Errorf("docs/metrics.md: %s lacks the label %s", name, label)
			}
		}
	}
	slices.Sort(missing)
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("docs/metrics.md lacks metrics (-want +got):\n%s", diff)
	}
	for name := range documented {
		if families[name] == nil && !slices.Contains(rare, name) {
			t.Errorf("docs/metrics.md has %s, which the hub does not have", name)
		}
	}
}

// rare are metrics that take a stream of a remote agent or questions of an agent.
var rare = []string{
	"parley_a2a_polling_attempts_total", "parley_a2a_streaming_events_total", "parley_a2a_subscribe_fallbacks_total",
	"parley_a2a_input_required_rounds_total", "parley_a2a_input_required_breaks_total",
}
