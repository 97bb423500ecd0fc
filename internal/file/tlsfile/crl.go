package tlsfile

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxLists is the largest size of a file of revocation lists in bytes.
const maxLists = 64 << 20

// The reasons why an issued certificate is refused.
var (
	// ErrRevoked: the certificate, or one above it, was revoked by its authority.
	ErrRevoked = errors.New("the certificate was revoked")
	// ErrListEnded: the revocation list of the authority has expired.
	ErrListEnded = errors.New("the revocation list of the certificate's authority has expired")
)

// List describes the revocation list of an authority.
type List struct {
	// Authority is the subject of the authority.
	Authority string
	// Ends is the time when the next list is due; zero if the list has none.
	Ends time.Time
	// Revoked is the number of certificates on it.
	Revoked int
}

// list is a List with its entries for lookup.
type list struct {
	List

	number  *big.Int            // nil if the list has none
	issued  time.Time           // thisUpdate
	serials map[string]struct{} // serial numbers as bytes
	told    atomic.Bool         // its expiry was logged
}

// lists maps the encoded subjects of authorities to their lists. Nil means no lists.
type lists map[string]*list

// readLists reads the lists in a file (RFC 5280 §5). Each must be signed by one of the
// authorities.
func readLists(path string, authorities []*x509.Certificate) (lists, error) {
	text, err := readFile(path, maxLists)
	if err != nil {
		return nil, err
	}
	var ders [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "X509 CRL" {
			ders = append(ders, block.Bytes)
		}
	}
	if len(ders) == 0 {
		ders = [][]byte{text} // in DER, as authorities publish them
	}
	all := make(lists)
	for n, der := range ders {
		if err := all.add(der, authorities); err != nil {
			return nil, fmt.Errorf("revocation list %d %w", n+1, err)
		}
	}
	return all, nil
}

// add adds a list. The error text continues a sentence about the list.
func (ls lists) add(der []byte, authorities []*x509.Certificate) error {
	r, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	name := r.Issuer.String()
	if !slices.ContainsFunc(authorities, func(a *x509.Certificate) bool {
		return string(a.RawSubject) == string(r.RawIssuer) && r.CheckSignatureFrom(a) == nil
	}) {
		return fmt.Errorf("was issued by %q, but none of the authorities has signed it", name)
	}
	if _, ok := ls[string(r.RawIssuer)]; ok {
		return fmt.Errorf("is the second one of %q", name)
	}
	l := &list{List: List{name, r.NextUpdate, len(r.RevokedCertificateEntries)}, number: r.Number, issued: r.ThisUpdate, serials: make(map[string]struct{}, len(r.RevokedCertificateEntries))}
	critical := func(e pkix.Extension) bool { return e.Critical }
	if slices.ContainsFunc(r.Extensions, critical) {
		return errPartial
	}
	for i := range r.RevokedCertificateEntries {
		e := &r.RevokedCertificateEntries[i]
		if slices.ContainsFunc(e.Extensions, critical) {
			return errPartial
		}
		l.serials[string(e.SerialNumber.Bytes())] = struct{}{}
	}
	ls[string(r.RawIssuer)] = l
	return nil
}

// supersede keeps the lists of before that are newer than those of ls, and returns the names of their
// authorities. A list that is complete and genuine may still be an old one, of a time when a
// certificate was not revoked yet.
func (ls lists) supersede(before lists) (kept []string) {
	for issuer, l := range ls {
		if old := before[issuer]; old != nil && l.older(old) {
			ls[issuer] = old
			kept = append(kept, old.Authority)
		}
	}
	slices.Sort(kept)
	return kept
}

// older reports whether l was issued before than: by their numbers, which only grow (RFC 5280
// §5.2.3), or without numbers by their times.
func (l *list) older(than *list) bool {
	if l.number != nil && than.number != nil {
		if c := l.number.Cmp(than.number); c != 0 {
			return c < 0
		}
	}
	return l.issued.Before(than.issued)
}

// errPartial is returned for lists with another meaning: those of some of the certificates, of
// changes only, or for other authorities (RFC 5280 §5.2.4, §5.2.5, §5.3.3).
var errPartial = errors.New("has a critical extension: a complete list of the authority's own certificates is needed")

// check returns ErrRevoked or ErrListEnded if the lists do not accept a certificate of the
// chains. Certificates of authorities without a list are accepted.
func (ls lists) check(chains [][]*x509.Certificate, log *slog.Logger) error {
	now := time.Now()
	for _, chain := range chains {
		for _, c := range chain {
			l := ls[string(c.RawIssuer)]
			if l == nil || string(c.RawIssuer) == string(c.RawSubject) {
				continue
			}
			if _, ok := l.serials[string(c.SerialNumber.Bytes())]; ok {
				return ErrRevoked
			}
			if l.ended(now, log) {
				return ErrListEnded
			}
		}
	}
	return nil
}

// ended reports whether a list has expired, and logs that once.
func (l *list) ended(now time.Time, log *slog.Logger) bool {
	if l.Ends.IsZero() || !now.After(l.Ends) {
		return false
	}
	if !l.told.Swap(true) {
		log.Error("a revocation list has expired; certificates of its authority are rejected until there is a new one",
			"authority", l.Authority, "ended", l.Ends)
	}
	return true
}

// Lists returns the descriptions of the lists, sorted by the names of their authorities.
func (s *Source) Lists() []List {
	var all []List
	for _, l := range s.now.Load().lists {
		all = append(all, l.List)
	}
	slices.SortFunc(all, func(a, b List) int { return strings.Compare(a.Authority, b.Authority) })
	return all
}

// lack returns the names of the authorities without a list.
func (ls lists) lack(authorities []*x509.Certificate) (names []string) {
	for _, a := range authorities {
		if ls[string(a.RawSubject)] == nil {
			names = append(names, a.Subject.String())
		}
	}
	return names
}

// Unlisted returns the names of the authorities without a list, if there are lists.
func (s *Source) Unlisted() []string { return s.now.Load().unlisted }

// ListsUntil returns the time at which the first of the lists ends that apply to the chains; zero if
// none of them does.
func (s *Source) ListsUntil(chains [][]*x509.Certificate) (first time.Time) {
	for _, chain := range chains {
		for _, c := range chain {
			if l := s.now.Load().lists[string(c.RawIssuer)]; l != nil && !l.Ends.IsZero() && (first.IsZero() || l.Ends.Before(first)) {
				first = l.Ends
			}
		}
	}
	return first
}

// Good returns ErrRevoked or ErrListEnded if the current lists do not accept certificates that
// a handshake has verified.
func (s *Source) Good(chains [][]*x509.Certificate) error {
	return s.current().lists.check(chains, s.files.Logger)
}
