package layers

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html"
	"io"
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
	smallest   = 0.002
	deepest    = 48
)

// Flame draws the profile as an SVG picture: the callers are below, and the width is processor
// time. A viewer shows the name and the share of a function under the pointer.
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
	d.draw(root, 0, 0)
	height := float64(d.depth+1)*flameRow + 4
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 %.0f %.0f %.0f" font-family="ui-monospace,monospace" font-size="11">`+"\n"+
		`<style>rect{stroke:#fff;stroke-width:.4}text{fill:#111;pointer-events:none}@media(prefers-color-scheme:dark){svg{background:#16181d}rect{stroke:#16181d}}</style>`+"\n%s</svg>\n",
		-height+flameRow, flameWidth, height, b.String())
	return err
}

type drawing struct {
	out   *strings.Builder
	total time.Duration
	depth int
}

func (d *drawing) draw(n *node, x float64, depth int) {
	width := flameWidth * float64(n.cpu) / float64(max(d.total, 1))
	if width < flameWidth*smallest || depth > deepest {
		return
	}
	d.depth = max(d.depth, depth)
	y := -float64(depth) * flameRow
	fmt.Fprintf(d.out, `<g><title>%s: %.1f %%</title><rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`,
		html.EscapeString(n.name), 100*float64(n.cpu)/float64(max(d.total, 1)), x, y, width, flameRow, colour(n.name))
	if room := int(width/6.6) - 1; room > 3 {
		name := n.name[strings.LastIndexByte(n.name, '/')+1:]
		fmt.Fprintf(d.out, `<text x="%.1f" y="%.0f">%s</text>`, x+3, y+12, html.EscapeString(name[:min(room, len(name))]))
	}
	d.out.WriteString("</g>\n")
	var children []*node
	for _, c := range n.children {
		children = append(children, c)
	}
	slices.SortFunc(children, func(a, b *node) int { return cmp.Or(cmp.Compare(b.cpu, a.cpu), strings.Compare(a.name, b.name)) })
	for _, c := range children {
		d.draw(c, x, depth+1)
		x += flameWidth * float64(c.cpu) / float64(max(d.total, 1))
	}
}

// colour returns a warm colour that depends on the function's package, and a cold one for the
// runtime.
func colour(name string) string {
	pkg, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	h := fnv.New32a()
	_, _ = h.Write([]byte(pkg))
	hue := 10 + h.Sum32()%50
	if pkg == "runtime" || pkg == "syscall" {
		hue = 190 + h.Sum32()%30
	}
	return fmt.Sprintf("hsl(%d,75%%,68%%)", hue)
}
