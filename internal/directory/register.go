package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// Register adds an agent for a caller, or changes one that a caller has added. It is stored
// until it is removed. The agent need not answer: its card is read as soon as it does. If keep
// is set, credentials that s leaves out are kept; an agent that moves to another host needs
// them again. Gates that s leaves out are always kept. The error wraps ErrInvalid or
// ErrConfigured.
func (d *Directory) Register(ctx context.Context, s Spec, keep bool) (*Entry, error) {
	s.Where, s.Local, s.WellKnown, s.Pinned, s.Guarded = "", false, false, false, true
	if s.Name == "" {
		s.Name = NameOf(s.Title)
	}
	if err := d.acceptable(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	a, e := d.lookup(s.Name)
	if e != nil && !e.Registered {
		return nil, fmt.Errorf("register agent %s: %w in %s", s.Name, ErrConfigured, e.Sources[0])
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	r := &card.Record{Name: s.Name, CreatedAt: at}
	if e != nil && a.record != nil {
		r = a.record.Clone()
		if keep && s.Call.Credentials == (Credentials{}) {
			s.Call.Credentials = e.Spec.Call.Credentials
			if s.Call.Credentials != (Credentials{}) && moves(e.Spec.URL, s.URL) {
				// A caller who may change an agent must not redirect its secrets to another
				// host.
				return nil, fmt.Errorf("%w: credentials: the agent moves to another host; give them again, or null for none", ErrInvalid)
			}
		}
		if s.Trust == "" && len(s.GatedSkills) == 0 {
			// A repeated registration must not open a gated agent.
			s.Trust, s.GatedSkills = e.Spec.Trust, e.Spec.GatedSkills
		}
	}
	if !at.After(r.UpdatedAt) { // by the clock of another hub
		at = r.UpdatedAt.Add(time.Millisecond)
	}
	r.UpdatedAt = at
	if err := d.pack(r, &s); err != nil {
		return nil, err
	}
	if r.CardURL != s.URL {
		r.Card, r.CardURL, r.ETag = nil, "", ""
	}
	if err := d.cfg.Store.PutRecord(ctx, r); err != nil {
		return nil, fmt.Errorf("register agent %s: %w", s.Name, err)
	}
	d.adopt(s, r)
	_, e = d.lookup(s.Name)
	return e, nil
}

// moves reports whether credentials for one URL must not be sent to the other: the host
// differs, or HTTPS is lost.
func moves(from, to string) bool {
	a, errA := url.Parse(from)
	b, errB := url.Parse(to)
	return errA != nil || errB != nil || a.Hostname() != b.Hostname() || a.Scheme == "https" && b.Scheme != "https"
}

// adopt makes s one of the registered agents. The caller holds changing.
func (d *Directory) adopt(s Spec, r *card.Record) {
	last := len(d.known) - 1
	if d.known[last] == nil {
		d.known[last] = make(lastUpdate)
	}
	d.known[last][s.Name] = &s
	d.mu.Lock()
	if d.agents[s.Name] == nil {
		d.agents[s.Name] = new(agent)
	}
	d.agents[s.Name].record = r
	d.mu.Unlock()
	d.rebuild(s.Name)
}

// acceptable returns the first error in a Spec from a caller.
func (d *Directory) acceptable(s *Spec) error {
	if err := s.Check(); err != nil {
		return err
	}
	if d.cfg.Policy != nil {
		if err := d.cfg.Policy(s.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	for _, text := range []string{s.Title, s.Description, s.Version} {
		if len(text) > maxDescription || clean(text) != text {
			return fmt.Errorf("a text is longer than %d bytes or has invisible characters", maxDescription)
		}
	}
	if c := &s.Call.Credentials; c.APIKeyEnv != "" || c.BearerEnv != "" {
		return errors.New("credentials: callers cannot send the hub's environment variables to other hosts")
	}
	if len(s.Skills) > maxSkills {
		return fmt.Errorf("skills: there are more than %d", maxSkills)
	}
	return nil
}

// Remove deletes an agent that a caller has registered. The error wraps ErrNoAgent or
// ErrConfigured.
func (d *Directory) Remove(ctx context.Context, name string) (*Entry, error) {
	e, err := d.Get(name)
	if err != nil {
		return nil, err
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	a, e := d.lookup(e.Name())
	switch {
	case e == nil:
		return nil, fmt.Errorf("remove agent %s: %w", name, ErrNoAgent)
	case !e.Registered:
		return nil, fmt.Errorf("remove agent %s: %w in %s", e.Name(), ErrConfigured, e.Sources[0])
	}
	if err := d.cfg.Store.DropRecord(ctx, e.Name()); err != nil {
		return nil, fmt.Errorf("remove agent %s: %w", e.Name(), err)
	}
	a.record = nil
	delete(d.known[len(d.known)-1], e.Name())
	d.rebuild(e.Name())
	return e, nil
}

// secretContext returns the sealing context of an agent's credentials: they cannot be used for
// another agent or at another address.
func secretContext(name task.Agent, url string) []byte {
	return []byte("agent\x00" + string(name) + "\x00" + url)
}

// secret is the plaintext form of sealed credentials.
type secret struct {
	APIKey      string `json:"apiKey,omitempty"`
	APIKeyEnv   string `json:"apiKeyEnv,omitempty"`
	Bearer      string `json:"bearer,omitempty"`
	BearerEnv   string `json:"bearerEnv,omitempty"`
	HeaderName  string `json:"headerName,omitempty"`
	HeaderValue string `json:"headerValue,omitempty"`
}

// pack stores a Spec in its record.
func (d *Directory) pack(r *card.Record, s *Spec) (err error) {
	if r.Spec, err = json.Marshal(s); err != nil {
		return fmt.Errorf("register agent %s: %w", s.Name, err)
	}
	r.Secret = nil
	if s.Call.Credentials == (Credentials{}) {
		return nil
	}
	if d.cfg.Sealer == nil {
		return fmt.Errorf("%w: this hub cannot keep credentials", ErrInvalid)
	}
	plain, err := json.Marshal(secret(s.Call.Credentials))
	if err != nil {
		return fmt.Errorf("register agent %s: %w", s.Name, err)
	}
	r.Secret = d.cfg.Sealer.Seal(plain, secretContext(s.Name, s.URL))
	return nil
}

func (d *Directory) unpack(r *card.Record) (*Spec, error) {
	s := new(Spec)
	if err := json.Unmarshal(r.Spec, s); err != nil {
		return nil, fmt.Errorf("registered agent %s: %w", r.Name, err)
	}
	s.Name, s.Guarded = r.Name, true
	if r.Secret == nil {
		return s, nil
	}
	if d.cfg.Sealer == nil {
		return nil, fmt.Errorf("registered agent %s: its credentials cannot be opened", r.Name)
	}
	plain, err := d.cfg.Sealer.Open(r.Secret, secretContext(s.Name, s.URL))
	if err != nil {
		return nil, fmt.Errorf("registered agent %s: credentials: %w", r.Name, err)
	}
	var c secret
	if err := json.Unmarshal(plain, &c); err != nil {
		return nil, fmt.Errorf("registered agent %s: credentials: %w", r.Name, err)
	}
	s.Call.Credentials = Credentials(c)
	return s, nil
}
