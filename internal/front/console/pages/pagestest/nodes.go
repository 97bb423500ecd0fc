package pagestest

import (
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

// failure is an error that ends the translation of a template.
type failure struct{ error }

func fail(n parse.Node) { panic(failure{fmt.Errorf("%s: not supported", n)}) }

// translation is that of one template. Its variables are numbered from the first one, as they will be
// when it is executed.
type translation struct{ variables []string }

// translated returns the statements of a template.
func translated(list *parse.ListNode) (all []pages.Node, err error) {
	defer func() {
		if e := recover(); e != nil {
			f, ok := e.(failure)
			if !ok {
				panic(e)
			}
			err = f.error
		}
	}()
	return (&translation{[]string{"$"}}).list(list), nil
}

func (t *translation) list(l *parse.ListNode) (all []pages.Node) {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		all = append(all, t.statement(n))
	}
	return all
}

func (t *translation) statement(n parse.Node) pages.Node {
	switch n := n.(type) {
	case *parse.TextNode:
		return pages.Node{Op: pages.Text, Str: string(n.Text)}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			s := pages.Node{Op: pages.Let, Args: []pages.Node{t.pipe(n.Pipe)}}
			t.declare(n.Pipe)
			return s
		}
		return pages.Node{Op: pages.Action, Args: []pages.Node{t.pipe(n.Pipe)}}
	case *parse.IfNode:
		return t.block(pages.If, &n.BranchNode)
	case *parse.WithNode:
		return t.block(pages.With, &n.BranchNode)
	case *parse.RangeNode:
		return t.block(pages.Range, &n.BranchNode)
	case *parse.TemplateNode:
		s := pages.Node{Op: pages.Template, Str: n.Name}
		if n.Pipe != nil {
			s.Args = []pages.Node{t.pipe(n.Pipe)}
		}
		return s
	}
	fail(n)
	return pages.Node{}
}

func (t *translation) declare(p *parse.PipeNode) {
	if p.IsAssign {
		fail(p)
	}
	for _, d := range p.Decl {
		t.variables = append(t.variables, d.Ident[0])
	}
}

// block translates a statement with statements in it. Their variables end with it; those of range
// are known to its elements alone.
func (t *translation) block(op pages.Op, n *parse.BranchNode) pages.Node {
	s, mark := pages.Node{Op: op, Args: []pages.Node{t.pipe(n.Pipe)}}, len(t.variables)
	t.declare(n.Pipe)
	s.List = t.list(n.List)
	if op == pages.Range {
		s.Num, s.Str = len(n.Pipe.Decl), n.Pipe.String()
		t.variables = t.variables[:mark]
	} else {
		s.Let = len(n.Pipe.Decl) > 0
		t.variables = t.variables[:mark+len(n.Pipe.Decl)]
	}
	s.Else = t.list(n.ElseList)
	t.variables = t.variables[:mark]
	return s
}

// pipe translates a pipeline: each command has that before it as its last operand.
func (t *translation) pipe(p *parse.PipeNode) pages.Node {
	n := t.command(p.Cmds[0])
	for _, c := range p.Cmds[1:] {
		next := t.command(c)
		if next.Op != pages.Call {
			fail(c)
		}
		next.Args = append(next.Args, n)
		n = next
	}
	return n
}

func (t *translation) command(c *parse.CommandNode) pages.Node {
	n := t.operand(c.Args[0])
	for _, a := range c.Args[1:] {
		n.Args = append(n.Args, t.operand(a))
	}
	if len(c.Args) > 1 && n.Op != pages.Call && n.Op != pages.And && n.Op != pages.Or {
		fail(c)
	}
	return n
}

func (t *translation) operand(n parse.Node) pages.Node {
	switch n := n.(type) {
	case *parse.DotNode:
		return pages.Node{Op: pages.Dot}
	case *parse.FieldNode:
		return pages.Node{Op: pages.Dot, Names: n.Ident}
	case *parse.VariableNode:
		for i, name := range slices.Backward(t.variables) {
			if name == n.Ident[0] {
				return pages.Node{Op: pages.Variable, Num: i, Names: n.Ident[1:]}
			}
		}
	case *parse.StringNode:
		return pages.Node{Op: pages.String, Str: n.Text}
	case *parse.NumberNode:
		if n.IsInt {
			return pages.Node{Op: pages.Number, Num: int(n.Int64)}
		}
	case *parse.PipeNode:
		return t.pipe(n)
	case *parse.IdentifierNode:
		switch n.Ident {
		case "and":
			return pages.Node{Op: pages.And}
		case "or":
			return pages.Node{Op: pages.Or}
		}
		return pages.Node{Op: pages.Call, Str: n.Ident}
	}
	fail(n)
	return pages.Node{}
}
