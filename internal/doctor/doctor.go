// Package doctor reports weaknesses in the setup of a hub.
//
// # How it works
//
// The caller collects Facts about a hub: its configuration, its keys, the protection of its
// files, the reachability of its peers. Examine derives Findings from them, each a text with
// advice.
//
// # Guarantees
//
// Examine is pure: it reads no files and makes no calls. Unknown facts are reported as unknown,
// and do not count as good. No finding contains a secret.
//
// # Non-guarantees
//
// A hub without findings is not necessarily safe: the behaviour of its agents is not examined.
package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/policy"
)

// Level is the severity of a finding.
type Level string

const (
	// OK is a check without a problem.
	OK Level = "ok"
	// Unknown is a check that was not possible.
	Unknown Level = "unknown"
	// Weak is a weakness that a careful operator removes.
	Weak Level = "weak"
	// Wrong is access for unintended callers, or a feature that does not work.
	Wrong Level = "wrong"
)

// Finding is the result of one check.
type Finding struct {
	Level Level `json:"level"`
	// Subject is the subject of the finding in one word.
	Subject string `json:"subject"`
	// Text describes the finding.
	Text string `json:"text"`
	// Advice describes the remedy; empty if none is needed.
	Advice string `json:"advice,omitempty"`
}

// Facts are the known facts about a hub. Zero times and durations are unknown.
type Facts struct {
	// Now is the present time.
	Now time.Time
	// Listen are the addresses that the hub listens on, as "host:port".
	Listen []string
	// PublicURL is the address in cards; empty if it is derived from each request.
	PublicURL string
	// AllowAnonymous accepts callers without credentials from other machines.
	AllowAnonymous bool
	// Issuers is the number of issuers of tokens.
	Issuers int
	// TLS describes the certificates of the listeners; nil if they do not use TLS.
	TLS *TLS
	// Keys are the API keys. If they are unknown, NoKeys is the reason.
	Keys   []Key
	NoKeys string
	// Openings are settings that allow more than the defaults.
	Openings []Opening
	// Files are the files that only the hub should be able to read.
	Files []File
	// Free and Total are the bytes of the disk with the data folder; zero if unknown.
	Free, Total uint64
	// NoAudit is set if the hub keeps no audit log.
	NoAudit bool
	// Peers are the services that the hub calls.
	Peers []Peer
	// Policy is the policy; nil if there is none. If it cannot be read, NoPolicy is the reason.
	Policy   *policy.Policy
	NoPolicy string
	// Checks are the checks of the running hub; none if no hub was asked.
	Checks []Check
	// World has the hub's facts that the policy depends on.
	World policy.Facts
}

// Check is a check of /readyz.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Key is an API key without its text.
type Key struct {
	ID, Agent        string
	Roles, Owners    []string
	Created, Expires time.Time
	Admin            bool
	// Dead is set if the key is revoked or expired.
	Dead bool
}

// Opening is a setting that allows more than the default.
type Opening struct {
	// Key is the key of the setting, such as "push.allow".
	Key string
	// Access describes the access that the setting gives.
	Access string
	// Wide is set if it gives access to all callers, or can be guessed.
	Wide bool
	// Advice is the advice for a Wide setting. If empty, the advice is to name only those that
	// need access.
	Advice string
}

// File is a file that holds secrets.
type File struct {
	Path string
	Mode fs.FileMode
}

// Peer is a service that the hub calls.
type Peer struct {
	// Name is the kind and name of the peer, such as "agent worker".
	Name, URL string
	// Problem is the reason why it cannot be reached; empty if it answers.
	Problem string
	// Skew is the time by which its clock is ahead of the hub's.
	Skew time.Duration
	// Credentials is set if the hub sends it a secret.
	Credentials bool
}

// Limits of the checks.
const (
	// keyAge is the age at which a key should be replaced.
	keyAge = 365 * 24 * time.Hour
	// soon is the time before its expiry at which a key is reported.
	soon = 14 * 24 * time.Hour
	// skew is the largest accepted difference of clocks: the tolerance of tokens.
	skew = time.Minute
	// minFree and minShare are the bytes and the share of a disk that should be free; the share
	// counts up to enoughFree bytes.
	minFree    = 1 << 30
	minShare   = 20 // one in twenty
	enoughFree = 4 << 30
)

