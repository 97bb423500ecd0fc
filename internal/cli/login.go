package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// contexts is the file contexts.json of a user: the hubs that commands call, with their credentials.
type contexts struct {
	Current  string               `json:"current,omitempty"`
	Contexts map[string]*savedHub `json:"contexts"`

	path string
}

// savedHub is a hub of the file. Its members have the meaning of the flags.
type savedHub struct {
	URL        string `json:"url"`
	APIKey     string `json:"api_key,omitempty"`
	CA         string `json:"ca,omitempty"`
	ClientCert string `json:"client_cert,omitempty"`
	ClientKey  string `json:"client_key,omitempty"`
}

// values returns the values of flags by their variables. Without a hub they are empty.
func (h *savedHub) values() map[string]string {
	if h == nil {
		h = new(savedHub)
	}
	return map[string]string{
		"PARLEY_URL": h.URL, "PARLEY_API_KEY": h.APIKey, "PARLEY_CA": h.CA, "PARLEY_CLIENT_CERT": h.ClientCert, "PARLEY_CLIENT_KEY": h.ClientKey,
	}
}

// readContexts reads the file; without one there are no contexts.
func readContexts(o *OS) (*contexts, error) {
	if o.ConfigDir == nil {
		return &contexts{}, nil
	}
	dir, err := o.ConfigDir()
	if err != nil {
		return &contexts{}, nil // a user without a home has no contexts
	}
	c := &contexts{path: filepath.Join(dir, "parley", "contexts.json")}
	text, err := os.ReadFile(c.path)
	if err != nil {
		return c, nil // a user who cannot read it has none
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read contexts: %s: %w; correct or remove it", c.path, err)
	}
	return c, nil
}

// write writes the file, which only its user may read.
func (c *contexts) write() error {
	if c.path == "" {
		return errors.New("save contexts: this user has no folder for configuration; set $HOME")
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("save contexts: %w", err)
	}
	if err := atomicfile.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("save contexts: %w", err)
	}
	return atomicfile.Replace(c.path, append(text, '\n'), 0o600)
}

// named returns the context with a name.
func (c *contexts) named(name string) (*savedHub, error) {
	h, ok := c.Contexts[name]
	switch {
	case ok && h != nil:
		return h, nil
	case len(c.Contexts) == 0:
		return nil, usagef("no context %q; create it with: parley login URL --name %s", name, quote(name))
	}
	return nil, usagef("no context %q; available contexts: %s", name, strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", "))
}

// contextFor returns the context for a command, so that credentials are only sent where they belong.
// With an address from the command line or the environment it is the context of that address. Otherwise
// it is the context that $PARLEY_CONTEXT names, or the current one. It is nil if there is none, and if the
// environment has a credential without an address, which belongs to no context.
func contextFor(o *OS, address string) (*savedHub, error) {
	for _, name := range []string{"PARLEY_API_KEY", "PARLEY_CLIENT_CERT"} {
		if v, ok := o.LookupEnv(name); ok && v != "" && address == "" {
			return nil, nil
		}
	}
	c, err := readContexts(o)
	switch {
	case err != nil && address != "":
		return nil, nil // the command does not depend on contexts
	case err != nil:
		return nil, err
	case address == "":
		name := c.Current
		if v, ok := o.LookupEnv("PARLEY_CONTEXT"); ok && v != "" {
			name = v
		}
		if name == "" {
			return nil, nil
		}
		return c.named(name)
	}
	for _, name := range append([]string{c.Current}, slices.Sorted(maps.Keys(c.Contexts))...) {
		if h := c.Contexts[name]; h != nil && sameHub(h.URL, address) {
			return h, nil
		}
	}
	return nil, nil
}

// sameHub reports whether two addresses are the same, in any spelling of scheme and host.
func sameHub(a, b string) bool {
	x, err := url.Parse((&hubFlags{URL: a}).base())
	y, other := url.Parse((&hubFlags{URL: b}).base())
	return err == nil && other == nil && strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Host, y.Host) && x.EscapedPath() == y.EscapedPath()
}

// fromContext gives the flags of a hub the values of the selected context, unless the command line or
// the environment has them.
func fromContext(o *OS) kong.Resolver {
	return kong.ResolverFunc(func(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if o.LookupEnv == nil {
			return nil, nil
		}
		address, ok := hubOf(k, o)
		if !ok {
			return nil, nil
		}
		h, err := contextFor(o, address)
		if v := h.values()[flag.Tag.Get("from")]; v != "" {
			return v, nil
		}
		return nil, err
	})
}

// hubOf returns the address of the hub that a command line or the environment names; "" if they name
// none. It reports false for commands that call no hub, or one beside a data folder.
func hubOf(k *kong.Context, o *OS) (address string, ok bool) {
	address, _ = o.LookupEnv("PARLEY_URL")
	flag, positional := "", ""
	for _, p := range k.Path {
		for _, f := range p.Flags {
			ok = ok || f.Tag.Get("from") == "PARLEY_URL"
			if f.Tag.Get("from") == "PARLEY_DATA" {
				return "", false
			}
		}
		switch {
		case p.Flag != nil && p.Flag.Name == "data":
			return "", false
		case p.Flag != nil && p.Flag.Name == "url":
			flag = k.Value(p).String()
		case p.Positional != nil && p.Positional.Tag.Get("as") == "url":
			positional = k.Value(p).String()
		}
	}
	return cmp.Or(positional, flag, address), ok // as the commands do
}

