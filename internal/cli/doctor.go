package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/file/diskspace"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

type doctorCmd struct {
	hubFlags
	storeFlags
	Offline bool   `help:"Make no network calls."`
	Strict  bool   `help:"Exit with 1 if anything is weak or wrong."`
	Explain string `help:"Explain a decision of the policy with its rule, such as \"caller=partner role=guest owner=acme op=send agent=echo skill=echo\"." placeholder:"REQUEST"`
	format
}

func (c *doctorCmd) Run(ctx context.Context, o *OS) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	if c.Explain != "" {
		return c.explain(o, cfg)
	}
	folder, unread := examineFolder(ctx, cfg)
	if c.Data == "" && errors.Is(unread, sqlitestore.ErrNoStore) {
		unread = nil // the configuration is examined before the first start
	}
	damaged := slices.ContainsFunc(folder, func(f doctor.Finding) bool { return f.Level == doctor.Wrong })
	noKeys := ""
	switch {
	case damaged:
		noKeys = damageOf(cfg)
	case errors.Is(unread, errUnexamined):
		noKeys = errUnexamined.Error()
	}
	facts := c.facts(ctx, cfg, noKeys)
	unusable := rights(cfg)
	found := append(append(unusable, folder...), doctor.Examine(facts)...)
	bad := 0
	for _, f := range found {
		if f.Level == doctor.Weak || f.Level == doctor.Wrong {
			bad++
		}
		if err := printFinding(o, &c.format, &f); err != nil {
			return err
		}
	}
	if c.Strict && bad > 0 {
		return fmt.Errorf("%d findings are weak or wrong", bad)
	}
	if damaged {
		return errors.New(damageOf(cfg))
	}
	if len(unusable) > 0 {
		return fmt.Errorf("a hub of this user cannot start with the folder %s: see its rights", cfg.Data)
	}
	if unread != nil {
		return unread
	}
	if facts.NoPolicy != "" {
		return errors.New("the policy cannot be read")
	}
	if failed := facts.Policy.Check(); len(failed) > 0 {
		return fmt.Errorf("%s: %d tests of the policy fail", failed[0].At, len(failed))
	}
	return nil
}

// printFinding prints a finding, with its advice on a line of its own.
func printFinding(o *OS, form *format, f *doctor.Finding) error {
	if form.data() {
		return form.encode(o.Stdout, f)
	}
	_, err := fmt.Fprintf(o.Stdout, "%-8s %-10s %s\n", f.Level, f.Subject, f.Text)
	if err == nil && f.Advice != "" {
		_, err = fmt.Fprintf(o.Stdout, "%-8s %-10s → %s\n", "", "", f.Advice)
	}
	return err
}

// facts collects the facts for the findings. noKeys is the reason for which the store is not
// opened for its keys; empty if it may be.
func (c *doctorCmd) facts(ctx context.Context, cfg *config.Config, noKeys string) *doctor.Facts {
	f := &doctor.Facts{
		Now: time.Now(), PublicURL: cfg.PublicURL, AllowAnonymous: cfg.AllowAnonymous, Issuers: len(cfg.Auth.Tokens),
		Openings: openingsOf(cfg), Files: secretFiles(cfg), NoAudit: cfg.Audit.Off(),
	}
	for _, addr := range []string{cfg.Listen, cfg.GRPCListen} {
		if addr != "" {
			f.Listen = append(f.Listen, addr)
		}
	}
	f.TLS = tlsFacts(cfg)
	f.Free, f.Total = diskspace.Of(cfg.Data)
	if f.NoKeys = noKeys; noKeys == "" {
		c.keys(ctx, cfg, f)
	}
	policyFacts(cfg, f)
	if !c.Offline {
		f.Peers = askPeers(ctx, peersOf(cfg))
	}
	return f
}

