package transcript

import (
	"fmt"
	"regexp"
	"strings"
)

// Mask gives a name to text that differs from run to run.
type Mask struct {
	// Name is a dollar sign and capital letters, such as "$TOKEN".
	Name string
	// Pattern finds the text to name: its first group, or the whole match if it has none. Every
	// occurrence of that text in the answer is replaced.
	Pattern *regexp.Regexp
}

// IDs matches the ids named $1, $2 and so on. A [Mask] with this pattern gives all ids one
// name.
var IDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

var times = Mask{Name: "$TIME", Pattern: regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)}

// references match the names in requests.
var references = regexp.MustCompile(`\$(\d+|[A-Z]+)`)

// names holds the names and their values from the answers of one transcript so far.
type names struct {
	masks  []Mask
	ids    map[string]string // id to name
	values map[string]string // name to value
}

// hide replaces values in an answer by their names.
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

// resolve replaces names in a request by their values.
func (n *names) resolve(s string) string {
	return references.ReplaceAllStringFunc(s, func(name string) string {
		if v, ok := n.values[name]; ok {
			return v
		}
		return name
	})
}
