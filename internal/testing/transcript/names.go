package transcript

import (
	"fmt"
	"regexp"
	"strings"
)

// Mask gives a name to what differs from run to run.
type Mask struct {
	// Name is a dollar sign and capital letters, such as "$TOKEN".
	Name string
	// Pattern finds what is to be named: its first group, or the whole match if it has
	// none. What was found is replaced wherever it stands in that answer.
	Pattern *regexp.Regexp
}

// IDs matches what $1, $2 … stand for. A [Mask] with this pattern gives all ids one name.
var IDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

var times = Mask{Name: "$TIME", Pattern: regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)}

// references match the names in requests.
var references = regexp.MustCompile(`\$(\d+|[A-Z]+)`)

// names are what the answers of one transcript have had so far.
type names struct {
	masks  []Mask
	ids    map[string]string // their names
	values map[string]string // what names stand for
}

// hide puts names into an answer.
func (n *names) hide(s string) string {
	for _, m := range n.masks {
		s = n.mask(s, m)
	}
	s = n.mask(s, times)
	return IDs.ReplaceAllStringFunc(s, func(id string) string {
		name := n.ids[id]
		if name == "" {
			name = fmt.Sprintf("$%d", len(n.ids)+1)
			n.ids[id], n.values[name] = name, id
		}
		return name
	})
}

func (n *names) mask(s string, m Mask) string {
	for _, match := range m.Pattern.FindAllStringSubmatch(s, -1) {
		value := match[min(1, len(match)-1)]
		if value == "" {
			continue
		}
		n.values[m.Name] = value
		s = strings.ReplaceAll(s, value, m.Name)
	}
	return s
}

// resolve puts into a request what its names stand for.
func (n *names) resolve(s string) string {
	return references.ReplaceAllStringFunc(s, func(name string) string {
		if v, ok := n.values[name]; ok {
			return v
		}
		return name
	})
}
