package llm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Loss is something that the target of a conversion cannot hold.
type Loss struct {
	// Field is the path of it in what was converted, such as "parts[2].filename".
	Field string
	// Problem says what became of it, for a person.
	Problem string
	// Gone says that nothing of the value is in the result. If not set, it is there in
	// another shape, such as data as a text.
	Gone bool
}

// String returns field and problem as one line.
func (l Loss) String() string { return l.Field + ": " + l.Problem }

// Gone returns the losses of which nothing is left in the result.
func Gone(losses []Loss) []Loss {
	return slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return !l.Gone })
}

// ContentError is about content that cannot be read.
type ContentError struct {
	// Field is the path of it, such as "messages[1].content[0].image_url.url".
	Field string
	// Problem is a phrase for a person.
	Problem string
}

// Error returns field and problem.
func (e *ContentError) Error() string { return e.Field + ": " + e.Problem }

func broken(field, format string, args ...any) error {
	return &ContentError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// losses collects what is lost.
type losses []Loss

func (l *losses) gone(field, problem string) {
	*l = append(*l, Loss{Field: field, Problem: problem, Gone: true})
}

func (l *losses) reshaped(field, problem string) {
	*l = append(*l, Loss{Field: field, Problem: problem})
}

// metadata reports the names of a metadata object that were not used.
func (l *losses) metadata(field, target string, meta map[string]any, used ...string) {
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains(used, name) {
			l.gone(member(field, name), target+" has no metadata")
		}
	}
}

// text reports a string that is not empty.
func (l *losses) text(field, value, problem string) {
	if value != "" {
		l.gone(field, problem)
	}
}

// index returns the path of the i-th element of a list.
func index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// member returns the path of a member of an object's metadata.
func member(field, name string) string { return field + "." + name }
