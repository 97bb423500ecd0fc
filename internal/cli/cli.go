package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/server"
)

// Exit codes of all commands.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 3 // the task waits for input or authorization
	exitUnreachable = 4
)

// exit is an error with an exit code.
type exit struct {
	code int
	err  error // nil if the error was printed already
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}
func (e *exit) Unwrap() error { return e.err }

// usagef returns an error about the arguments of the command.
func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

type commands struct {
	Quiet bool `short:"q" help:"Print only results: ids in lists, nothing after a change; no headings, hints or colors."`

	Send   sendCmd   `cmd:"" group:"Call agents:" help:"Send a message to an agent and print the reply."`
	Chat   chatCmd   `cmd:"" group:"Call agents:" help:"Chat with an agent, line by line."`
	Card   cardCmd   `cmd:"" group:"Call agents:" help:"Show the card of an agent."`
	Tasks  tasksCmd  `cmd:"" group:"Call agents:" help:"List, show, cancel and watch tasks; repair tasks that hang."`
	Inbox  inboxCmd  `cmd:"" group:"Call agents:" help:"List and decide the items that wait for a person."`
	Memory memoryCmd `cmd:"" group:"Call agents:" help:"List, show, set, delete and search notes."`
	MCP    mcpCmd    `cmd:"" group:"Call agents:" name:"mcp" help:"Serve MCP to a host, such as Claude Desktop."`

	Init   initCmd   `cmd:"" group:"Run a hub:" help:"Create a parley.yaml and an example agent."`
	Config configCmd `cmd:"" group:"Run a hub:" help:"Check the configuration of a hub."`
	Serve  serveCmd  `cmd:"" group:"Run a hub:" help:"Run a hub."`
	Agents agentsCmd `cmd:"" group:"Run a hub:" help:"List, search, register and probe the agents of a hub."`
	Agent  agentCmd  `cmd:"" group:"Run a hub:" help:"Run a program as a queue worker of an agent."`
	Keys   keysCmd   `cmd:"" group:"Run a hub:" help:"Create, list and revoke API keys."`
	Trust  trustCmd  `cmd:"" group:"Run a hub:" help:"List and set the trust in callers and agents."`
	Push   pushCmd   `cmd:"" group:"Run a hub:" help:"List webhooks, retry deliveries, or receive notifications."`

	Top    topCmd    `cmd:"" group:"Watch and repair a hub:" help:"Show a hub on one screen: tasks, agents and queues."`
	Why    whyCmd    `cmd:"" group:"Watch and repair a hub:" help:"Explain why a task is not progressing."`
	Open   openCmd   `cmd:"" group:"Watch and repair a hub:" help:"Print the address of the console or of a task, and open it on a desktop."`
	Watch  watchCmd  `cmd:"" group:"Watch and repair a hub:" help:"Follow all events of a hub, for administrators."`
	Health healthCmd `cmd:"" group:"Watch and repair a hub:" help:"Check that a hub is ready."`
	Doctor doctorCmd `cmd:"" group:"Watch and repair a hub:" help:"Report weaknesses in the configuration of a hub, and damage of its data."`
	Audit  auditCmd  `cmd:"" group:"Watch and repair a hub:" help:"Verify, list and export the audit log."`
	Dead   deadCmd   `cmd:"" group:"Watch and repair a hub:" help:"List, replay and delete dead letters."`
	Hubs   hubsCmd   `cmd:"" group:"Watch and repair a hub:" help:"List and drain the hubs that share a database."`
	Shards shardsCmd `cmd:"" group:"Watch and repair a hub:" help:"List, drain and rebalance the databases of a log over several."`

	Backup  backupCmd  `cmd:"" group:"Move and keep data:" help:"Back up the data folder of a hub, even while it runs."`
	Restore restoreCmd `cmd:"" group:"Move and keep data:" help:"Restore a data folder from a backup."`
	Export  exportCmd  `cmd:"" group:"Move and keep data:" help:"Export a store to a file that any kind of store can import."`
	Import  importCmd  `cmd:"" group:"Move and keep data:" help:"Read an export into an empty store."`
	Upgrade upgradeCmd `cmd:"" group:"Move and keep data:" help:"Report what this version changes in a data folder and a configuration."`
	Repair  repairCmd  `cmd:"" group:"Move and keep data:" help:"Salvage a damaged data folder into a new one."`

	Check checkCmd `cmd:"" group:"Test agents:" help:"Check an A2A server against the specification."`
	Mock  mockCmd  `cmd:"" group:"Test agents:" help:"Serve agents that follow a script, for tests."`

	Login    loginCmd    `cmd:"" group:"Other commands:" help:"Save the address and the credential of a hub for the other commands."`
	Contexts contextsCmd `cmd:"" group:"Other commands:" help:"List, select and forget the hubs that you have logged in to."`

	Version    versionCmd    `cmd:"" group:"Other commands:" help:"Print the version."`
	Man        manCmd        `cmd:"" group:"Other commands:" help:"Print the manual page of all commands."`
	Completion completionCmd `cmd:"" group:"Other commands:" help:"Print the completion of a shell: bash, zsh, fish or powershell."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print the completions of a line."`
}

