// Package page draws curves as one HTML page: SVG without a script or a foreign file, in the
// light and the dark scheme of the reader.
//
// The page has all values also as tables. A curve with points that are no finite numbers, or are
// not positive on a logarithmic axis, is drawn wrongly; the caller leaves them out. Nothing is
// shared between calls.
package page

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Point is a point of a curve.
type Point struct{ X, Y float64 }

// Series is a curve with its name.
type Series struct {
	Name   string
	Points []Point
}

// Chart is a diagram of curves. LogX and LogY select logarithmic axes; a logarithmic axis needs
// positive values. Shares is set if X is a share of one, whose distance from one is drawn.
type Chart struct {
	Title, About, X, Y string
	LogX, LogY, Shares bool
	Series             []Series
}

// Page is the whole page. Lines describe the run.
type Page struct {
	Title  string
	Lines  []string
	Charts []Chart
}

// The colours of curves in the two schemes.
const (
	light = "--c0:#0b62d6;--c1:#12805c;--c2:#8a939d;--c3:#c2410c;--c4:#9333ea;--c5:#b8860b;--c6:#be185d;--c7:#0e7490;--c8:#7c4a2d"
	dark  = "--c0:#6ba8ff;--c1:#4fd1a1;--c2:#9aa4af;--c3:#fb8a54;--c4:#c79bff;--c5:#e5c04b;--c6:#f77fb2;--c7:#58c6dd;--c8:#c99a78"
)

