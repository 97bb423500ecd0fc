package server

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// records receives the records of a log, one text each; more than fit are lost.
type records chan string

func (r records) Write(p []byte) (int, error) {
	select {
	case r <- string(p):
	default:
	}
	return len(p), nil
}

// TestFilesChangedBeforeFollowing: a hub applies the changes that its files had after it read them and
// before it followed them.
func TestFilesChangedBeforeFollowing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hub := tlstest.NewAuthority(t, "hub")
	hub.Write(t, dir, "hub")
	const settings = "tls: {cert: hub.pem, key: hub.key}\npolicy: rules.yaml\ntrust: {file: trust.json}\n" +
		"directory: {known_agents: known.json}\nbus: {url: off}\n"
	write("parley.yaml", settings)
	write("rules.yaml", "rules: [{allow: send, who: anybody}]\n")
	write("trust.json", "[]")
	write("known.json", "[]")
	load := func() (*config.Config, error) {
		c, err := config.Load(at("parley.yaml"))
		if err == nil { // as flags do
			c.Listen, c.Data = "127.0.0.1:0", at("data")
		}
		return c, err
	}
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	log := make(records, 1000)
	h, err := Open(t.Context(), Options{Config: cfg, Load: load, Level: new(slog.LevelVar), Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}

	write("parley.yaml", settings+"log: {level: warn}\n")
	write("rules.yaml", "rules: [{allow: [send, get], who: anybody}]\n")
	write("trust.json", "[{}]")
	write("known.json", "{}")
	hub.Issue(t, x509.Certificate{}).Write(t, dir, "hub")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- errors.Join(h.Run(ctx), h.Close()) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()

	missing := []string{
		"configuration changed and applied", "policy changed and applied", "certificate renewed",
		"agentId is missing",             // in trust.json
		"source of agents has a problem", // known.json
	}
	timeout := time.After(2 * time.Minute)
	for len(missing) > 0 {
		select {
		case one := <-log:
			missing = slices.DeleteFunc(missing, func(text string) bool { return strings.Contains(one, text) })
			if strings.Contains(one, "need a restart") {
				t.Errorf("a key that did not change: %s", one)
			}
		case <-timeout:
			t.Fatalf("records %q are missing", missing)
		}
	}
}
