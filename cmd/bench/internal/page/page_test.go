package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	t.Parallel()
	p := &Page{Title: "A <title>", Lines: []string{"1 & 2"}, Charts: []Chart{
		{Title: "Rates", X: "connections", LogX: true, LogY: true, Series: []Series{
			{"fast", []Point{{1, 10}, {10, 1000}}},
			{"<slow>", []Point{{1, 10}}},
		}},
		{Title: "Shares", Shares: true, Series: []Series{{"fast", []Point{{0.5, 1}, {0.99, 2}}}}},
	}}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"<h1>A &lt;title&gt;</h1>", "<p>1 &amp; 2</p>",
		`points="58.0,288.0 1002.0,12.0"`,    // from one corner of the first chart to the other
		"<title>&lt;slow&gt;, 1: 10</title>", // the value of a point
		`text-anchor="middle">99 %</text>`,
		"<td>&lt;slow&gt;</td><td>10</td><td>–</td>", // a value that is missing
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("the page has a coordinate that is no number")
	}
	for svg := range strings.SplitSeq(text, "<svg ") {
		if part, _, found := strings.Cut(svg, "</svg>"); found {
			wellFormed(t, "<svg "+part+"</svg>")
		}
	}
}

// A chart in a file of its own has the colours of both schemes and the place of the page's curves.
func TestWriteChart(t *testing.T) {
	t.Parallel()
	p := &Page{Charts: []Chart{
		{Title: "Rates", Series: []Series{{"fast", []Point{{1, 10}}}}},
		{Title: "Costs & sums", X: "tasks", Series: []Series{{"slow", []Point{{1, 10}, {2, 20}}}, {"fast", []Point{{1, 1}}}}},
	}}
	var b bytes.Buffer
	if err := p.WriteChart(&b, 1); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	for _, want := range []string{">Costs &amp; sums</text>", "stroke:var(--c1)", "prefers-color-scheme:dark", "--c1:#4fd1a1", ">tasks</text>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the chart has no %s:\n%s", want, b.String())
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("the drawing is not well-formed: %v\n%s", err, text)
			return
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		axis axis
		want []float64
	}{
		"linear":      {axis{max: 10}, []float64{0, 2.5, 5, 7.5, 10}},
		"logarithmic": {axis{min: 1, max: 256, log: true}, []float64{1, 10, 100}},
	} {
		if got := tt.axis.ticks(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the ticks are %v, want %v", name, got, tt.want)
		}
	}
}