// Main runs the command that args name, without the program's name, and returns its exit code.
func Main(ctx context.Context, args []string, o OS) int {
	o = o.guarded()
	grammar := new(commands)
	parser, err := newParser(&o, grammar)
	if err != nil {
		fmt.Fprintln(o.Stderr, "parley:", err)
		return exitFailed
	}
	helped := false
	parser.Exit = func(int) { helped = true }
	kctx, err := parser.Parse(spelled(args))
	if helped {
		return exitOK
	}
	if wrong := new(kong.ParseError); errors.As(err, &wrong) {
		return report(o.Stderr, name(wrong.Context), usagef("%s", worded(err.Error())))
	}
	if grammar.Quiet {
		o = o.quieter()
	}
	var end func()
	err = kctx.BindToProvider(func() (in interrupts, err error) {
		in, end = o.catch(ctx)
		return in, nil
	})
	if err == nil {
		kctx.BindTo(ctx, (*context.Context)(nil))
		err = kctx.Run(&o)
	}
	if end != nil {
		end()
	}
	return report(o.Stderr, name(kctx), err)
}

// spelled returns args in the spelling of this program: others have "help COMMAND" and "--version".
func spelled(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

func newParser(o *OS, grammar *commands) (*kong.Kong, error) {
	for _, flags := range registry.Added[config.NewFlags]() {
		grammar.Serve.Plugins = append(grammar.Serve.Plugins, flags())
	}
	parser, err := kong.New(grammar,
		kong.Name("parley"),
		kong.Vars{"url": cmp.Or(o.home, defaultURL)},
		kong.Description("Parley is a durable hub for AI agents that speaks the A2A protocol."),
		kong.Writers(o.Stdout, o.Stderr),
		kong.Resolvers(fromContext(o), environment(o)), // the last one takes precedence
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err == nil {
		explain(parser.Model.Node)
	}
	return parser, err
}

// environment gives a flag the value of the variable in its "from" tag.
func environment(o *OS) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("from")
		if name == "" || o.LookupEnv == nil {
			return nil, nil
		}
		if value, ok := o.LookupEnv(name); ok && value != "" {
			return value, nil
		}
		return nil, nil
	})
}

// name returns the words of the command, such as "parley tasks get".
func name(kctx *kong.Context) string {
	words := []string{"parley"}
	for _, p := range kctx.Path {
		if p.Command != nil {
			words = append(words, p.Command.Name)
		}
	}
	return strings.Join(words, " ")
}

func report(w io.Writer, command string, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var e *exit
	var wrong *server.ConfigError
	switch {
	case errors.As(err, &e):
		code, err = e.code, e.err
	case errors.As(err, &wrong):
		code, err = exitUsage, wrong.Err
	case errors.Is(err, client.ErrUnreachable):
		code = exitUnreachable
	}
	if err == nil {
		return code
	}
	fmt.Fprintf(w, "%s: %s\n", command, printable(err.Error()))
	if code == exitUsage {
		fmt.Fprintf(w, "Try \"%s --help\".\n", command)
	}
	return code
}
