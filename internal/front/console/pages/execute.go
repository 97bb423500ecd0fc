package pages

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"text/template/parse"
)

// execution is that of one template.
type execution struct {
	set       *Set
	w         io.Writer
	variables []variable // the newest is the last
}

type variable struct {
	name  string
	value reflect.Value
}

func (x *execution) list(l *parse.ListNode, dot reflect.Value) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := x.node(n, dot); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) node(n parse.Node, dot reflect.Value) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := x.w.Write(n.Text)
		return err
	case *parse.ActionNode:
		return x.action(n, dot)
	case *parse.IfNode:
		return x.branch(&n.BranchNode, dot)
	case *parse.WithNode:
		return x.branch(&n.BranchNode, dot)
	case *parse.RangeNode:
		return x.each(&n.BranchNode, dot)
	case *parse.TemplateNode:
		v, err := x.pipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		return x.set.execute(x.w, n.Name, v)
	}
	return fmt.Errorf("%s: not supported", n)
}

func (x *execution) action(n *parse.ActionNode, dot reflect.Value) error {
	v, err := x.pipe(n.Pipe, dot)
	if err != nil || len(n.Pipe.Decl) > 0 {
		return err
	}
	_, err = io.WriteString(x.w, printed(v))
	return err
}

// branch executes if and with.
func (x *execution) branch(n *parse.BranchNode, dot reflect.Value) error {
	defer x.drop(len(x.variables))
	v, err := x.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	if !truth(v) {
		return x.list(n.ElseList, dot)
	}
	if n.Type() == parse.NodeWith {
		dot = v
	}
	return x.list(n.List, dot)
}

// each executes range, over a slice or in the order of their keys over the values of a map.
func (x *execution) each(n *parse.BranchNode, dot reflect.Value) error {
	v, err := x.value(n.Pipe, dot)
	if err != nil {
		return err
	}
	if v = concrete(v); !truth(v) {
		return x.list(n.ElseList, dot)
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Map {
		return fmt.Errorf("range %s: %s is no slice", n.Pipe, v.Type())
	}
	for key, value := range elements(v) {
		mark := len(x.variables)
		of := []reflect.Value{key, value}[2-len(n.Pipe.Decl):]
		for i, d := range n.Pipe.Decl {
			x.variables = append(x.variables, variable{d.Ident[0], of[i]})
		}
		if err := x.list(n.List, value); err != nil {
			return err
		}
		x.drop(mark)
	}
	return nil
}

// drop ends the scope of the variables after the first n.
func (x *execution) drop(n int) { x.variables = x.variables[:n] }

// pipe returns the value of a pipeline, and declares its variables.
func (x *execution) pipe(p *parse.PipeNode, dot reflect.Value) (reflect.Value, error) {
	if p == nil {
		return reflect.Value{}, nil
	}
	v, err := x.value(p, dot)
	for _, d := range p.Decl {
		x.variables = append(x.variables, variable{d.Ident[0], v})
	}
	return v, err
}

// value returns the value of a pipeline: each command has that before it as its last argument.
func (x *execution) value(p *parse.PipeNode, dot reflect.Value) (v reflect.Value, err error) {
	var last []reflect.Value
	for _, c := range p.Cmds {
		if v, err = x.command(c, dot, last); err != nil {
			return v, err
		}
		last = []reflect.Value{v}
	}
	return v, nil
}

func (x *execution) command(c *parse.CommandNode, dot reflect.Value, last []reflect.Value) (reflect.Value, error) {
	operands := func() ([]reflect.Value, error) { return x.operands(c.Args[1:], dot, last) }
	switch first := c.Args[0].(type) {
	case *parse.IdentifierNode:
		if first.Ident == "and" || first.Ident == "or" {
			return x.logic(first.Ident == "or", c.Args[1:], dot)
		}
		arguments, err := operands()
		if err != nil {
			return reflect.Value{}, err
		}
		v, err := call(x.set.funcs[first.Ident], arguments)
		return v, wrapped(c, err)
	case *parse.FieldNode:
		return x.fields(dot, first.Ident, operands)
	case *parse.VariableNode:
		v, err := x.variable(first.Ident[0])
		if err != nil {
			return v, err
		}
		return x.fields(v, first.Ident[1:], operands)
	}
	if len(c.Args) > 1 || last != nil {
		return reflect.Value{}, fmt.Errorf("%s: not a function", c)
	}
	return x.operand(c.Args[0], dot)
}

func wrapped(n parse.Node, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", n, err)
	}
	return nil
}

// logic evaluates and, or: the first operand that decides is the value.
func (x *execution) logic(or bool, operands []parse.Node, dot reflect.Value) (v reflect.Value, err error) {
	for _, n := range operands {
		if v, err = x.operand(n, dot); err != nil || truth(v) == or {
			return v, err
		}
	}
	return v, nil
}

func (x *execution) operands(nodes []parse.Node, dot reflect.Value, last []reflect.Value) ([]reflect.Value, error) {
	values := make([]reflect.Value, 0, len(nodes)+len(last))
	for _, n := range nodes {
		v, err := x.operand(n, dot)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return append(values, last...), nil
}

func (x *execution) operand(n parse.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64)), nil
		}
	case *parse.PipeNode:
		return x.pipe(n, dot)
	case *parse.FieldNode, *parse.VariableNode, *parse.IdentifierNode:
		return x.command(&parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{n}}, dot, nil)
	}
	return reflect.Value{}, fmt.Errorf("%s: not supported", n)
}

func (x *execution) variable(name string) (reflect.Value, error) {
	for i := len(x.variables) - 1; i >= 0; i-- {
		if x.variables[i].name == name {
			return x.variables[i].value, nil
		}
	}
	return reflect.Value{}, errors.New("no variable " + name)
}

// fields follows names; the last one, if it is a method, has the operands as its arguments.
func (x *execution) fields(v reflect.Value, names []string, operands func() ([]reflect.Value, error)) (reflect.Value, error) {
	for i, name := range names {
		m := method(v, name)
		if !m.IsValid() {
			var err error
			if v, err = field(v, name); err != nil {
				return v, err
			}
			continue
		}
		var arguments []reflect.Value
		var err error
		if i == len(names)-1 {
			if arguments, err = operands(); err != nil {
				return v, err
			}
		}
		if v, err = call(m, arguments); err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
	}
	return v, nil
}
