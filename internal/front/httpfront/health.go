package httpfront

import (
	"encoding/json"
	"net/http"

	"github.com/parley-a2a/parley/internal/engine"
)

// serveHealth reports that the process is up, without further checks.
func (x *exchange) serveHealth() {
	x.w.Header()["Cache-Control"] = noStore
	x.body(http.StatusOK, jsonType, []byte(`{"status":"ok"}`))
}

// serveReady reports whether the hub can accept work, with the result of each check.
func (x *exchange) serveReady() {
	report := struct {
		Status string         `json:"status"`
		Checks []engine.Check `json:"checks"`
	}{"ready", x.front.cfg.Engine.Ready(x.r.Context())}
	code := http.StatusOK
	for _, c := range report.Checks {
		if !c.OK {
			report.Status, code = "not ready", http.StatusServiceUnavailable
		}
	}
	b, err := json.Marshal(report)
	if err != nil {
		x.fail(err)
		return
	}
	x.w.Header()["Cache-Control"] = noStore
	x.body(code, jsonType, b)
}
