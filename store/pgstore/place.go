package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// place is an address of the database, with the settings of its connections.
type place struct {
	config   *pgconn.Config
	settings map[string]string
	// direct is set if each connection has a session of its own, although a pooler may be in front of the database.
	direct bool
}

// parseAddress parses the address of a database. The error does not contain a password.
func parseAddress(address string, o *Options) (*place, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		// The error of the parser may repeat the address, and its way to leave out the password
		// fails for addresses that are no URL.
		return nil, errors.New("address of the database is invalid: use postgres://user:password@host:port/name?sslmode=verify-full")
	}
	p := &place{config: config}
	p.tune(o)
	return p, nil
}

// String returns the address without user and password, for messages.
func (p *place) String() string {
	c := p.config
	u := url.URL{Scheme: "postgres", Host: c.Host, Path: "/" + c.Database}
	if c.Host != "" && c.Host[0] == '/' {
		u.Host, u.RawQuery = "", url.Values{"host": {c.Host}}.Encode()
	}
	if c.Port != 5432 {
		u.Host += ":" + strconv.Itoa(int(c.Port))
	}
	return u.String()
}

// tune completes the settings of connections. Those in the address take precedence.
func (p *place) tune(o *Options) {
	c := p.config
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTime)
	ms := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	idle := ms
	if o.Member != nil {
		// A member that stands still within a transaction holds up the others.
		idle = strconv.FormatInt(min(o.Timeout, o.Lease/2).Milliseconds(), 10)
	}
	p.settings = map[string]string{
		"statement_timeout":                   ms,
		"idle_in_transaction_session_timeout": idle,
		"synchronous_commit":                  "on",
		// Each statement has one plan, whatever the values, and it uses an index. Without these
		// settings the plan depends on how recent the statistics of the tables are.
		"plan_cache_mode": "force_generic_plan",
		"enable_seqscan":  "off",
		"jit":             "off",
	}
	// Poolers such as PgBouncer accept these at the start of a session; others are set then.
	first := make(map[string]string)
	for name, value := range c.RuntimeParams {
		switch strings.ToLower(name) {
		case "application_name", "client_encoding", "options", "replication":
			first[name] = value
		default:
			p.settings[name] = value
		}
	}
	p.settings["search_path"] = schemaName // every statement depends on it
	first["application_name"] = cmp.Or(first["application_name"], "parley")
	c.RuntimeParams = first
}

// setting returns the statement that changes the settings of a session, or only of a transaction.
func (p *place) setting(local bool) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.settings)) {
		all = append(all, "set_config("+quote(name)+", "+quote(p.settings[name])+", "+strconv.FormatBool(local)+")")
	}
	return "SELECT " + strings.Join(all, ", ")
}

// dial opens a connection. The context applies to the connecting alone.
func dial(ctx context.Context, p *place) (c *conn, err error) {
	config := p.config.Copy()
	config.AfterConnect = func(ctx context.Context, raw *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		defer cancel()
		c = &conn{raw: raw}
		return c.prepareFor(ctx, p)
	}
	if _, err := pgconn.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	return c, nil
}

// prepareFor makes a connection to p ready for statements. A pooler gives itself away: its answer to the startup
// names one process, and another executes the statements. Its configuration, which may change, decides which
// session the next transaction gets.
func (c *conn) prepareFor(ctx context.Context, p *place) error {
	sessions := p.direct
	if !sessions {
		session, err := c.session(ctx)
		if err != nil {
			return err
		}
		sessions = session == c.process()
	}
	if !sessions {
		c.local = p.setting(true)
		return c.script(ctx, "SELECT") // finds a wrong setting
	}
	c.stmts = make([]*pgconn.StatementDescription, len(queries))
	return c.script(ctx, p.setting(false))
}

// process returns the number of the session as the answer to the startup names it.
func (c *conn) process() string { return strconv.FormatUint(uint64(c.raw.PID()), 10) }

// session returns the number of the session at the database.
func (c *conn) session(ctx context.Context) (string, error) {
	return c.word(ctx, "SELECT pg_backend_pid()")
}

// word returns the text that a statement returns.
func (c *conn) word(ctx context.Context, text string) (string, error) {
	got, err := c.raw.Exec(ctx, text).ReadAll()
	if err != nil {
		return "", err
	}
	if len(got) != 1 || len(got[0].Rows) != 1 || len(got[0].Rows[0]) != 1 {
		return "", errors.New("result of a statement is missing")
	}
	return string(got[0].Rows[0][0]), nil
}

// checkEncoding returns ErrEncoding unless the database stores texts in UTF-8.
func (c *conn) checkEncoding() error {
	if have := c.raw.ParameterStatus("server_encoding"); have != "UTF8" {
		return fmt.Errorf("%w but %s: create one with createdb --encoding=UTF8 --template=template0", ErrEncoding, have)
	}
	return nil
}

// checkDirect returns ErrRefused unless c, a connection to the direct address, is connected to the same database
// as a connection to store, and has a session of its own. It changes nothing.
func (c *conn) checkDirect(ctx context.Context, direct, store *place) error {
	// Advisory locks belong to one database of one server: another one, or a copy, does not have this one.
	lock := fmt.Sprintf("advisory_xact_lock(%d)", time.Now().UnixNano())
	free := ""
	err := holding(ctx, store, "SELECT pg_"+lock, func() (err error) {
		free, err = c.word(ctx, "SELECT pg_try_"+lock)
		return err
	})
	if err == nil && free != "f" {
		err = fmt.Errorf("%w: store_direct is the address of another database than %s", ErrRefused, store)
	}
	here := ""
	if err == nil {
		here, err = c.session(ctx)
	}
	if err != nil || here == c.process() {
		return err
	}
	// A pooler in transaction mode gives this transaction the session that c has had.
	return holding(ctx, direct, "SELECT", func() error {
		again, err := c.session(ctx)
		if err == nil && again != here {
			err = fmt.Errorf("%w: store_direct is the address of a pooler that is not in session mode: use the address of the database itself", ErrRefused)
		}
		return err
	})
}

// CheckAddresses returns the error with which Open would refuse the addresses of a database; direct may be empty. It
// reports whether a member would get no hints of others. It changes nothing.
func CheckAddresses(ctx context.Context, store, direct string) (polls bool, err error) {
	at, err := parseAddress(store, &Options{Timeout: defaultTimeout})
	if err != nil {
		return false, err
	}
	if direct == "" {
		c, err := dial(ctx, at)
		if err != nil {
			return false, fmt.Errorf("open %s: %w", at, unavailable(err))
		}
		return c.local != "", c.close()
	}
	own, err := parseAddress(direct, &Options{Timeout: defaultTimeout})
	if err != nil {
		return false, fmt.Errorf("store_direct: %w", err)
	}
	own.direct = true
	c, err := dial(ctx, own)
	if err == nil {
		err = errors.Join(c.checkDirect(ctx, own, at), c.close())
	}
	if err != nil {
		err = fmt.Errorf("open %s: %w", own, unavailable(err))
	}
	return false, err
}

// holding runs f while another connection is in a transaction that has begun with a statement.
func holding(ctx context.Context, p *place, statement string, f func() error) error {
	c, err := dial(ctx, p)
	if err != nil {
		return fmt.Errorf("open %s: %w", p, err)
	}
	defer func() { _ = c.close() }()
	if err := c.script(ctx, "BEGIN; "+statement); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return errors.Join(f(), c.script(ctx, "ROLLBACK"))
}
