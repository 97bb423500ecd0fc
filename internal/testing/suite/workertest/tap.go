package workertest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// tap is a proxy in front of RabbitMQ that sees the acknowledgments of work.
type tap struct {
	acks     chan struct{}
	server   string
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	conns  []net.Conn
	closed bool
}

// startTap starts a tap in front of the broker at the address server.
func startTap(t *testing.T, server string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{acks: make(chan struct{}, 1024), server: server, listener: l}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *tap) close() {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.mu.Unlock()
	_ = p.listener.Close()
	for _, c := range conns {
		_ = c.Close()
	}
	p.wg.Wait()
}

func (p *tap) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the tap is closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close() // the client connects again
			continue
		}
		p.join(client, server)
	}
}

// join passes bytes in both directions until one side closes its connection.
func (p *tap) join(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, client, server)
	pass := func(to, from net.Conn, copying func(io.Writer, io.Reader)) {
		copying(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	p.wg.Go(func() { pass(server, client, p.frames) })
	p.wg.Go(func() { pass(client, server, func(w io.Writer, r io.Reader) { _, _ = io.Copy(w, r) }) })
	if p.closed {
		_, _ = client.Close(), server.Close()
	}
}

// The classes and methods of AMQP 0-9-1 that matter here.
const (
	basicConsume = 60<<16 | 20
	basicAck     = 60<<16 | 80
)

// frames passes the protocol header and the frames of a client. A frame has a type, which is 1 for a
// method, a channel, the size of its payload, the payload, and a last byte.
func (p *tap) frames(w io.Writer, r io.Reader) {
	in := bufio.NewReader(r)
	if _, err := io.CopyN(w, in, int64(len("AMQP\x00\x00\x09\x01"))); err != nil {
		return
	}
	working := map[uint16]bool{} // the channels that receive work
	for {
		const head = 7
		start, err := in.Peek(head)
		if err != nil {
			return
		}
		kind, channel, size := start[0], binary.BigEndian.Uint16(start[1:]), int64(binary.BigEndian.Uint32(start[3:]))
		if kind != 1 {
			if _, err := io.CopyN(w, in, head+size+1); err != nil {
				return
			}
			continue
		}
		frame := make([]byte, head+size+1)
		if _, err := io.ReadFull(in, frame); err != nil {
			return
		}
		if _, err := w.Write(frame); err != nil {
			return
		}
		switch method, rest := binary.BigEndian.Uint32(frame[head:]), frame[head+4:]; method {
		case basicConsume: // a reserved number of two bytes, and the name of the queue with its length
			working[channel] = bytes.HasPrefix(rest[3:], []byte(protocol.JobAt(Agent).Name)) || working[channel]
		case basicAck:
			if working[channel] {
				p.acks <- struct{}{}
			}
		}
	}
}
