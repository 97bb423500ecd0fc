package llm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Loss is a value that the target of a conversion cannot hold.
type Loss struct {
	// Field is the path of the value in the input, such as "parts[2].filename".
	Field string
	// Problem describes the loss for a person.
	Problem string
	// Gone is set if the result has nothing of the value. Otherwise the result has it in
	// another shape, for example data as text.
	Gone bool
}

// String returns the field and the problem on one line.
func (l Loss) String() string { return l.Field + ": " + l.Problem }

// Gone returns the losses whose values are absent from the result.
func Gone(losses []Loss) []Loss {
	return slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return !l.Gone })
}

// ContentError is the error for content that cannot be read.
type ContentError struct {
	// Field is the path of the invalid value, such as "messages[1].content[0].image_url.url".
	Field string
	// Problem describes the error for a person.
	Problem string
}

// Error returns the field and the problem.
func (e *ContentError) Error() string { return e.Field + ": " + e.Problem }

func broken(field, format string, args ...any) error {
	return &ContentError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// losses collects the losses of a conversion.
type losses []Loss

func (l *losses) gone(field, problem string) {
	*l = append(*l, Loss{Field: field, Problem: problem, Gone: true})
}

func (l *losses) reshaped(field, problem string) {
	*l = append(*l, Loss{Field: field, Problem: problem})
}

// metadata reports a loss for each name of a metadata object that was not used.
func (l *losses) metadata(field, target string, meta map[string]any, used ...string) {
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains(used, name) {
			l.gone(field+"."+name, target+" has no metadata")
		}
	}
}

// text reports a loss unless value is empty.
func (l *losses) text(field, value, problem string) {
	if value != "" {
		l.gone(field, problem)
	}
}

// index returns the path of the i-th element of a list.
func index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
