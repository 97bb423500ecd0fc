package tlsfile

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxLists is how large a file of revocation lists may be, in bytes.
const maxLists = 64 << 20

// Why a certificate that an authority has issued is not good.
var (
	// ErrRevoked: its authority has revoked it, or one above it.
	ErrRevoked = errors.New("the certificate was revoked")
	// ErrListEnded: the list of its authority is too old to say whether it was.
	ErrListEnded = errors.New("the revocation list of the certificate's authority has ended")
)

// List is what is known of the revocation list of an authority.
type List struct {
	// Authority is its subject.
	Authority string
	// Ends is when the next list was to be there; zero if that is not said.
	Ends time.Time
	// Revoked is how many certificates are on it.
	Revoked int
}

// list is a List that is looked up in.
type list struct {
	List

	serials map[string]struct{} // serial numbers as bytes
	told    atomic.Bool         // it was logged that it has ended
}

// lists are those of the authorities, by their subjects as they are encoded. Nil are none.
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

// add adds a list. The error continues a sentence about it.
func (ls lists) add(der []byte, authorities []*x509.Certificate) error {
	r, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	name := r.Issuer.String()
	if !slices.ContainsFunc(authorities, func(a *x509.Certificate) bool {
		return string(a.RawSubject) == string(r.RawIssuer) && r.CheckSignatureFrom(a) == nil
	}) {
		return fmt.Errorf("is of %q, and none of the authorities has signed it", name)
	}
	if _, ok := ls[string(r.RawIssuer)]; ok {
		return fmt.Errorf("is the second one of %q", name)
	}
	l := &list{List: List{name, r.NextUpdate, len(r.RevokedCertificateEntries)}, serials: make(map[string]struct{}, len(r.RevokedCertificateEntries))}
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

// errPartial is about lists that mean something else than what stands on them: those of a part
// of the certificates, of changes alone, or for other authorities (RFC 5280 §5.2.4, §5.2.5, §5.3.3).
var errPartial = errors.New("has a critical extension: a complete list of the authority's own certificates is needed")

// check returns ErrRevoked or ErrListEnded if a certificate of the chains is not good by the
// lists. Authorities without a list are believed.
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

// ended reports whether the time of a list is over, and logs that once.
func (l *list) ended(now time.Time, log *slog.Logger) bool {
	if l.Ends.IsZero() || !now.After(l.Ends) {
		return false
	}
	if !l.told.Swap(true) {
		log.Error("a revocation list has ended, and certificates of its authority are refused until there is a new one",
			"authority", l.Authority, "ended", l.Ends)
	}
	return true
}

// Lists returns what is known of the lists, by the names of their authorities.
func (s *Source) Lists() []List {
	var all []List
	for _, l := range s.now.Load().lists {
		all = append(all, l.List)
	}
	slices.SortFunc(all, func(a, b List) int { return strings.Compare(a.Authority, b.Authority) })
	return all
}

// lack returns the names of the authorities that have no list.
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

// Good returns ErrRevoked or ErrListEnded if certificates that a handshake has verified are not
// good by the lists as they are now.
func (s *Source) Good(chains [][]*x509.Certificate) error {
	return s.current().lists.check(chains, s.files.Logger)
}
