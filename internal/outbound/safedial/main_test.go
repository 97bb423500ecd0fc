package safedial

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a name server in memory. Each query for a name gets its next answer; the last one
// repeats.
type names struct {
	mu      sync.Mutex // guards the field below
	answers map[string][][]netip.Addr
}

// resolver returns a resolver that queries the name server about hosts. A host is separated
// from its addresses by an equals sign: "name=1.2.3.4,::1". A later entry of the same name is
// the answer to a later query.
func resolver(t *testing.T, hosts ...string) *net.Resolver {
	t.Helper()
	n := &names{answers: map[string][][]netip.Addr{}}
	for _, h := range hosts {
		name, list, _ := strings.Cut(h, "=")
		var addrs []netip.Addr
		for s := range strings.SplitSeq(list, ",") {
			addrs = append(addrs, netip.MustParseAddr(s))
		}
		n.answers[name] = append(n.answers[name], addrs)
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			wg.Go(func() {
				defer far.Close()
				n.serve(far)
			})
			return near, nil
		},
	}
}

// serve answers one query as over TCP (RFC 1035, section 4.2.2).
func (n *names) serve(conn net.Conn) {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, query); err != nil || len(query) < 17 {
		return
	}
	answer := n.answer(query)
	conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

const typeA, typeAAAA = 1, 28

// answer builds the answer to a query with one question.
func (n *names) answer(query []byte) []byte {
	var labels []string
	i := 12
	for query[i] != 0 {
		labels = append(labels, string(query[i+1:i+1+int(query[i])]))
		i += 1 + int(query[i])
	}
	kind := binary.BigEndian.Uint16(query[i+1:])
	addrs, known := n.next(strings.ToLower(strings.Join(labels, ".")), kind)
	b := append([]byte{}, query[:2]...)
	b = append(b, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	if !known {
		b[3] |= 3 // no such name
	}
	b = append(b, query[12:i+5]...)
	for _, a := range addrs {
		if kind == typeA != a.Is4() {
			continue
		}
		b[7]++
		b = append(b, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		b = append(b, a.AsSlice()...)
	}
	return b
}

// next returns the addresses of a name. Both families are queried at once; the query for IPv4
// advances to the next answer.
func (n *names) next(name string, kind uint16) ([]netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[name]
	if len(list) == 0 {
		return nil, false
	}
	if kind == typeA && len(list) > 1 {
		n.answers[name] = list[1:]
	}
	return list[0], true
}

// mustParse returns the policy of rules.
func mustParse(t testing.TB, rules ...string) *Policy {
	t.Helper()
	p, err := ParsePolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