type loginCmd struct {
	URL    string `arg:"" help:"The URL of the hub."`
	Name   string `help:"The name of the context; by default the host of the URL." placeholder:"NAME"`
	APIKey string `name:"api-key" help:"The credential; - reads a line from standard input. On a terminal, the command prompts for it ($$PARLEY_API_KEY)." from:"PARLEY_API_KEY" placeholder:"KEY"`
	certFlags
}

// Run checks that the hub accepts the credential, and saves both.
func (c *loginCmd) Run(in interrupts, o *OS) error {
	hub := hubFlags{URL: c.URL, APIKey: c.APIKey, certFlags: c.certFlags}
	hub.URL = hub.base()
	u, err := url.Parse(hub.URL)
	if err != nil || u.Host == "" {
		return usagef("%q is not the URL of a hub", c.URL)
	}
	if hub.APIKey, err = c.key(o); err != nil {
		return err
	}
	if err := hub.ask(in.soft, "GET "+agentsPath, nil, new(adminjson.AgentList)); err != nil {
		return err
	}
	all, err := readContexts(o)
	if err != nil {
		return err
	}
	saved := &savedHub{URL: hub.URL, APIKey: hub.APIKey}
	for _, f := range []struct {
		to   *string
		file string
	}{{&saved.CA, c.CA}, {&saved.ClientCert, c.ClientCert}, {&saved.ClientKey, c.ClientKey}} {
		if f.file == "" {
			continue
		}
		if *f.to, err = filepath.Abs(f.file); err != nil { // commands may run in other folders
			return err
		}
	}
	if all.Contexts == nil {
		all.Contexts = make(map[string]*savedHub)
	}
	name := cmp.Or(c.Name, u.Host)
	if h := all.Contexts[name]; h != nil && c.Name == "" && !sameHub(h.URL, hub.URL) {
		return usagef("the context %q is for %s; choose another name with --name", name, h.URL)
	}
	all.Current = name
	all.Contexts[all.Current] = saved
	if err := all.write(); err != nil {
		return err
	}
	if o.Quiet {
		return nil
	}
	_, err = fmt.Fprintf(o.Stdout, "logged in to %s; commands without --url now call %s\n", all.Current, hub.URL)
	return err
}

// key returns the credential, which it reads if necessary.
func (c *loginCmd) key(o *OS) (string, error) {
	switch {
	case c.APIKey == "-":
		line, err := bufio.NewReader(o.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the credential: %w", err)
		}
		if line = strings.TrimSpace(line); line == "" {
			return "", usagef("--api-key -: standard input has no credential")
		}
		return line, nil
	case c.APIKey != "" || c.ClientCert != "" || !o.Typed || o.Secret == nil:
		return c.APIKey, nil
	}
	fmt.Fprint(o.Stderr, "API key (empty if the hub needs none): ")
	line, err := o.Secret()
	fmt.Fprintln(o.Stderr)
	if err != nil {
		return "", fmt.Errorf("read the credential: %w", err)
	}
	return strings.TrimSpace(line), nil
}

type contextsCmd struct {
	List   contextsListCmd   `cmd:"" help:"List the hubs that you have logged in to."`
	Use    contextsUseCmd    `cmd:"" help:"Select the hub that commands call."`
	Remove contextsRemoveCmd `cmd:"" help:"Forget a hub and its credential."`
}

type contextsListCmd struct {
	format
}

func (c *contextsListCmd) Run(o *OS) error {
	all, err := readContexts(o)
	if err != nil {
		return err
	}
	type entry struct {
		Name    string `json:"name"`
		URL     string `json:"url"`
		Current bool   `json:"current"`
	}
	var list []entry
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		if h := all.Contexts[name]; h != nil {
			list = append(list, entry{name, h.URL, name == all.Current})
		}
	}
	t := &table[*entry]{heads: "CONTEXT\tURL\tCURRENT", none: "No contexts. Create one with: parley login URL", format: c.format, row: func(e *entry) []any {
		current := "-"
		if e.Current {
			current = "current"
		}
		return []any{printable(e.Name), printable(e.URL), current}
	}}
	return t.print(o, each(list))
}

type contextsUseCmd struct {
	Name string `arg:"" help:"The name of the context."`
}

func (c *contextsUseCmd) Run(o *OS) error {
	all, err := readContexts(o)
	if err != nil {
		return err
	}
	h, err := all.named(c.Name)
	if err != nil {
		return err
	}
	all.Current = c.Name
	if err := all.write(); err != nil || o.Quiet {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "commands without --url now call %s\n", printable(h.URL))
	return err
}

type contextsRemoveCmd struct {
	Name string `arg:"" help:"The name of the context."`
}

func (c *contextsRemoveCmd) Run(o *OS) error {
	all, err := readContexts(o)
	if err != nil {
		return err
	}
	if _, err := all.named(c.Name); err != nil {
		return err
	}
	delete(all.Contexts, c.Name)
	if all.Current == c.Name {
		all.Current = ""
	}
	if err := all.write(); err != nil || o.Quiet {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "removed %s\n", printable(c.Name))
	return err
}
