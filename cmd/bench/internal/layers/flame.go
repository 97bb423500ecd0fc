package layers

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// node is a function of a flame graph, called by its parent.
type node struct {
	name     string
	cpu      time.Duration
	children map[string]*node
}

func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		c = &node{name: name, children: map[string]*node{}}
		n.children[name] = c
	}
	return c
}

// The size of a flame graph in pixels, and the smallest share of it that is drawn.
const (
	flameWidth = 1200.0
	flameRow   = 16.0
	flameHead  = 48.0
	smallest   = 0.002
	deepest    = 48
)

// Flame draws the profile as an SVG picture: the callers are below, and the width is processor
// time. A viewer shows the name and the share of a function under the pointer. The colours are
// those of the layers.
func (p *Profile) Flame(w io.Writer, title string) error {
	root := &node{name: title, children: map[string]*node{}}
	for _, s := range p.samples {
		root.cpu += s.cpu
		at := root
		for i := len(s.stack) - 1; i >= 0; i-- {
			at = at.child(s.stack[i])
			at.cpu += s.cpu
		}
	}
	var b strings.Builder
	d := &drawing{out: &b, total: root.cpu}
	d.draw(root, span{colour: families[0].colour})
	height := float64(d.depth+1)*flameRow + flameHead
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 %.0f %.0f %.0f" font-family="ui-monospace,monospace" font-size="11">`+"\n%s%s%s</svg>\n",
		flameRow-height, flameWidth, height, flameStyle, legend(title, flameRow-height), b.String())
	return err
}

// flameStyle has the dark scheme of the reader, too. The boxes are light in both.
const flameStyle = `<style>svg{background:#fff}rect{stroke:#fff;stroke-width:.5}text{fill:#16181d}.h{fill:#16181d;font-size:14px}.l{fill:#444b54}` +
	`@media(prefers-color-scheme:dark){svg{background:#16181d}rect{stroke:#16181d}.h{fill:#e7eaee}.l{fill:#a8b1bb}}</style>` + "\n"

// family is a group of layers with one colour.
type family struct {
	name, colour string
	layers       []string
}

// families are the colours; the first is that of functions without a layer.
var families = []family{
	{"callers, other", "#d5d9de", nil},
	{"HTTP", "#8fbdf3", []string{"read the request", "write the answer", restOfHTTP}},
	{"front", "#7fd6d0", []string{"front and admission"}},
	{"JSON", "#f3d45c", []string{"JSON"}},
	{"engine, agent", "#93d48d", []string{"engine", "agent"}},
	{"store", "#f5ab6e", []string{statements, "store: batches and codecs", "store: commit, write of the log", "store: fsync"}},
	{"allocation, collector", "#f0908c", []string{"allocation and collector"}},
	{"scheduler", "#c5aef0", []string{"scheduler: wake, park, switch"}},
}

// legend returns the title and the names of the colours.
func legend(title string, top float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<text class="h" x="2" y="%.0f">%s: processor time of the server, callers below</text>`+"\n", top+15, html.EscapeString(title))
	x := 2.0
	for _, f := range families {
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="12" height="12" fill="%s"/><text class="l" x="%.0f" y="%.0f">%s</text>`+"\n",
			x, top+24, f.colour, x+17, top+34, f.name)
		x += 40 + 6.7*float64(len(f.name))
	}
	return b.String()
}

// colour returns the colour of a function without a layer as that of its caller.
func colour(name, caller string) string {
	layer := find(name, nil)
	for _, f := range families {
		if slices.Contains(f.layers, layer) {
			return f.colour
		}
	}
	return caller
}

type drawing struct {
	out   *strings.Builder
	total time.Duration
	depth int
}

// span is the place of a function: its left edge, its depth, and the colour of its caller.
type span struct {
	x      float64
	depth  int
	colour string
}

func (d *drawing) width(n *node) float64 {
	return flameWidth * float64(n.cpu) / float64(max(d.total, 1))
}

func (d *drawing) draw(n *node, at span) {
	width := d.width(n)
	if width < flameWidth*smallest || at.depth > deepest {
		return
	}
	d.depth = max(d.depth, at.depth)
	y := -float64(at.depth) * flameRow
	at.colour = colour(n.name, at.colour)
	fmt.Fprintf(d.out, `<g><title>%s: %.1f %%</title><rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`,
		html.EscapeString(n.name), 100*width/flameWidth, at.x, y, width, flameRow, at.colour)
	if name := fit(n.name, int((width-5)/6.7)); name != "" {
		fmt.Fprintf(d.out, `<text x="%.1f" y="%.0f">%s</text>`, at.x+3, y+12, html.EscapeString(name))
	}
	d.out.WriteString("</g>\n")
	children := slices.SortedFunc(maps.Values(n.children), func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), strings.Compare(a.name, b.name))
	})
	at.depth++
	for _, c := range children {
		d.draw(c, at)
		at.x += d.width(c)
	}
}

// fit shortens the name of a function to a number of letters: without the path of its package, then
// without the package, then without the receiver. It returns nothing if hardly anything would remain.
func fit(name string, room int) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, end := range []string{".", ")."} {
		if _, rest, found := strings.Cut(name, end); found && len(name) > room {
			name = rest
		}
	}
	switch {
	case len(name) <= room:
		return name
	case room < 4:
		return ""
	}
	return name[:room-1] + "…"
}