// Examine returns the findings about a hub, the most severe first.
func Examine(f *Facts) []Finding {
	var all []Finding
	for _, check := range []func(*Facts) []Finding{access, transport, keys, rules, openings, files, disk, records, peers, checks} {
		all = append(all, check(f)...)
	}
	var sorted []Finding
	for _, level := range []Level{Wrong, Weak, Unknown, OK} {
		for _, one := range all {
			if one.Level == level {
				sorted = append(sorted, one)
			}
		}
	}
	return sorted
}

// public returns the addresses that other machines can reach.
func (f *Facts) public() []string {
	var out []string
	for _, addr := range f.Listen {
		if !httpcall.Loopback(addr) {
			out = append(out, addr)
		}
	}
	return out
}

func access(f *Facts) []Finding {
	const subject = "access"
	alive := 0
	for _, k := range f.Keys {
		if !k.Dead {
			alive++
		}
	}
	open := strings.Join(f.public(), ", ")
	switch {
	case f.AllowAnonymous && open != "":
		return []Finding{{
			Wrong, subject, "every machine that reaches " + open + " may call without credentials",
			"remove allow_anonymous, and give callers keys with \"parley keys add\" or name issuers in auth.tokens",
		}}
	case f.AllowAnonymous:
		return []Finding{{
			Weak, subject, "callers without credentials are accepted from every machine, although only this one reaches the hub now",
			"remove allow_anonymous",
		}}
	case f.Issuers+f.rules() == 0 && alive == 0 && f.NoKeys != "":
		return []Finding{{Unknown, subject, "cannot determine whether callers need credentials: " + f.NoKeys, ""}}
	case f.Issuers+f.rules() == 0 && alive == 0 && len(f.Keys) > 0:
		return []Finding{{Wrong, subject, "no key is valid: the hub rejects every caller", "make one with \"parley keys add --data …\""}}
	case f.Issuers+f.rules() == 0 && alive == 0 && open != "":
		return []Finding{{
			Wrong, subject, "the hub will not start: there are no keys, and other machines can reach " + open,
			"give callers keys with \"parley keys add --data …\", or name issuers in auth.tokens",
		}}
	case f.Issuers+f.rules() == 0 && alive == 0:
		return []Finding{{OK, subject, "only this machine reaches the hub, and callers need no credentials", ""}}
	}
	text := fmt.Sprintf("every caller needs a key (%d are valid) or a token (of %d issuers)", alive, f.Issuers)
	if n := f.rules(); n > 0 {
		text += fmt.Sprintf(" or a certificate (by %d rules)", n)
	}
	return []Finding{{OK, subject, text, ""}}
}

func transport(f *Facts) []Finding {
	const subject = "transport"
	if f.TLS != nil {
		return secured(f)
	}
	open := f.public()
	if len(open) == 0 {
		return nil
	}
	where := strings.Join(open, ", ")
	switch u, err := url.Parse(f.PublicURL); {
	case f.PublicURL == "":
		return []Finding{{
			Weak, subject, "other machines reach " + where + " over plain HTTP, and cards name the address that each request was sent to",
			"give it a certificate with tls, or put a proxy with TLS in front, and name the address with public_url: https://…",
		}}
	case err != nil || u.Scheme != "https":
		return []Finding{{
			Weak, subject, "cards name " + f.PublicURL + ": keys and messages cross the network in the clear",
			"give it a certificate with tls, or put a proxy with TLS in front, and name the address with public_url: https://…",
		}}
	}
	return []Finding{{OK, subject, "cards name " + f.PublicURL + "; make sure that only its proxy reaches " + where, ""}}
}

