// Package pagestest writes templates for package pages, for tests and for the generator of the
// console's pages. The program must not import it: html/template keeps all methods of a program.
package pagestest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

// Parsed returns the templates of a source in html/template.
func Parsed(source string, funcs pages.Funcs) (*template.Template, error) {
	known := make(template.FuncMap)
	for _, f := range funcs {
		known[f[0].(string)] = f[1]
	}
	return template.New("").Funcs(known).Parse(source)
}

// Compiled returns the templates of a source for pages.Read, with the functions that html/template
// adds for escaping.
func Compiled(source string, funcs pages.Funcs) ([]byte, error) {
	escaped, err := escaped(source, funcs)
	if err != nil {
		return nil, err
	}
	trees, err := parse.Parse("pages", escaped, "", "", funcs.All())
	if err != nil {
		return nil, fmt.Errorf("parse pages: %w", err)
	}
	all := make(map[string][]pages.Node)
	for name, t := range trees {
		if all[name], err = translated(t.Root); err != nil {
			return nil, fmt.Errorf("template %s: %w", name, err)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the compressed text is shorter
	err = e.Encode(all)
	return b.Bytes(), err
}

// escaped returns a source with the functions that html/template adds for escaping.
func escaped(source string, funcs pages.Funcs) (string, error) {
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
