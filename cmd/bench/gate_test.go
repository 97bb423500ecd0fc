package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// ratio returns the result of a row with planted ratios.
func ratio(rates, costs []float64) []rows.Result {
	return []rows.Result{
		{Row: "ratios", Case: "send", Server: serve.Bare},
		{Row: "ratios", Case: "send", Server: serve.ParleySQLite, Beside: "bare", Ratios: rates, CostRatios: costs},
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	record := ratio([]float64{0.40, 0.41, 0.40, 0.39}, []float64{2.5, 2.5, 2.51})
	for name, tt := range map[string]struct {
		record, now []rows.Result
		want        error
		code        int
	}{
		"as recorded":         {record, ratio([]float64{0.39, 0.40, 0.38}, []float64{2.5, 2.55}), nil, 0},
		"better":              {record, ratio([]float64{0.5, 0.5}, []float64{2, 2}), nil, 0},
		"lower rate":          {record, ratio([]float64{0.36, 0.36, 0.365}, []float64{2.5}), errRegression, 1},
		"more processor time": {record, ratio([]float64{0.4}, []float64{2.7, 2.7}), errRegression, 1},
		"too noisy":           {record, ratio([]float64{0.3, 0.4, 0.5}, []float64{2.5}), errNoisy, exitNoisy},
		// A clear regression of one ratio is found beside a noisy one.
		"noisy rate, more processor time": {record, ratio([]float64{0.3, 0.4, 0.5}, []float64{3, 3}), errRegression, 1},
		// A difference that is too large for a steady run is within a spread of 20 %.
		"lower rate within its spread": {record, ratio([]float64{0.33, 0.36, 0.4}, []float64{2.5}), nil, 0},
		"another row":                  {record[:1], ratio([]float64{0.4}, []float64{2.5}), errNoRecord, 1},
		"no ratios":                    {record, nil, errNoRecord, 1},
	} {
		var out strings.Builder
		err := gate(&out, tt.record, tt.now)
		if !errors.Is(err, tt.want) || gateCode(err) != tt.code {
			t.Errorf("%s: gate = %v with code %d, want %v with %d\n%s", name, err, gateCode(err), tt.want, tt.code, out.String())
		}
		if tt.want == errRegression && !strings.Contains(out.String(), "slower than recorded") {
			t.Errorf("%s: no line states the regression:\n%s", name, out.String())
		}
	}
}

// The gate of the program measures the row ratios and compares it with a file.
func TestGateOfProgram(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/result.json"
	r := report{Load: []string{"planted"}, Results: []rows.Result{}}
	for _, x := range [...]struct {
		name string
		kind serve.Kind
	}{{"send", serve.ParleyMemory}, {"send", serve.ParleySQLite}, {"chunk of 1,000", serve.ParleySQLite}, {"GetTask of 1,000", serve.ParleySQLite}} {
		r.Results = append(r.Results, rows.Result{
			Row: "ratios", Case: x.name, Server: x.kind, Beside: "bare", Ratios: []float64{1e6}, CostRatios: []float64{1e-6},
		})
	}
	if err := writeFile(file, r.json); err != nil {
		t.Fatal(err)
	}
	var out, log strings.Builder
	args := []string{"-quick", "-work", t.TempDir(), "-warmup", "20ms", "-duration", "100ms", "-runs", "1", "-gate", file}
	if code := benchMain(t.Context(), args, &out, &log); code == 0 || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("a gate with a record that is out of reach = %d with\n%s\n%s", code, out.String(), log.String())
	}
	if code := benchMain(t.Context(), append(args[:len(args)-1], file+".none"), io.Discard, &log); code == 0 {
		t.Error("a gate without a record = 0")
	}
}