const style = `:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--mut:#5c6570;--grid:#e3e7eb;` + light + `}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e7eaee;--mut:#9aa4af;--grid:#2a3037;` + dark + `}}
body{margin:0 auto;max-width:1180px;padding:24px 20px 48px;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:26px;margin:0 0 6px}h2{font-size:17px;margin:0}p{margin:2px 0 8px;color:var(--mut);font-size:13.5px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(500px,100%),1fr));gap:34px 40px;margin-top:26px}
section:first-child{grid-column:1/-1}svg{width:100%;height:auto;display:block}svg text{fill:var(--mut);font-size:12px}svg .n{font-weight:600}
svg .g{stroke:var(--grid)}svg polyline{fill:none;stroke-width:2}
table{border-collapse:collapse;font-size:12.5px;margin-top:8px}td,th{padding:2px 10px 2px 0;text-align:right;font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left}th{color:var(--mut);font-weight:500}summary{color:var(--mut);font-size:13px;cursor:pointer}
.over{overflow-x:auto}`

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>%s</style>\n<h1>%[1]s</h1>\n",
		html.EscapeString(p.Title), style)
	for _, l := range p.Lines {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(l))
	}
	b.WriteString("<div class=\"grid\">\n")
	names := p.names()
	for i := range p.Charts {
		c := &p.Charts[i]
		width := 540.0
		if i == 0 {
			width = 1140
		}
		fmt.Fprintf(&b, "<section>\n<h2>%s</h2>\n<p>%s</p>\n", html.EscapeString(c.Title), html.EscapeString(c.About))
		c.draw(&b, width, names)
		c.table(&b)
		b.WriteString("</section>\n")
	}
	b.WriteString("</div>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// chartStyle is the style of a chart in a file of its own.
const chartStyle = `svg{--bg:#fff;--mut:#5c6570;--grid:#e3e7eb;` + light + `;font-family:system-ui,sans-serif}` +
	`@media(prefers-color-scheme:dark){svg{--bg:#14171b;--mut:#9aa4af;--grid:#2a3037;` + dark + `}}` +
	`text{fill:var(--mut);font-size:12px}.n{font-weight:600}.t{font-size:15px;font-weight:600}.g{stroke:var(--grid)}polyline{fill:none;stroke-width:2}`

// WriteChart writes chart i as a drawing of its own, with its title.
func (p *Page) WriteChart(w io.Writer, i int) error {
	const width, head = 760.0, 34.0
	c := &p.Charts[i]
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n<style>%s</style>\n", width, height+head, chartStyle)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"var(--bg)\"/>\n<text class=\"t\" x=\"14\" y=\"22\">%s</text>\n<g transform=\"translate(0 %.0f)\">\n",
		html.EscapeString(c.Title), head)
	c.content(&b, width, p.names())
	b.WriteString("</g>\n</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// names returns the names of all curves in the order of their first chart, which decides on the
// colours.
func (p *Page) names() []string {
	var all []string
	for _, c := range p.Charts {
		for _, s := range c.Series {
			if !slices.Contains(all, s.Name) {
				all = append(all, s.Name)
			}
		}
	}
	return all
}

// The space around the curves in pixels; the names of the curves are on the right.
const (
	height      = 330.0
	left, right = 58.0, 138.0
	top, bottom = 12.0, 42.0
	colours     = 9
	lineHeight  = 14.0
)

// axis maps values to pixels.
type axis struct {
	from, to, min, max float64
	log                bool
}

func (a *axis) at(v float64) float64 {
	lo, hi := a.min, a.max
	if a.log {
		v, lo, hi = math.Log10(v), math.Log10(lo), math.Log10(hi)
	}
	if hi == lo {
		return a.from
	}
	return a.from + (v-lo)/(hi-lo)*(a.to-a.from)
}

// ticks returns round values within the axis.
func (a *axis) ticks() []float64 {
	var all []float64
	if a.log {
		for e := math.Floor(math.Log10(a.min)); e <= math.Log10(a.max)+1e-9; e++ {
			if v := math.Pow(10, e); v >= a.min*(1-1e-9) {
				all = append(all, v)
			}
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10(max(a.max-a.min, 1e-9))))
	for (a.max-a.min)/step < 4 {
		step /= 2
	}
	for v := math.Ceil(a.min/step) * step; v <= a.max*(1+1e-9); v += step {
		all = append(all, v)
	}
	return all
}

// x returns the value of a point on the horizontal axis.
func (c *Chart) x(p Point) float64 {
	if c.Shares {
		return 1 / (1 - p.X)
	}
	return p.X
}

func (c *Chart) axes(width float64) (x, y axis) {
	x = axis{from: left, to: width - right, min: math.Inf(1), max: math.Inf(-1), log: c.LogX || c.Shares}
	y = axis{from: height - bottom, to: top, min: math.Inf(1), max: math.Inf(-1), log: c.LogY}
	for _, s := range c.Series {
		for _, p := range s.Points {
			x.min, x.max = min(x.min, c.x(p)), max(x.max, c.x(p))
			y.min, y.max = min(y.min, p.Y), max(y.max, p.Y)
		}
	}
	if c.LogY {
		y.min, y.max = math.Pow(10, math.Floor(math.Log10(y.min))), math.Pow(10, math.Ceil(math.Log10(y.max)))
	} else {
		y.min, y.max = 0, y.max*1.05
	}
	return x, y
}

func (c *Chart) draw(b *strings.Builder, width float64, names []string) {
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", width, height, html.EscapeString(c.Title))
	c.content(b, width, names)
	b.WriteString("</svg>\n")
}

// content draws the axes and the curves.
func (c *Chart) content(b *strings.Builder, width float64, names []string) {
	x, y := c.axes(width)
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<line class="g" x1="%.1f" x2="%.1f" y1="%.1f" y2="%[3]f"/><text x="%[4]f" y="%[5]f" text-anchor="end">%[6]s</text>`+"\n",
			x.from, x.to, y.at(v), x.from-8, y.at(v)+4, short(v))
	}
	free := 0.0 // the end of the last label
	for _, v := range c.columns() {
		label := short(v)
		if c.Shares {
			label = strconv.FormatFloat(100*v, 'f', -1, 64) + " %"
		}
		at := x.at(c.x(Point{X: v}))
		if half := 3.6 * float64(len(label)); at-half < free {
			label = ""
		} else {
			free = at + half
		}
		fmt.Fprintf(b, `<line class="g" x1="%[1]f" x2="%[1]f" y1="%[2]f" y2="%[3]f"/><text x="%[1]f" y="%[4]f" text-anchor="middle">%[5]s</text>`+"\n",
			at, y.from, y.to, y.from+18, label)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", (x.from+x.to)/2, height-6, html.EscapeString(c.X))
	c.lines(b, &x, &y, names)
}

// columns returns the different values of the horizontal axis.
func (c *Chart) columns() []float64 {
	var all []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			if !slices.Contains(all, p.X) {
				all = append(all, p.X)
			}
		}
	}
	slices.Sort(all)
	return all
}

// lines draws the curves, and their names where they end, moved apart.
func (c *Chart) lines(b *strings.Builder, x, y *axis, names []string) {
	type label struct {
		at     float64
		name   string
		colour int
	}
	var labels []label
	for _, s := range c.Series {
		if len(s.Points) == 0 {
			continue
		}
		colour := slices.Index(names, s.Name) % colours
		var line strings.Builder
		for _, p := range s.Points {
			fmt.Fprintf(&line, "%.1f,%.1f ", x.at(c.x(p)), y.at(p.Y))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="var(--c%d)"><title>%s, %s: %s</title></circle>`+"\n",
				x.at(c.x(p)), y.at(p.Y), colour, html.EscapeString(s.Name), short(p.X), short(p.Y))
		}
		fmt.Fprintf(b, `<polyline points="%s" style="stroke:var(--c%d)"/>`+"\n", strings.TrimSpace(line.String()), colour)
		labels = append(labels, label{y.at(s.Points[len(s.Points)-1].Y), s.Name, colour})
	}
	slices.SortFunc(labels, func(a, b label) int { return int(math.Copysign(1, a.at-b.at)) })
	last := math.Inf(-1)
	for i := range labels {
		labels[i].at = max(labels[i].at, last+lineHeight)
		last = labels[i].at
	}
	over := max(0, last-y.from)
	for _, l := range labels {
		fmt.Fprintf(b, `<text class="n" x="%.1f" y="%.1f" style="fill:var(--c%d)">%s</text>`+"\n", x.to+8, l.at+4-over, l.colour, html.EscapeString(l.name))
	}
}

// table writes the values for readers of numbers.
func (c *Chart) table(b *strings.Builder) {
	b.WriteString("<details><summary>Values</summary><div class=\"over\"><table><tr><th></th>")
	columns := c.columns()
	for _, v := range columns {
		fmt.Fprintf(b, "<th>%s</th>", short(v))
	}
	b.WriteString("</tr>\n")
	for _, s := range c.Series {
		fmt.Fprintf(b, "<tr><td>%s</td>", html.EscapeString(s.Name))
		for _, v := range columns {
			i := slices.IndexFunc(s.Points, func(p Point) bool { return p.X == v })
			if i < 0 {
				b.WriteString("<td>–</td>")
				continue
			}
			fmt.Fprintf(b, "<td>%s</td>", short(s.Points[i].Y))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div></details>\n")
}

// short writes a number with three digits, and thousands as k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 10_000:
		return strconv.FormatFloat(math.Round(v/100)/10, 'f', -1, 64) + "k"
	case v >= 100:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
