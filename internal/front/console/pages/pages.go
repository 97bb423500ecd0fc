// Package pages executes templates of pages whose escaping is already in them.
//
// The language is that of text/template, as far as the console uses it. The package html/template
// decides at the time of the build how each value is escaped, and writes that into the template as
// functions at the end of pipelines: see package pagestest. This package has these functions, and
// executes the templates. It exists because text/template finds methods by names that are texts: a
// program with such a call keeps every exported method of every type, which is 5 MB of Parley. Here
// only methods in the list of method are found.
//
// Set.Execute may be called concurrently. A test compares its output with that of html/template,
// with hostile values in every context for which there is a function.
package pages

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"text/template/parse"
)

// HTML is markup, which is not escaped.
type HTML string

// URL is a part of an address whose special characters are encoded.
type URL string

// Funcs are functions of templates by name. They return one value.
type Funcs map[string]any

// Set is a set of templates by name.
type Set struct {
	trees map[string]*parse.Tree
	funcs map[string]reflect.Value
}

// Parse returns the templates of a text that pagestest.Compiled has written.
func Parse(text string, funcs Funcs) (*Set, error) {
	all := Funcs{}
	maps.Copy(all, builtins)
	maps.Copy(all, funcs)
	trees, err := parse.Parse("pages", text, "", "", all)
	if err != nil {
		return nil, fmt.Errorf("parse pages: %w", err)
	}
	s := &Set{trees, make(map[string]reflect.Value, len(all))}
	for name, f := range all {
		s.funcs[name] = reflect.ValueOf(f)
	}
	return s, nil
}

// Execute writes a template with its data. After an error w has a part of the page.
func (s *Set) Execute(w io.Writer, name string, data any) error {
	return s.execute(w, name, reflect.ValueOf(data))
}

func (s *Set) execute(w io.Writer, name string, dot reflect.Value) error {
	tree := s.trees[name]
	if tree == nil {
		return fmt.Errorf("execute page %s: not found", name)
	}
	x := &execution{set: s, w: w, variables: []variable{{"$", dot}}}
	if err := x.list(tree.Root, dot); err != nil {
		return fmt.Errorf("execute page %s: %w", name, err)
	}
	return nil
}
