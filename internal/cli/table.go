package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"
)

// table prints a list: in columns for a person, with tabs between them for a program, or as
// JSON, one value a line. P is the type of pointers to the values, so that the compiler makes one
// function for all tables.
type table[P any] struct {
	// heads are the names of the columns, with tabs between them.
	heads string
	// none is printed for a person if the list is empty. If none is empty, only the heads are
	// printed.
	none string
	// row returns the columns of a value.
	row func(v P) []any
	// person formats a value for a person, in place of columns. It may be nil.
	person func(v P) string
	// id is the number of the column that identifies a value.
	id int
	// raw returns the JSON of a value with its line feed, if it is known. It may be nil.
	raw func(v P) []byte
	// clock prints times on a terminal, not ages, which a list that stays on the screen would outlive.
	clock bool
	format
}

// view returns the environment in which a list is printed. A wide one has columns in a pipe too, and no relative times.
func (t *table[P]) view(o *OS) *OS {
	if !t.wide() || o.Quiet {
		return o
	}
	v := *o
	v.Terminal, v.Rich, v.Colors = true, false, false
	return &v
}

// print prints all values up to the first error, which it returns.
func (t *table[P]) print(o *OS, all iter.Seq2[P, error]) error {
	o = t.view(o)
	person := o.Terminal && !t.data()
	if o.Rich && person && t.person == nil {
		return t.grid(o, all)
	}
	w, flush := o.Stdout, func() error { return nil }
	if person && t.person == nil {
		columns := tabwriter.NewWriter(o.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(columns, t.heads)
		w, flush = columns, columns.Flush
	}
	n := 0
	for v, err := range all {
		if err == nil {
			err = t.write(o, w, v)
		}
		if err != nil {
			return err
		}
		n++
	}
	if n == 0 && person && t.none != "" {
		_, err := fmt.Fprintln(o.Stdout, t.none)
		return err
	}
	return flush()
}

func (t *table[P]) write(o *OS, w io.Writer, v P) error {
	person := o.Terminal && !t.data()
	var err error
	switch {
	case t.data() && t.raw != nil && !t.yaml():
		_, err = w.Write(t.raw(v))
	case t.data() && t.raw != nil:
		err = writeYAML(w, t.raw(v))
	case t.data():
		err = t.encode(w, v)
	case person && t.person != nil:
		_, err = io.WriteString(w, t.person(v))
	case o.Quiet:
		_, err = fmt.Fprintln(w, t.cells(v)[t.id])
	default:
		_, err = fmt.Fprintln(w, strings.Join(t.cells(v), "\t"))
	}
	return err
}

// cells returns the columns of a value.
func (t *table[P]) cells(v P) []string {
	var cells []string
	for _, cell := range t.row(v) {
		cells = append(cells, oneCell.Replace(fmt.Sprint(cell)))
	}
	return cells
}

// grid prints all values in columns with relative times, short ids and, if the terminal has them,
// colors.
func (t *table[P]) grid(o *OS, all iter.Seq2[P, error]) error {
	g := &grid{colors: o.Colors, now: time.Now(), clock: t.clock, heads: strings.Split(t.heads, "\t")}
	for v, err := range all {
		if err != nil {
			return errors.Join(g.write(o.drawing()), err)
		}
		g.rows = append(g.rows, t.cells(v))
	}
	if len(g.rows) == 0 && t.none != "" {
		_, err := fmt.Fprintln(o.Stdout, t.none)
		return err
	}
	return g.write(o.drawing())
}

// oneCell keeps a text in its column and its row.
var oneCell = strings.NewReplacer("\t", " ", "\n", " ", "\r", "")

func each[T any](list []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
	}
}

// counting adds the number of values read to n.
func counting[T any](n *int, all iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for v, err := range all {
			if err == nil {
				*n++
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// first returns the first n values; 0 means all.
func first[T any](n int, all iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		i := 0
		for v, err := range all {
			if n > 0 && i == n && err == nil || !yield(v, err) {
				return
			}
			i++
		}
	}
}

// last returns the last n values; 0 means all.
func last[T any](n int, all iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	if n == 0 {
		return all
	}
	return func(yield func(*T, error) bool) {
		var kept []*T
		for v, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(kept) == 2*n {
				kept = append(kept[:0], kept[n:]...)
			}
			kept = append(kept, v)
		}
		for _, v := range kept[max(0, len(kept)-n):] {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// pages returns the items of a list of the hub that is split into pages. at is its path with a
// query. page returns the items of a page, and the query parameter for the next page, or "".
func pages[P, T any](ctx context.Context, f *hubFlags, at string, page func(*P) (items []T, next string)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for next := at; ; {
			var p P
			if err := f.ask(ctx, "GET "+next, nil, &p); err != nil {
				yield(nil, err)
				return
			}
			items, more := page(&p)
			for v := range each(items) {
				if !yield(v, nil) {
					return
				}
			}
			if more == "" {
				return
			}
			next = at + "&" + more
		}
	}
}

// nextPage returns the query parameter for the page with a token, or "".
func nextPage(name, token string) string {
	if token == "" {
		return ""
	}
	return name + "=" + url.QueryEscape(token)
}

// asking is a request to the hub whose answer is printed.
type asking[T any] struct {
	*hubFlags
	// request is a method and a path; in is the body, or nil.
	request string
	in      any
	// text formats the answer for a person.
	text func(v *T) string
	format
}

// print sends the request and prints the answer.
func (q *asking[T]) print(ctx context.Context, o *OS) error {
	return o.interruptible(ctx, func(in interrupts) error {
		v := new(T)
		if err := q.ask(in.soft, q.request, q.in, v); err != nil {
			return err
		}
		if q.data() {
			return q.encode(o.Stdout, v)
		}
		if o.Quiet && !strings.HasPrefix(q.request, "GET ") {
			return nil
		}
		_, err := io.WriteString(o.Stdout, q.text(v))
		return err
	})
}

// dash returns s for a column, or "-" if s is empty.
func dash(s string) string { return cmp.Or(s, "-") }
