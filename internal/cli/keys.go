package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

type keysCmd struct {
	Add    keysAddCmd    `cmd:"" help:"Create a key for a caller and print it."`
	List   keysListCmd   `cmd:"" help:"List the keys, without their secrets."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key."`
}

// keysFlags select the keys: those of a running hub, or those in the folder of a hub that does
// not run.
type keysFlags struct {
	hubFlags
	Data  string `help:"The data folder of a stopped hub, instead of --url." placeholder:"DIR"`
	Store string `help:"With --data: the store of this hub, if it is a PostgreSQL database ($$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"URL"`

	// roles are the roles of a hub that does not run, beside admin.
	roles []string
}

// keyStore performs the operations of the commands.
type keyStore interface {
	add(ctx context.Context, n *adminapi.NewKey) (*adminapi.MadeKey, error)
	list(ctx context.Context) ([]adminapi.Key, error)
	revoke(ctx context.Context, id string, after time.Duration) (*adminapi.Key, error)
}

// at calls f with the desk that the flags select. If fresh is set, the folder may be created.
func (k *keysFlags) at(ctx context.Context, fresh bool, f func(keyStore) error) error {
	if k.Data == "" {
		return f(hubKeys{&k.hubFlags})
	}
	if wrong := config.CheckStore(k.Store); wrong != "" {
		return usagef("--store: it %s", wrong)
	}
	_, err := os.Stat(filepath.Join(k.Data, server.StoreName))
	if !fresh && errors.Is(err, fs.ErrNotExist) && !server.OnDatabase(k.Store) {
		return fmt.Errorf("%s is not the data folder of a hub", k.Data)
	}
	return k.inFolder(ctx, func(ring *auth.Keyring) error {
		ring.KnownRoles = func() []string { return k.roles }
		return f(folderKeys{ring, k.Data})
	})
}

