// Package pages executes templates of pages whose escaping is already in them.
//
// The language is that of text/template, as far as the console uses it. The package pagestest parses
// templates at the time of the build, lets html/template decide how each value is escaped, and stores
// the statements as JSON. This package reads them and executes them, so that a program contains no
// parser. It exists because text/template finds methods by names that are texts: a program with such a
// call keeps every exported method of every type, which is 5 MB of Parley. Here templates have fields
// and functions, and no methods.
//
// Set.Execute may be called concurrently. A test compares its output with that of html/template,
// with hostile values in every context for which there is a function.
package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// HTML is markup, which is not escaped.
type HTML string

// URL is a part of an address whose special characters are encoded.
type URL string

// Funcs are functions of templates: the name of each and a function with one result. A list needs no
// code in a program, as a map does.
type Funcs [][2]any

// All returns the functions of all templates, and those of this list, by their names.
func (f Funcs) All() map[string]any {
	all := make(map[string]any)
	for _, each := range append(builtins[:len(builtins):len(builtins)], f...) {
		all[each[0].(string)] = each[1]
	}
	return all
}

// Op is the kind of a node.
type Op int

// The statements have their value as the first operand.
const (
	Text     Op = iota // writes Str
	Action             // writes its value
	Let                // makes its value a variable
	If                 // executes List or Else
	With               // is If with its value as the dot
	Range              // executes List for each element, with its last Num variables
	Template           // executes the template Str with its value as the dot
)

// The expressions.
const (
	Dot      Op = 10 + iota // the fields Names of the dot
	Variable                // the fields Names of the variable Num, counted from the first one
	String                  // Str
	Number                  // Num
	Call                    // the function Str of the operands
	And                     // the first operand that is empty, or the last one
	Or                      // the first operand that is not empty, or the last one
)

// Node is a statement or an expression of a template.
type Node struct {
	Op Op `json:"o,omitempty"`
	// Str is a text, or the name of a function or a template. Of a Range it describes the value.
	Str   string   `json:"s,omitempty"`
	Num   int      `json:"i,omitempty"`
	Names []string `json:"n,omitempty"`
	// Args are operands.
	Args []Node `json:"a,omitempty"`
	// Let is set if the value of a statement also is a variable.
	Let  bool   `json:"v,omitempty"`
	List []Node `json:"l,omitempty"`
	Else []Node `json:"e,omitempty"`
}

// Set is a set of templates by name.
type Set struct {
	nodes map[string][]Node
	funcs map[string]any
}

// Read returns the templates that pagestest.Compiled has written.
func Read(b []byte, funcs Funcs) (*Set, error) {
	s := &Set{funcs: funcs.All()}
	return s, json.Unmarshal(b, &s.nodes)
}

// failure is an error that ends the execution of a template.
type failure struct{ error }

// Execute writes a template with its data. After an error w has a part of the page.
func (s *Set) Execute(w *bytes.Buffer, name string, data any) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("execute page %s: %w", name, e.error)
		default:
			panic(e)
		}
	}()
	s.execute(w, name, reflect.ValueOf(data))
	return nil
}

func (s *Set) execute(w *bytes.Buffer, name string, dot reflect.Value) {
	list, ok := s.nodes[name]
	if !ok {
		fail("template %s not found", name)
	}
	x := &execution{set: s, w: w, variables: []reflect.Value{dot}}
	x.list(list, dot)
}

// fail ends the execution of a template.
func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }
