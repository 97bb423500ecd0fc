// Package pagestest writes templates for package pages, for tests and for the generator of the
// console's pages. The program must not import it: html/template keeps all methods of a program.
package pagestest

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

// Parsed returns the templates of a source in html/template.
func Parsed(source string, funcs pages.Funcs) (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap(funcs)).Parse(source)
}

// Compiled returns a source with the functions that html/template adds for escaping.
func Compiled(source string, funcs pages.Funcs) (string, error) {
	t, err := Parsed(source, funcs)
	if err != nil {
		return "", err
	}
	for _, each := range t.Templates() {
		err, unsafe := each.Execute(io.Discard, nil), new(template.Error) // escapes; without data the rest fails
		if errors.As(err, &unsafe) {
			return "", err
		}
	}
	all := slices.DeleteFunc(t.Templates(), func(t *template.Template) bool { return t.Tree == nil })
	slices.SortFunc(all, func(a, b *template.Template) int { return cmp.Compare(a.Name(), b.Name()) })
	var b strings.Builder
	for _, each := range all {
		fmt.Fprintf(&b, "{{define %q}}%s{{end}}\n", each.Name(), each.Tree.Root)
	}
	return b.String(), nil
}
