package cli

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// helpText has a section for each command, with a headline such as "# tasks list".
//
//go:embed help.txt
var helpText string

// explain sets the texts that the commands show below their usage.
func explain(model *kong.Node) {
	texts := map[string]string{}
	for section := range strings.SplitSeq("\n"+helpText, "\n# ") {
		command, text, _ := strings.Cut(section, "\n\n")
		texts["parley "+command] = unwrapped(text)
	}
	for _, leaf := range model.Leaves(false) {
		leaf.Detail = texts[leaf.FullPath()]
	}
}

// unwrapped joins the lines of each paragraph. Lines that begin with four spaces do not change.
func unwrapped(text string) string {
	var all []string
	for paragraph := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") {
			paragraph = strings.ReplaceAll(paragraph, "\n", " ")
		}
		all = append(all, paragraph)
	}
	return strings.Join(all, "\n\n")
}
