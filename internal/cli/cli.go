package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/client"
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

// commands is the grammar of the command line.
type commands struct {
	Quiet bool `short:"q" help:"Print results alone: ids in lists, nothing after a change, no headings, hints and colors."`

	Serve   serveCmd   `cmd:"" help:"Run a hub."`
	Send    sendCmd    `cmd:"" help:"Send a message to an agent and print the reply."`
	Chat    chatCmd    `cmd:"" help:"Chat with an agent, line by line."`
	Card    cardCmd    `cmd:"" help:"Show the card of an agent."`
	Agent   agentCmd   `cmd:"" help:"Run a program as a worker of an agent at a bus."`
	Agents  agentsCmd  `cmd:"" help:"List, search, register and probe the agents of a hub."`
	Keys    keysCmd    `cmd:"" help:"Create, list and revoke API keys."`
	Hubs    hubsCmd    `cmd:"" help:"List and drain the hubs that share a database."`
	Check   checkCmd   `cmd:"" help:"Check an A2A server against the specification."`
	Tasks   tasksCmd   `cmd:"" help:"List, show, cancel and watch tasks; repair tasks that hang."`
	Top     topCmd     `cmd:"" help:"Show a hub on one screen: tasks, agents and queues."`
	Open    openCmd    `cmd:"" help:"Print the address of the console or of a task, and open it on a desktop."`
	Watch   watchCmd   `cmd:"" help:"Follow all events of a hub, for administrators."`
	Inbox   inboxCmd   `cmd:"" help:"List and decide the items that wait for a person."`
	Trust   trustCmd   `cmd:"" help:"List and set the trust in callers and agents."`
	Memory  memoryCmd  `cmd:"" help:"List, show, set, delete and search notes."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Serve MCP to a host, such as Claude Desktop."`
	Push    pushCmd    `cmd:"" help:"List webhooks, retry deliveries, or receive notifications."`
	Dead    deadCmd    `cmd:"" help:"List, replay and delete dead letters."`
	Mock    mockCmd    `cmd:"" help:"Serve agents that follow a script, for tests."`
	Audit   auditCmd   `cmd:"" help:"Verify, list and export the audit log."`
	Doctor  doctorCmd  `cmd:"" help:"Report weaknesses in the configuration of a hub, and damage of its data."`
	Repair  repairCmd  `cmd:"" help:"Salvage a damaged data folder into a new one."`
	Backup  backupCmd  `cmd:"" help:"Write the data folder of a hub, which may run, into a file."`
	Restore restoreCmd `cmd:"" help:"Restore a data folder from a backup."`
	Export  exportCmd  `cmd:"" help:"Write the content of a store into a file that another kind of store can import."`
	Import  importCmd  `cmd:"" help:"Read an export into an empty store."`
	Init    initCmd    `cmd:"" help:"Write a first parley.yaml and an example agent."`
	Version versionCmd `cmd:"" help:"Print the version."`
	Health  healthCmd  `cmd:"" help:"Check that a hub is ready."`
	Man     manCmd     `cmd:"" help:"Print the manual page of all commands."`

	Completion completionCmd `cmd:"" help:"Print the completion of a shell: bash, zsh or fish."`
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
	kctx, code, err := parse(parser, args)
	if err != nil {
		command := "parley"
		if wrong := new(kong.ParseError); errors.As(err, &wrong) {
			command = name(wrong.Context)
		}
		return report(o.Stderr, command, usagef("%w", err))
	}
	if kctx == nil {
		return code
	}
	if grammar.Quiet {
		o = o.quieter()
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	kctx.Bind(&o)
	return report(o.Stderr, name(kctx), kctx.Run())
}

// stopped is the panic value by which the help flag stops the parser.
type stopped int

// parse returns the chosen command. It returns an exit code instead if the parser has already
// answered, for example with help.
func parse(parser *kong.Kong, args []string) (kctx *kong.Context, code int, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			kctx, code, err = nil, int(s), nil
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err = parser.Parse(args)
	return kctx, 0, err
}

func newParser(o *OS, grammar *commands) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("parley"),
		kong.Vars{"url": defaultURL},
		kong.Description("Parley is the switchboard between agents: it speaks the A2A protocol on every side."),
		kong.Writers(o.Stdout, o.Stderr),
		kong.Exit(func(code int) { panic(stopped(code)) }),
		kong.Resolvers(environment(o)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
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

// report prints an error and returns the exit code.
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