func keys(f *Facts) []Finding {
	const subject = "keys"
	var out []Finding
	for _, k := range f.Keys {
		name := fmt.Sprintf("key %s of %s", k.ID, k.Agent)
		switch {
		case k.Dead:
		case !k.Expires.IsZero() && k.Expires.Sub(f.Now) < soon:
			out = append(out, Finding{Weak, subject, name + " expires on " + k.Expires.Format(time.DateOnly), "give its caller a new key"})
		case k.Expires.IsZero() && !k.Created.IsZero() && f.Now.Sub(k.Created) > keyAge:
			out = append(out, Finding{
				Weak, subject, fmt.Sprintf("%s is %d days old and never expires", name, int(f.Now.Sub(k.Created).Hours()/24)),
				"replace it: \"parley keys add\", then \"parley keys revoke " + k.ID + " --after 24h\"",
			})
		}
	}
	return out
}

func openings(f *Facts) []Finding {
	var out []Finding
	for _, o := range f.Openings {
		level := OK
		advice := ""
		if o.Wide {
			level, advice = Weak, cmp.Or(o.Advice, "name only those that need it")
		}
		out = append(out, Finding{level, "policy", o.Key + ": " + o.Access, advice})
	}
	return out
}

func files(f *Facts) []Finding {
	var out []Finding
	for _, file := range f.Files {
		if file.Mode.Perm()&0o077 != 0 {
			out = append(out, Finding{
				Weak, "files", fmt.Sprintf("others on this machine may read %s (mode %04o)", file.Path, file.Mode.Perm()),
				"chmod go-rwx " + file.Path,
			})
		}
	}
	return out
}

func records(f *Facts) []Finding {
	if !f.NoAudit {
		return nil
	}
	if open := f.public(); len(open) > 0 {
		return []Finding{{
			Weak, "audit", "the hub keeps no audit log, although other machines reach " + strings.Join(open, ", ") + ": audit.level is off",
			"remove audit.level: off from the configuration",
		}}
	}
	return []Finding{{OK, "audit", "the hub keeps no audit log: audit.level is off", ""}}
}

// checks returns the failed checks of the running hub, and those with a remark.
func checks(f *Facts) []Finding {
	const advice = "see the log of the hub"
	var out []Finding
	for _, c := range f.Checks {
		switch {
		case !c.OK:
			out = append(out, Finding{Wrong, "hub", strings.TrimSuffix(c.Name+": "+c.Detail, ": "), advice})
		case c.Detail != "":
			out = append(out, Finding{Weak, "hub", c.Name + ": " + c.Detail, advice})
		}
	}
	return out
}

func disk(f *Facts) []Finding {
	if f.Total == 0 {
		return []Finding{{Unknown, "disk", "cannot determine the free space of the disk", ""}}
	}
	text := fmt.Sprintf("%d MiB of %d MiB are free on the disk of the data folder", f.Free>>20, f.Total>>20)
	if f.Free < max(minFree, min(f.Total/minShare, enoughFree)) {
		return []Finding{{Weak, "disk", text, "free some space: a hub with a full disk accepts no messages"}}
	}
	return []Finding{{OK, "disk", text, ""}}
}

func peers(f *Facts) []Finding {
	var out []Finding
	for _, p := range f.Peers {
		out = append(out, peer(&p)...)
	}
	return out
}

func peer(p *Peer) []Finding {
	const subject = "peers"
	var out []Finding
	if p.Problem != "" {
		return []Finding{{Wrong, subject, p.Name + " is unreachable at " + p.URL + ": " + p.Problem, "check that it runs, and that this machine may reach it"}}
	}
	if u, err := url.Parse(p.URL); err == nil && p.Credentials && u.Scheme == "http" && !httpcall.Loopback(u.Host) {
		out = append(out, Finding{Weak, subject, p.Name + " is called over plain HTTP with credentials", "call it over https"})
	}
	if p.Skew.Abs() > skew {
		out = append(out, Finding{
			Weak, subject, fmt.Sprintf("the clock of %s differs by %v", p.Name, p.Skew.Abs().Round(time.Second)),
			"set the clocks by the network: tokens and deadlines depend on them",
		})
	}
	if out == nil {
		out = append(out, Finding{OK, subject, p.Name + " answers", ""})
	}
	return out
}