// inFolder calls f with the keys in a data folder that no hub uses.
func (k *keysFlags) inFolder(ctx context.Context, f func(*auth.Keyring) error) (err error) {
	dir, err := datadir.Open(k.Data)
	if busy := new(datadir.InUseError); errors.As(err, &busy) {
		return fmt.Errorf("%w; leave out --data to speak with it", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	keys, closeStore, err := k.openStore(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	ring := &auth.Keyring{Store: keys}
	if err := ring.Load(ctx); err != nil {
		return err
	}
	return f(ring)
}

func (k *keysFlags) openStore(ctx context.Context, dir *datadir.Dir) (auth.KeyStore, func() error, error) {
	if server.OnDatabase(k.Store) {
		db, err := pgstore.Open(ctx, k.Store, pgstore.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db.Keys(), db.Close, nil
	}
	db, err := sqlitestore.Open(dir.Join(server.StoreName), sqlitestore.Options{})
	if err != nil {
		return nil, nil, adviseLoss(err, k.Data)
	}
	return db.Keys(), db.Close, nil
}

// hubKeys is the desk of a running hub. The methods are not those of hubFlags, because each command
// with these flags would have them, too.
type hubKeys struct{ hub *hubFlags }

const keysPath = adminapi.Root + "/keys"

func (k hubKeys) add(ctx context.Context, n *adminapi.NewKey) (*adminapi.MadeKey, error) {
	made := new(adminapi.MadeKey)
	return made, k.hub.ask(ctx, "POST "+keysPath, n, made)
}

func (k hubKeys) list(ctx context.Context) ([]adminapi.Key, error) {
	var all adminapi.KeyList
	return all.Keys, k.hub.ask(ctx, "GET "+keysPath, nil, &all)
}

func (k hubKeys) revoke(ctx context.Context, id string, after time.Duration) (*adminapi.Key, error) {
	revoked := new(adminapi.Key)
	request := "DELETE " + keysPath + "/" + url.PathEscape(id)
	if after > 0 {
		request += "?after=" + after.String()
	}
	return revoked, k.hub.ask(ctx, request, nil, revoked)
}

// folderKeys is the desk of a hub that does not run.
type folderKeys struct {
	ring *auth.Keyring
	data string
}

func (k folderKeys) add(ctx context.Context, n *adminapi.NewKey) (made *adminapi.MadeKey, err error) {
	err = k.audited(&audit.Record{Action: audit.KeyAdd, Subject: audit.Subject{Kind: "key"}}, func(r *audit.Record) error {
		if made, err = n.Make(ctx, k.ring, time.Now()); err != nil {
			return err
		}
		r.Subject.ID = made.ID
		r.Detail = append(r.Detail, audit.Field{Name: "principal", Value: made.AgentID}, audit.Field{Name: "owner", Value: made.Owner},
			audit.Field{Name: "roles", Value: strings.Join(made.Roles, " ")})
		return nil
	})
	return made, err
}

// audited makes a change and records it in the audit log of the folder.
func (k folderKeys) audited(r *audit.Record, change func(r *audit.Record) error) (err error) {
	log, err := openFolderAudit(k.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	return log.do(r, change)
}

func (k folderKeys) list(context.Context) ([]adminapi.Key, error) {
	var all []adminapi.Key
	for _, key := range k.ring.List() {
		all = append(all, adminapi.Describe(&key, time.Now()))
	}
	return all, nil
}

func (k folderKeys) revoke(ctx context.Context, id string, after time.Duration) (*adminapi.Key, error) {
	var d adminapi.Key
	err := k.audited(&audit.Record{Action: audit.KeyRevoke, Subject: audit.Subject{Kind: "key"}}, func(r *audit.Record) error {
		key, err := k.ring.Revoke(ctx, id, after)
		if err != nil {
			return err
		}
		d = adminapi.Describe(&key, time.Now())
		r.Subject.ID = d.ID
		r.Detail = append(r.Detail, audit.Field{Name: "principal", Value: d.AgentID}, audit.Field{Name: "state", Value: d.State})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

type keysAddCmd struct {
	keysFlags
	Bus     string   `name:"bus-agent" help:"Create a key for workers of the agent with this name on the hub's own bus (in its spelling there), instead of one for a caller." placeholder:"NAME"`
	Agent   string   `help:"The id of the caller, which owns the tasks it creates; by default the key's own." placeholder:"ID"`
	Name    string   `help:"The caller's name for people." placeholder:"TEXT"`
	Role    []string `help:"A role of the caller: admin, which may change the hub, or one that the hub's policy or auth.roles names. May be repeated." placeholder:"ROLE"`
	Owner   []string `help:"The organisation that owns the tasks instead of the caller; local means the tasks of callers without a key. May be repeated: each request is then for the one that X-Parley-Owner names, or for the first." sep:"none" placeholder:"ORG"`
	Expires string   `help:"How long the key is valid, such as 90d; without it, until it is revoked." placeholder:"TIME"`
	LockOut bool     `name:"yes-lock-me-out" help:"Accept that the first key is not an administrator's, so that no caller can create or revoke keys while the hub runs."`
	Caller  string   `arg:"" optional:"" name:"name" help:"The id of the caller; the same as --agent."`
	Config  string   `help:"With --data: the configuration file that names the roles (parley.yaml here, in ./workspace or in the data folder; $$PARLEY_CONFIG)." from:"PARLEY_CONFIG" placeholder:"FILE"`
	format
}

func (c *keysAddCmd) Run(in interrupts, o *OS) error {
	if c.Caller != "" && c.Agent != "" {
		return usagef("give the id of the caller once: as an argument or with --agent")
	}
	c.Agent = cmp.Or(c.Agent, c.Caller)
	n := &adminapi.NewKey{BusAgent: c.Bus, AgentID: c.Agent, DisplayName: c.Name, Roles: c.Role, WithoutAdmin: c.LockOut}
	switch len(c.Owner) {
	case 0:
	case 1:
		n.Owner = c.Owner[0]
	default:
		n.Owners = c.Owner
	}
	if c.Bus != "" && (c.Agent != "" || len(c.Owner)+len(c.Role) > 0) {
		return usagef("--bus-agent creates a key for workers and cannot be combined with --agent, --owner or --role")
	}
	if c.Expires != "" {
		d, err := config.ParseDuration(c.Expires)
		if err != nil || d <= 0 {
			return usagef("--expires: invalid duration %q; use for example 90d or 12h", c.Expires)
		}
		n.ExpiresIn = d.String()
	}
	if err := c.readRoles(); err != nil {
		return err
	}
	return c.at(in.soft, true, func(desk keyStore) error {
		made, err := desk.add(in.soft, n)
		if err != nil {
			return err
		}
		if c.data() {
			return c.encode(o.Stdout, made)
		}
		if _, err := fmt.Fprintln(o.Stdout, made.Text); err != nil {
			return err
		}
		_, err = io.WriteString(o.Stderr, c.advice(made))
		return err
	})
}

// readRoles reads the roles of a hub that does not run from its configuration, if a role other
// than admin is given.
func (c *keysAddCmd) readRoles() error {
	if c.Data == "" || auth.CheckRoles(c.Role, nil) == nil {
		return nil
	}
	path, err := config.Find(c.Config, c.Data)
	if err != nil || path == "" {
		return err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	rules, err := cfg.Policy.Load()
	if err != nil {
		return err
	}
	c.roles = cfg.KnownRoles(rules)
	return nil
}

// advice describes the use of the new key and the changes that it causes.
func (c *keysAddCmd) advice(k *adminapi.MadeKey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is key %s of %s, valid %s. It is not shown again.\n", k.ID, printable(k.AgentID), until(&k.Key))
	if c.Bus != "" {
		fmt.Fprintf(&b, "Workers of %s use it for the hub's bus: parley agent run --bus tls://HOST:PORT --name %s reads it from $PARLEY_BUS_KEY. It grants nothing else.\n",
			printable(c.Bus), quote(c.Bus))
		return b.String()
	}
	b.WriteString("Send it as X-Api-Key or as a bearer token; the parley command takes it from $PARLEY_API_KEY.\n")
	if !k.First {
		return b.String()
	}
	b.WriteString("It is the first key: from now on, callers without a key are rejected, unless the hub runs with --allow-anonymous.\n")
	if k.Owner != auth.Local {
		b.WriteString("Tasks created without a key belong to the owner local; a key created with --owner local can see them.\n")
	}
	if !slices.Contains(k.Roles, auth.RoleAdmin) {
		b.WriteString("It is not an administrator key. To create or revoke keys, stop the hub and use --data, or create a key with --role admin that way.\n")
	}
	return b.String()
}

// until describes the end of a key's validity.
func until(k *adminapi.Key) string {
	if k.ExpiresAt == nil {
		return "until it is revoked"
	}
	return "until " + timeName(k.ExpiresAt)
}

type keysListCmd struct {
	keysFlags
	format
}

func (c *keysListCmd) Run(in interrupts, o *OS) error {
	return c.at(in.soft, false, func(desk keyStore) error {
		keys, err := desk.list(in.soft)
		if err != nil {
			return err
		}
		return keyTable(c.format).print(o, each(keys))
	})
}

func keyTable(f format) *table[*adminapi.Key] {
	return &table[*adminapi.Key]{
		heads: "KEY\tAGENT\tSTATE\tENDS\tROLES\tLAST USED\tOWNER\tNAME", none: "No keys: callers need no credentials.", format: f,
		row: func(k *adminapi.Key) []any {
			end := k.ExpiresAt
			if k.RevokedAt != nil {
				end = k.RevokedAt
			}
			return []any{
				printable(k.ID), printable(k.AgentID), k.State, timeName(end), dash(printable(strings.Join(k.Roles, ","))),
				timeName(k.LastUsedAt), dash(printable(k.Owner)), dash(printable(k.DisplayName)),
			}
		},
	}
}

type keysRevokeCmd struct {
	keysFlags
	format
	ID    string `arg:"" help:"The id of the key, as keys list shows it."`
	After string `help:"Keep the key valid for this time, so that another one can replace it." placeholder:"TIME"`
}

// lastAdmin reports whether a key is the only valid one with the role admin. If the keys cannot be
// listed, it is not known to be.
func lastAdmin(ctx context.Context, desk keyStore, id string) bool {
	all, err := desk.list(ctx)
	found := false
	for _, k := range all {
		if k.State != "active" || !slices.Contains(k.Roles, auth.RoleAdmin) {
			continue
		}
		if k.ID != id {
			return false
		}
		found = true
	}
	return found && err == nil
}

func (c *keysRevokeCmd) Run(in interrupts, o *OS) error {
	var after time.Duration
	if c.After != "" {
		var err error
		if after, err = config.ParseDuration(c.After); err != nil {
			return usagef("--after: invalid duration %q; use for example 24h or 7d", c.After)
		}
	}
	return c.at(in.soft, false, func(desk keyStore) error {
		last := lastAdmin(in.soft, desk, c.ID)
		k, err := desk.revoke(in.soft, c.ID, after)
		if err != nil {
			return err
		}
		if last {
			fmt.Fprintln(o.Stderr, "It is the last key with the role admin. To create another one, stop the hub and run: parley keys add --data DIR --agent NAME --role admin")
		}
		if c.data() {
			return c.encode(o.Stdout, k)
		}
		if o.Quiet {
			return nil
		}
		what := "is revoked"
		if k.RevokedAt == nil {
			what = "is valid " + until(k)
		}
		_, err = fmt.Fprintf(o.Stdout, "key %s of %s %s\n", printable(k.ID), printable(k.AgentID), what)
		return err
	})
}
