package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// OS is the environment of a command.
type OS struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv returns the value of an environment variable. If nil, none is set.
	LookupEnv func(name string) (string, bool)
	// Terminal is true if Stdout is a terminal.
	Terminal bool
	// Rich is true if lists on the terminal have relative times and short ids, Colors if they
	// have colors, too.
	Rich, Colors bool
	// Quiet is true if commands print results alone: lists print ids, and changes nothing.
	Quiet bool
	// Lines returns the number of lines of the terminal, which may change; 0 if it is not known. If
	// nil, it is not known.
	Lines func() int
	// Typed is true if Stdin is a terminal.
	Typed bool
	// Secret reads a line from the terminal without showing it. If nil, commands ask for no secrets.
	Secret func() (string, error)
	// ConfigDir returns the folder for the configuration of the user. If nil, there is none.
	ConfigDir func() (string, error)
	// Signals starts the delivery of signals that ask the command to stop, until stop is
	// called. If nil, no signals are delivered.
	Signals func() (signals <-chan os.Signal, stop func())

	// home is the default address of the hub in tests, which must not call a hub of this machine. If empty, it is
	// defaultURL.
	home string
}

// Process returns the OS of the running process.
func Process() OS {
	return OS{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Terminal:  isTerminal(os.Stdout),
		Rich:      isTerminal(os.Stdout),
		Colors:    isTerminal(os.Stdout) && colorful(os.LookupEnv),
		Lines:     func() int { return linesOf(os.Stdout) },
		Typed:     isTerminal(os.Stdin),
		Secret:    readSecret,
		ConfigDir: os.UserConfigDir,
		Signals:   processSignals,
	}
}

// colorful reports whether the environment allows colors on a terminal: NO_COLOR is not set, and
// the terminal is not a dumb one.
func colorful(lookup func(string) (string, bool)) bool {
	if none, ok := lookup("NO_COLOR"); ok && none != "" {
		return false
	}
	kind, _ := lookup("TERM")
	return kind != "dumb"
}

func readSecret() (string, error) {
	line, err := term.ReadPassword(int(os.Stdin.Fd()))
	return string(line), err
}

// quieter returns o for a command that prints results alone.
func (o OS) quieter() OS {
	o.Terminal, o.Rich, o.Colors, o.Quiet = false, false, false, true
	return o
}

func processSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// isTerminal reports whether f is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interrupts converts signals to contexts.
type interrupts struct {
	// soft ends with the first signal, or with its parent context.
	soft context.Context
	// hard ends with the second signal only.
	hard context.Context
}

// interruptible calls f with contexts that signals end. When it returns, signals have their
// usual effect again.
func (o *OS) interruptible(ctx context.Context, f func(in interrupts) error) error {
	in, end := o.catch(ctx)
	defer end()
	return f(in)
}

// catch returns contexts that signals end, until the caller calls end.
func (o *OS) catch(ctx context.Context) (in interrupts, end func()) {
	soft, cancelSoft := context.WithCancelCause(ctx)
	hard, cancelHard := context.WithCancelCause(context.WithoutCancel(ctx))
	cancel := func() { cancelSoft(nil); cancelHard(nil) }
	in = interrupts{soft, hard}
	if o.Signals == nil {
		return in, cancel
	}
	signals, stop := o.Signals()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, cancel := range []context.CancelCauseFunc{cancelSoft, cancelHard} {
			select {
			case <-signals:
				cancel(errInterrupted)
			case <-done:
				return
			}
		}
	})
	return in, func() {
		stop()
		close(done)
		wg.Wait()
		cancel()
	}
}
