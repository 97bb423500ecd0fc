package cli

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

//go:embed completion
var completions embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"The shell: bash, zsh, fish or powershell."`
}

func (c *completionCmd) Run(o *OS) error {
	script, err := completions.ReadFile("completion/parley." + c.Shell)
	if err != nil {
		return err
	}
	_, err = o.Stdout.Write(script)
	return err
}

// completeCmd prints the completions of a line, for the scripts of completionCmd.
type completeCmd struct {
	New   bool     `help:"Complete a further word, which is still empty."`
	Words []string `arg:"" optional:"" help:"The words of the line after the program; the last one is completed."`
}

// completeTime limits the time for the requests to the hub.
const completeTime = 2 * time.Second

// Run prints a completion a line, with a description after a tab.
func (c *completeCmd) Run(ctx context.Context, o *OS, k *kong.Kong) error {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	if len(c.Words) == 0 || c.New {
		c.Words = append(c.Words, "")
	}
	l := &line{node: k.Model.Node, current: c.Words[len(c.Words)-1]}
	if o.LookupEnv != nil {
		l.env(o)
	}
	for _, word := range c.Words[:len(c.Words)-1] {
		l.read(word)
	}
	if o.LookupEnv != nil {
		l.context(o)
	}
	l.hub.URL = cmp.Or(l.hub.URL, o.home, defaultURL)
	for _, found := range l.candidates(ctx) {
		value, _, _ := strings.Cut(found, "\t")
		if strings.HasPrefix(value, l.current) && !strings.ContainsAny(value, " \n") {
			if _, err := fmt.Fprintln(o.Stdout, printable(found)); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is a command line up to the word that is completed.
type line struct {
	node    *kong.Node
	current string
	// flag is a flag without its value, positionals the number of arguments of the command.
	flag        *kong.Flag
	positionals int
	hub         hubFlags
}

// env reads the variables with the hub and the key.
func (l *line) env(o *OS) {
	for name, to := range l.variables() {
		if v, ok := o.LookupEnv(name); ok && v != "" {
			*to = v
		}
	}
}

// context completes what neither the environment nor the line has from the saved contexts.
func (l *line) context(o *OS) {
	h, err := contextFor(o, l.hub.URL)
	if err != nil {
		return
	}
	saved := h.values()
	for name, to := range l.variables() {
		*to = cmp.Or(*to, saved[name])
	}
}

func (l *line) variables() map[string]*string {
	return map[string]*string{
		"PARLEY_URL": &l.hub.URL, "PARLEY_API_KEY": &l.hub.APIKey,
		"PARLEY_CA": &l.hub.CA, "PARLEY_CLIENT_CERT": &l.hub.ClientCert, "PARLEY_CLIENT_KEY": &l.hub.ClientKey,
	}
}

// read reads a word before the current one.
func (l *line) read(word string) {
	if l.flag != nil {
		l.set(l.flag.Name, word)
		l.flag = nil
		return
	}
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "--") {
		l.set(name[2:], value)
		return
	}
	if strings.HasPrefix(word, "-") {
		if f := l.find(word); f != nil && !f.IsBool() {
			l.flag = f
		}
		return
	}
	for _, child := range l.node.Children {
		if child.Name == word {
			l.node = child
			return
		}
	}
	l.positionals++
}

// set uses the value of a flag that selects the hub.
func (l *line) set(flag, value string) {
	switch flag {
	case "url":
		l.hub.URL = value
	case "api-key":
		l.hub.APIKey = value
	case "ca":
		l.hub.CA = value
	case "client-cert":
		l.hub.ClientCert = value
	case "client-key":
		l.hub.ClientKey = value
	}
}

// flags returns the flags of the command and of those above it.
func (l *line) flags() []*kong.Flag {
	return slices.Concat(l.node.AllFlags(true)...)
}

// find returns the flag of a word, or nil.
func (l *line) find(word string) *kong.Flag {
	for _, f := range l.flags() {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// candidates returns the values that the current word may have.
func (l *line) candidates(ctx context.Context) (all []string) {
	switch {
	case l.flag != nil:
		return l.values(ctx)
	case strings.HasPrefix(l.current, "-"):
		for _, f := range l.flags() {
			all = append(all, "--"+f.Name+"\t"+f.Help)
		}
		return all
	case len(l.node.Children) > 0:
		for _, child := range l.node.Children {
			if !child.Hidden {
				all = append(all, child.Name+"\t"+child.Help)
			}
		}
		return all
	case l.positionals >= len(l.node.Positional):
		return nil
	}
	return l.argument(ctx, l.node.Positional[l.positionals])
}

// values returns the values of a flag.
func (l *line) values(ctx context.Context) (all []string) {
	switch l.flag.Name {
	case "agent":
		return l.agents(ctx)
	case "state":
		if l.flag.Enum == "" {
			for _, s := range states {
				all = append(all, stateName(s))
			}
			return all
		}
	}
	return l.flag.EnumSlice()
}

// argument returns the values of an argument.
func (l *line) argument(ctx context.Context, p *kong.Positional) []string {
	parent := ""
	if l.node.Parent != nil {
		parent = l.node.Parent.Name
	}
	switch {
	case p.Enum != "":
		return p.EnumSlice()
	case parent == "tasks" && p.Name == "id", l.node.Name == "open" && p.Name == "task", parent == "push" && p.Name == "task":
		return l.tasks(ctx)
	case parent == "agents" && p.Name == "name" && l.node.Name != "add":
		return l.agents(ctx)
	}
	return nil
}

// agents returns the names of the agents of the hub; none if it does not answer.
func (l *line) agents(ctx context.Context) (all []string) {
	var list adminjson.AgentList
	if l.hub.ask(ctx, "GET "+agentsPath, nil, &list) != nil {
		return nil
	}
	for i := range list.Agents {
		all = append(all, list.Agents[i].Name+"\t"+plain(list.Agents[i].Description))
	}
	return all
}

// tasks returns the ids of the caller's tasks: those that begin with the word, or the last ones.
func (l *line) tasks(ctx context.Context) (all []string) {
	q := url.Values{"pageSize": {"50"}}
	if len(l.current) >= shortest {
		q.Set("idPrefix", l.current)
	}
	var list adminjson.TaskList
	if l.hub.ask(ctx, "GET "+adminapi.Root+"/tasks?"+q.Encode(), nil, &list) != nil {
		return nil
	}
	for _, t := range list.Tasks {
		all = append(all, fmt.Sprintf("%s\t%s, %s, %s", t.TaskID, stateName(a2a.TaskState(t.State)), plain(t.Agent), whenName(t.ChangedAt, time.Now())))
	}
	return all
}