// hereURL returns the URL at which this machine reaches the hub of a configuration.
func hereURL(cfg *config.Config) string {
	scheme := "http://"
	if cfg.TLS.On() {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}

// keys reads the keys in the data folder, or requests them from the hub that uses it.
func (c *doctorCmd) keys(ctx context.Context, cfg *config.Config, f *doctor.Facts) {
	for _, k := range cfg.Auth.Keys() {
		f.Keys = append(f.Keys, doctor.Key{ID: k.ID, Agent: k.Principal.ID, Roles: k.Principal.Roles, Owners: append(k.Principal.Orgs, k.Principal.Org)})
	}
	_, err := os.Stat(filepath.Join(cfg.Data, server.StoreName))
	if errors.Is(err, fs.ErrNotExist) && !server.OnDatabase(cfg.Store.Home) {
		return // no hub has run here, so there are no keys
	}
	list := func(d keyStore) error {
		all, err := d.list(ctx)
		for _, k := range all {
			if !k.Configured {
				f.Keys = append(f.Keys, doctor.Key{
					ID: k.ID, Agent: k.AgentID, Roles: k.Roles, Owners: append(k.Owners, k.Owner), Created: moment(k.CreatedAt), Expires: moment(k.ExpiresAt), Dead: k.State != "active",
				})
			}
		}
		return err
	}
	err = (&keysFlags{Data: cfg.Data, Store: cmp.Or(cfg.StoreDirect, cfg.Store.Home)}).at(ctx, false, list)
	if busy := new(datadir.InUseError); errors.As(err, &busy) {
		at := c.hubFlags
		if at.URL == defaultURL {
			at.URL = hereURL(cfg)
		}
		err = list(hubKeys{&at})
		f.Checks = checksOf(ctx, &at)
	}
	if err != nil {
		f.NoKeys = err.Error()
	}
}

// checksOf returns the checks of a running hub; nil if it does not answer, which the list of its
// keys reports.
func checksOf(ctx context.Context, at *hubFlags) []doctor.Check {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	resp, err := at.open(ctx, "/readyz")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var r readiness
	if json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&r) != nil {
		return nil
	}
	return r.Checks
}

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// openingsOf returns the settings of a configuration that widen access.
func openingsOf(cfg *config.Config) []doctor.Opening {
	var out []doctor.Opening
	rules := func(key, who string, list []string) {
		for _, rule := range list {
			wide := rule == "private" || rule == "any" || rule == "0.0.0.0/0" || rule == "::/0"
			out = append(out, doctor.Opening{Key: key, Access: who + " " + rule, Wide: wide})
		}
	}
	rules("push.allow", "webhooks may be at", cfg.Push.Allow)
	rules("directory.allow", "agents that callers register may be at", cfg.Directory.Allow)
	for _, openings := range registry.Added[config.Openings]() {
		out = append(out, openings(cfg)...)
	}
	for i := range cfg.Agents {
		if a := &cfg.Agents[i]; a.Identity.Mode == string(tokenexchange.Forward) {
			out = append(out, doctor.Opening{
				Key: "agents." + a.Name + ".identity", Access: "forward: the agent gets the tokens of its callers, and can do all that they can",
			})
		}
	}
	if n := cfg.Auth.MinKeyLength; n > 0 && n < auth.MinKeyLength {
		out = append(out, doctor.Opening{
			Key: "auth.min_key_length", Access: fmt.Sprintf("keys of %d bytes can be guessed", n), Wide: true,
			Advice: fmt.Sprintf("use keys of %d bytes or more, and remove it", auth.MinKeyLength),
		})
	}
	if cfg.TrustForwarded && cfg.PublicURL == "" {
		out = append(out, doctor.Opening{
			Key: "trust_forwarded", Access: "a caller that reaches the hub without its proxy chooses the address in the cards", Wide: true,
		})
	}
	return out
}

// secretFiles returns the existing files that only the hub should read.
func secretFiles(cfg *config.Config) []doctor.File {
	paths := []string{cfg.Data}
	for _, name := range []string{seal.FileName, tokenexchange.FileName, server.StoreName} {
		paths = append(paths, filepath.Join(cfg.Data, name))
	}
	if cfg.HoldsSecrets() {
		paths = append(paths, cfg.File)
	}
	paths = append(paths, cfg.Cards.SigningKeys...)
	paths = append(append(paths, cfg.KeyFiles()...), cfg.SecretFiles...)
	var out []doctor.File
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			out = append(out, doctor.File{Path: path, Mode: info.Mode()})
		}
	}
	return out
}

// peersOf returns the servers that the hub calls by its configuration.
func peersOf(cfg *config.Config) []peerAt {
	var out []peerAt
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		if address := cmp.Or(a.URL, a.Endpoint.BaseURL); address != "" {
			out = append(out, peerAt{
				doctor.Peer{Name: "agent " + a.Name, URL: address, Credentials: a.Endpoint.Auth.Type != ""}, a.Spec().Call.TLS,
			})
		}
	}
	for i := range cfg.Auth.Tokens {
		if t := &cfg.Auth.Tokens[i]; t.KeysFile == "" {
			out = append(out, peerAt{Peer: doctor.Peer{Name: "issuer " + t.Name, URL: cmp.Or(t.KeysURL, t.Issuer)}})
		}
	}
	return out
}

const (
	// peerTime is the time that a peer has to answer.
	peerTime = 5 * time.Second
	// peersAtOnce is the number of peers that are called concurrently.
	peersAtOnce = 8
)

type peerAt struct {
	doctor.Peer
	tls directory.TLS
}

// askPeers calls each peer, and records whether it answers and the difference of its clock.
func askPeers(ctx context.Context, peers []peerAt) []doctor.Peer {
	out := make([]doctor.Peer, len(peers))
	var all errgroup.Group
	all.SetLimit(peersAtOnce)
	for i := range peers {
		out[i] = peers[i].Peer
		all.Go(func() error {
			web := httpcall.Transport()
			defer web.CloseIdleConnections()
			var err error
			if web.TLSClientConfig, err = tlsfile.Client(tlsfile.ClientFiles{Cert: peers[i].tls.CertFile, Key: peers[i].tls.KeyFile, CA: peers[i].tls.CAFile}); err != nil {
				out[i].Problem = err.Error()
				return nil
			}
			client, release := httpcall.Client(&http.Client{Transport: web})
			defer release()
			askPeer(ctx, client, &out[i])
			return nil
		})
	}
	_ = all.Wait() // the functions return no errors
	return out
}

// askPeer calls a peer. It accepts any answer, because the content at the root of an agent's
// host is not known.
func askPeer(ctx context.Context, client *http.Client, p *doctor.Peer) {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		p.Problem = "its address is invalid"
		return
	}
	asked := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		if where, ok := errors.AsType[*url.Error](err); ok {
			err = where.Err
		}
		p.Problem = httpcall.Reason(err).Error()
		return
	}
	_ = resp.Body.Close()
	if there, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		// The date has whole seconds, and was written at some time during the request.
		middle := asked.Add(time.Since(asked) / 2)
		if d := there.Add(time.Second / 2).Sub(middle); d.Abs() > time.Second {
			p.Skew = d
		}
	}
}
