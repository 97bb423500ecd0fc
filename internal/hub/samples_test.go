package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/push"
)

// TestSamples runs tasks on a hub and reads its curves.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Parts{Store: new(memstore.Store), Hubs: func() int { return 3 }}, Settings{Push: push.Options{Off: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range builtin.Agents() {
			if err := h.Register(engine.Agent{Name: a.Name, Card: a.Card, Executor: a.Executor}); err != nil {
				t.Fatal(err)
			}
		}
		api := h.API()
		h.Mount(Front{API: api})
		inside := h.Inside()
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel()
		work.Go(func() {
			if err := h.Run(ctx, Work{}); err != nil {
				t.Errorf("Run() = %v", err)
			}
		})
		<-h.engine.Recovered()
		for agent, text := range map[string]string{"slow": "2s 2 steps", "interview": "start", "echo": "x"} {
			body := `{"message":{"messageId":"` + agent + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
			if code, answer := ask(inside, "POST", "/v1/a2a/"+agent+"/message:send", body); code != http.StatusOK {
				t.Fatalf("%s = %d %s", agent, code, answer)
			}
		}
		time.Sleep(samples.Step)
		synctest.Wait()
		code, answer := ask(api, "GET", "/api/v1/samples", "")
		var c adminjson.Curves
		if err := json.Unmarshal([]byte(answer), &c); code != http.StatusOK || err != nil || len(c.Times) != 1 {
			t.Fatalf("GET /api/v1/samples = %d %s, want one sample", code, answer)
		}
		for name, want := range map[string]float64{"tasks.ended": .2, "tasks.failed": 0, "latency.p99": 2, "runs": 0, "hubs": 3, "store.p50": 50e-6} {
			got := c.Find(name).Values[0]
			if got == nil || *got < want*.9 || *got > want*1.1 {
				t.Errorf("%s = %v, want about %v", name, got, want)
			}
		}
		if got := c.Find("dead_letters").Values[0]; got != nil {
			t.Errorf("dead letters of a hub without a bus = %v, want an unknown value", *got)
		}
	})
}

// ask sends a request as an administrator.
func ask(to http.Handler, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r = r.WithContext(auth.WithPrincipal(r.Context(), &auth.Principal{ID: "boss", Roles: []string{auth.RoleAdmin}}))
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
