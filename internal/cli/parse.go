package cli

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/internal/suggest"
)

// Kong finds hooks and the method Run of a command by their names, as texts. A program that does so
// keeps every exported method of every type; therefore kong parses here, and this file validates and
// runs: see docs/adr/0102-no-methods-by-name.md.

// wrongUsage is an error of the arguments, with the command as far as it was understood.
type wrongUsage struct {
	error
	kctx *kong.Context
}

// parse returns the chosen command, or nil if it has printed the help. The error is a wrongUsage.
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	kctx, err := kong.Trace(parser, args)
	if err == nil {
		err = kctx.Error
	}
	if err != nil {
		return nil, wrongUsage{err, kctx}
	}
	for _, p := range kctx.Path {
		if p.Flag != nil && p.Flag == parser.Model.HelpFlag {
			return nil, kctx.PrintUsage(false)
		}
	}
	if err := apply(kctx); err != nil {
		return nil, wrongUsage{err, kctx}
	}
	return kctx, nil
}

// apply writes the values of defaults, of the environment and of the arguments into the grammar.
func apply(kctx *kong.Context) error {
	if err := kctx.Reset(); err != nil {
		return err
	}
	if err := kctx.Resolve(); err != nil {
		return err
	}
	if _, err := kctx.Apply(); err != nil {
		return err
	}
	return validate(kctx)
}

// validate refuses missing commands, flags and arguments, and values outside of their list.
func validate(kctx *kong.Context) error {
	given := 0 // arguments without a name
	for _, p := range kctx.Path {
		if p.Positional != nil {
			given = p.Positional.Position + 1
		}
		if err := validateFlags(p.Flags); err != nil {
			return err
		}
	}
	node := kctx.Selected()
	if node == nil {
		node = kctx.Model.Node
	}
	if len(node.Children) > 0 {
		return fmt.Errorf("expected %s", children(node))
	}
	return validateArguments(node.Positional, given)
}

func validateFlags(flags []*kong.Flag) error {
	var missing []string
	for _, f := range flags {
		if f.Required && !f.Set {
			missing = append(missing, f.Summary())
		}
		if err := validateValue(f.Value); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
}

func validateArguments(arguments []*kong.Positional, given int) error {
	for _, a := range arguments[:given] {
		if err := validateValue(a); err != nil {
			return err
		}
	}
	if given == len(arguments) || !arguments[given].Required {
		return nil
	}
	var missing []string
	for _, a := range arguments[given:] {
		if a.Required {
			missing = append(missing, a.Summary())
		}
	}
	return fmt.Errorf("expected %s", strconv.Quote(strings.Join(missing, " ")))
}

// validateValue refuses a value that is not one of its tag "enum".
func validateValue(v *kong.Value) error {
	if v.Enum == "" || v.Target.Kind() != reflect.String || slices.Contains(v.EnumSlice(), v.Target.String()) {
		return nil
	}
	var known []string
	for _, word := range v.EnumSlice() {
		known = append(known, strconv.Quote(word))
	}
	return fmt.Errorf("%s must be one of %s but got %q", v.ShortSummary(), strings.Join(known, ","), v.Target.String())
}

// children lists the first commands of a node.
func children(node *kong.Node) string {
	var names []string
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, strconv.Quote(child.Name))
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// run runs the chosen command.
func run(ctx context.Context, kctx *kong.Context, o *OS) error {
	return runner(kctx.Selected())(ctx, o, kctx.Kong)
}

// runner returns the method Run of a command, or nil if it has another shape than these.
func runner(node *kong.Node) func(context.Context, *OS, *kong.Kong) error {
	switch c := node.Target.Addr().Interface().(type) {
	case interface {
		Run(context.Context, *OS) error
	}:
		return func(ctx context.Context, o *OS, _ *kong.Kong) error { return c.Run(ctx, o) }
	case interface{ Run(interrupts, *OS) error }:
		return func(ctx context.Context, o *OS, _ *kong.Kong) error {
			return o.interruptible(ctx, func(in interrupts) error { return c.Run(in, o) })
		}
	case interface {
		Run(context.Context, *OS, *kong.Kong) error
	}:
		return c.Run
	case interface{ Run(*OS, *kong.Kong) error }:
		return func(_ context.Context, o *OS, k *kong.Kong) error { return c.Run(o, k) }
	case interface{ Run(*OS) error }:
		return func(_ context.Context, o *OS, _ *kong.Kong) error { return c.Run(o) }
	}
	return nil // never, says TestEachCommandRuns
}

// Errors of the parser that need other words.
var (
	ofAList   = regexp.MustCompile(`^(.*) must be one of ("[^ ]*") but got "(.*)"$`)
	noNumber  = regexp.MustCompile(`expected a valid \d+ bit u?int but got (".*")$`)
	noValue   = regexp.MustCompile(`^(--[\w-]+): expected \S+ value but got "EOL" .*$`)
	likeAFlag = regexp.MustCompile(`^(--[\w-]+): expected \S+ value but got "(-.*?)" \(.* flag\); perhaps try .*$`)
)

// worded returns an error of the parser in the words of the other errors.
func worded(text string) string {
	if m := likeAFlag.FindStringSubmatch(text); m != nil {
		return m[1] + ": " + m[2] + " begins like a flag; write " + m[1] + "=" + m[2]
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return m[1] + " needs a value"
	}
	m := ofAList.FindStringSubmatch(text)
	if m == nil {
		return noNumber.ReplaceAllString(text, "$1 is not a whole number")
	}
	names := slices.DeleteFunc(strings.Split(strings.ReplaceAll(m[2], `"`, ""), ","), func(s string) bool { return s == "" })
	text = m[1] + " must be one of " + strings.Join(names, ", ") + `, not "` + m[3] + `"`
	if near := suggest.Nearest(m[3], names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}
