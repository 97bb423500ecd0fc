package chart

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// adminKey is the administrator's key in the tests.
const adminKey = "0123456789abcdef0123456789abcdef"

// patience is the limit of a test on a busy machine.
const patience = 5 * time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// hub is a started hub of the chart.
type hub struct {
	*pod
	*process

	url string
}

// begin starts a hub of the StatefulSet, and waits until it is ready.
func (m *manifests) begin(ctx context.Context, t *testing.T, number int, s secrets) *hub {
	t.Helper()
	set := only[*appsv1.StatefulSet](t, m)
	p := m.place(t, fmt.Sprintf("%s-%d", set.Name, number), set.Spec.Template, s)
	h := &hub{pod: p, process: launch(t, p.command(t)), url: "http://" + p.ports[4100]}
	h.await(ctx, t, 0, `"msg":"ready"`)
	return h
}

// get returns the status of a request, with the administrator's key if it is asked for.
func (h *hub) get(ctx context.Context, t *testing.T, path string, key string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// call runs a command as the administrator.
func (h *hub) call(t *testing.T, args ...string) string {
	t.Helper()
	return parley(t, append(args, "--url", h.url, "--api-key", adminKey)...)
}

// probe calls the probes of the template as a kubelet does.
func (h *hub) probe(ctx context.Context, t *testing.T, c corev1.Container) {
	t.Helper()
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		get := probe.HTTPGet
		if get == nil || get.Port.StrVal != "http" || get.Scheme != corev1.URISchemeHTTP {
			t.Errorf("%s: the probe is %+v, want GET of the port http", name, probe)
			continue
		}
		if status := h.get(ctx, t, get.Path, ""); status != http.StatusOK {
			t.Errorf("%s: %s has the status %d", name, get.Path, status)
		}
	}
	parley(t, "health", "--url", h.url)
}

// TestSingle: the hub of mode single starts from its manifests, passes its probes, shows its
// metrics to Prometheus alone, and applies a changed ConfigMap.
func TestSingle(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	m := install(t, parse(t, `{grpc: {enabled: true}, serviceMonitor: {enabled: true}, agents: [{name: first, url: "http://127.0.0.1:9/a2a"}]}`))
	h := m.begin(ctx, t, 0, secrets{"parley/admin-key": adminKey})
	h.probe(ctx, t, only[*appsv1.StatefulSet](t, m).Spec.Template.Spec.Containers[0])
	if with, without := h.get(ctx, t, "/metrics", adminKey), h.get(ctx, t, "/metrics", ""); with != http.StatusOK || without == http.StatusOK {
		t.Errorf("/metrics has the status %d with the key and %d without it", with, without)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.ports[4101])
	if err != nil {
		t.Fatalf("gRPC: %v", err)
	}
	_ = c.Close()
	if out := h.call(t, "agents", "list"); !strings.Contains(out, "first") {
		t.Errorf("the agents are\n%s\nwant first among them", out)
	}
	h.reload(ctx, t)
	if out := h.call(t, "send", "hello"); !strings.Contains(out, "hello") {
		t.Errorf("the answer is %q", out)
	}
}

// reload changes both ConfigMaps as a cluster does, and waits until the hub has applied them.
func (h *hub) reload(ctx context.Context, t *testing.T) {
	t.Helper()
	for n, name := range []string{"second", "third"} { // twice: the links of the first change are followed, too
		from := h.count()
		next := install(t, parse(t, fmt.Sprintf(`{grpc: {enabled: true}, agents: [{name: %s, url: "http://127.0.0.1:9/a2a"}], config: {log: {level: %q}}}`, name, []string{"debug", "warn"}[n])))
		project(t, h.mounts["/etc/parley/agents"], next.configMap(t, release+"-agents").Data)
		h.await(ctx, t, from, `"msg":"source of agents has changed"`)
		if out := h.call(t, "agents", "list"); !strings.Contains(out, name) || strings.Contains(out, "first") {
			t.Errorf("the agents are\n%s\nwant %s, and first no more", out, name)
		}
		project(t, h.mounts["/etc/parley/config"], next.configMap(t, release).Data)
		if n == 0 {
			h.await(ctx, t, from, `"msg":"configuration changed and applied"`)
		}
	}
}

// TestCluster: two hubs of mode cluster start from one StatefulSet, know each other by the names
// of their pods, and share tasks; one that was killed returns under its name.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	m := install(t, parse(t, `{mode: cluster, database: {secret: db}, masterKey: {secret: parley}}`))
	url := pgtest.Shared(t).Database(t)
	s := secrets{"parley/admin-key": adminKey, "parley/master-key": strings.Repeat("0f", 32), "db/url": url}
	first, second := m.begin(ctx, t, 0, s), m.begin(ctx, t, 1, s)
	for _, h := range []*hub{first, second} {
		h.probe(ctx, t, only[*appsv1.StatefulSet](t, m).Spec.Template.Spec.Containers[0])
	}
	if out := parley(t, "hubs", "list", "--store", url); !strings.Contains(out, "parley-0") || !strings.Contains(out, "parley-1") {
		t.Errorf("the hubs are\n%s\nwant parley-0 and parley-1", out)
	}
	id := strings.TrimSpace(first.call(t, "send", "--quiet", "--detach", "hello"))
	if out := second.call(t, "tasks", "get", id); !strings.Contains(out, "hello") {
		t.Errorf("the other hub shows the task as\n%s", out)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.wait()
	again := &hub{pod: first.pod, process: launch(t, first.command(t)), url: first.url}
	again.await(ctx, t, 0, `"msg":"ready"`)
	parley(t, "health", "--url", again.url)
}

// TestWorkers: workers of the chart, with and without KEDA, perform the messages that the hub of
// the chart has accepted before they ran.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, keda := range []bool{false, true} {
		t.Run(fmt.Sprintf("keda %v", keda), func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			m := install(t, parse(t, fmt.Sprintf(`
bus: {secret: broker}
keda: {enabled: %v, nats: {monitoring: "nats:8222"}}
workers: [{name: shouter, image: "registry.example/shouter:1", command: [tr, a-z, A-Z]}]`, keda)))
			s := secrets{"parley/admin-key": adminKey, "broker/url": natstest.Start(t, natstest.Debian(t)).URL}
			h := m.begin(ctx, t, 0, s)
			id := strings.TrimSpace(h.call(t, "send", "--quiet", "--detach", "--agent", "shouter", "hello"))
			w := launch(t, m.place(t, "worker", m.worker(t, keda), s).command(t))
			if keda { // the job ends with its message
				if err := w.wait(); err != nil {
					log, _ := w.since(0)
					t.Errorf("the job ended with %v:\n%s", err, log)
				}
			}
			if out := h.call(t, "tasks", "watch", id); !strings.Contains(out, "HELLO") {
				t.Errorf("the task ended as\n%s", out)
			}
			if !keda {
				w.stop(t)
			}
		})
	}
}

// stop ends a worker as a kubelet does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		log, _ := p.since(0)
		t.Errorf("the worker ended with %v:\n%s", err, log)
	}
}

// worker returns the template of the only worker.
func (m *manifests) worker(t *testing.T, keda bool) corev1.PodTemplateSpec {
	t.Helper()
	if !keda {
		return only[*appsv1.Deployment](t, m).Spec.Template
	}
	jobs := m.kinds("ScaledJob")
	if len(jobs) != 1 {
		t.Fatalf("there are %d ScaledJobs, want 1", len(jobs))
	}
	return job(t, jobs[0]).Template
}
