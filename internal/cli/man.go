package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/internal/version"
)

type manCmd struct{}

func (manCmd) Run(o *OS, k *kong.Kong) error {
	w := o.Stdout
	fmt.Fprintf(w, ".TH PARLEY 1 \"\" \"parley %s\"\n.SH NAME\nparley \\- a durable hub for AI agents\n", roff(version.Version))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B parley\n.I command\n[flags]\n.SH DESCRIPTION\n%s\n.SH COMMANDS\n", roff(k.Model.Help))
	for _, leaf := range k.Model.Leaves(true) {
		manSection(w, leaf)
	}
	_, err := fmt.Fprint(w, ".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 3 the task waits for input, 4 the server is not reachable.\n"+
		".SH FILES\n.I parley.yaml\nThe configuration of a hub; \"parley init \\-\\-schema\" prints its schema.\n.TP\n.I parley-data\nThe data of a hub.\n")
	return err
}

// manSection prints the section of a command.
func manSection(w io.Writer, leaf *kong.Node) {
	fmt.Fprintf(w, ".SS %s\n%s\n", roff(leaf.FullPath()), roff(leaf.Help))
	for paragraph := range strings.SplitSeq(leaf.Detail, "\n\n") {
		if strings.HasPrefix(paragraph, "    ") {
			fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
		} else if paragraph != "" {
			fmt.Fprintf(w, ".PP\n%s\n", roff(paragraph))
		}
	}
	for _, f := range leaf.Flags {
		fmt.Fprintf(w, ".TP\n.B \\-\\-%s\n%s\n", roff(f.Name), roff(f.Help))
	}
}

// roff escapes a text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
