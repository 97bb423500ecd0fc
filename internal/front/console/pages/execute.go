package pages

import (
	"bytes"
	"reflect"
)

// execution is that of one template. It ends with fail at an error.
type execution struct {
	set       *Set
	w         *bytes.Buffer
	variables []reflect.Value // the first one is the data of the template, $
}

func (x *execution) list(nodes []Node, dot reflect.Value) {
	for i := range nodes {
		x.statement(&nodes[i], dot)
	}
}

func (x *execution) statement(n *Node, dot reflect.Value) {
	if n.Op == Text {
		x.w.WriteString(n.Str)
		return
	}
	var v reflect.Value
	if len(n.Args) > 0 {
		v = x.value(&n.Args[0], dot)
	}
	switch n.Op {
	case Action:
		if v.IsValid() {
			x.w.WriteString(text(v.Interface()))
		}
	case Let:
		x.variables = append(x.variables, v)
	case Template:
		x.set.execute(x.w, n.Str, v)
	default:
		x.block(n, v, dot)
	}
}

// block executes a statement with statements in it. Their variables end with it.
func (x *execution) block(n *Node, v, dot reflect.Value) {
	mark := len(x.variables)
	if n.Let {
		x.variables = append(x.variables, v)
	}
	if n.Op == Range {
		v = concrete(v)
	}
	switch {
	case !truth(v):
		x.list(n.Else, dot)
	case n.Op == Range:
		x.each(n, v)
	case n.Op == With:
		x.list(n.List, v)
	default:
		x.list(n.List, dot)
	}
	x.variables = x.variables[:mark]
}

// each executes range, over a slice or in the order of their keys over the values of a map.
func (x *execution) each(n *Node, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			x.element(n, reflect.ValueOf(i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range keysOf(v) {
			x.element(n, key, v.MapIndex(key))
		}
	default:
		fail("range %s: %s is no slice", n.Str, v.Type())
	}
}

// element executes the statements of range for one element. Their variables end with it.
func (x *execution) element(n *Node, key, value reflect.Value) {
	mark := len(x.variables)
	if n.Num > 1 {
		x.variables = append(x.variables, key)
	}
	if n.Num > 0 {
		x.variables = append(x.variables, value)
	}
	x.list(n.List, value)
	x.variables = x.variables[:mark]
}

// value returns the value of an expression.
func (x *execution) value(n *Node, dot reflect.Value) (v reflect.Value) {
	switch n.Op {
	case Variable:
		return fields(x.variables[n.Num], n.Names)
	case String:
		return reflect.ValueOf(n.Str)
	case Number:
		return reflect.ValueOf(n.Num)
	case And, Or:
		for i := range n.Args {
			if v = x.value(&n.Args[i], dot); truth(v) == (n.Op == Or) {
				break
			}
		}
		return v
	case Call:
		in := make([]reflect.Value, len(n.Args))
		for i := range n.Args {
			in[i] = x.value(&n.Args[i], dot)
		}
		return call(n.Str, reflect.ValueOf(x.set.funcs[n.Str]), in)
	}
	return fields(dot, n.Names)
}

// fields follows names.
func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		v = field(v, name)
	}
	return v
}
