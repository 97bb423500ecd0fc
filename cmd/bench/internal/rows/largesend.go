package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// largeSender sends messages with a large text, each on a connection of its own.
type largeSender struct {
	url string
	// text is the size of the text in bytes.
	text int
}

// The status codes of gRPC that the senders distinguish.
const (
	grpcOK        = "0"
	grpcExhausted = "8"
)

// overHTTP sends a message and reports whether it was accepted, not refused for want of memory.
func (s largeSender) overHTTP(ctx context.Context, n int) (accepted bool, err error) {
	head := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"large-%d",`+
		`"role":"ROLE_USER","parts":[{"text":"`, n)
	r, err := s.request(ctx, "", head, `"}]}}}`)
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, start, err := exchange(&http.Transport{}, r)
	switch {
	case err != nil:
		return false, err
	case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
		return false, nil
	case resp.StatusCode == http.StatusOK && bytes.Contains(start, []byte(`"result":`)):
		return true, nil
	case bytes.Contains(start, []byte(`RESOURCE_EXHAUSTED`)):
		return false, nil
	}
	return false, fmt.Errorf("large message: %s: %.300s", resp.Status, start)
}

// overGRPC is overHTTP over gRPC.
func (s largeSender) overGRPC(ctx context.Context, n int) (accepted bool, err error) {
	id := fmt.Sprintf("large-%d", n)
	part := appendField(nil, 1, s.text)
	message := appendField(nil, 1, len(id))
	message = append(append(message, id...), 4<<3, 1) // ROLE_USER
	message = appendField(message, 5, len(part)+s.text)
	request := appendField(nil, 2, len(message)+len(part)+s.text)
	all := append(append(request, message...), part...)
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(all)+s.text))
	r, err := s.request(ctx, "/lf.a2a.v1.A2AService/SendMessage", string(append(head, all...)), "")
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("TE", "trailers")
	r.Header.Set("A2A-Version", "1.0")
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	resp, _, err := exchange(t, r)
	if err != nil {
		return false, err
	}
	status := resp.Trailer.Get("Grpc-Status") + resp.Header.Get("Grpc-Status")
	if status != grpcOK && status != grpcExhausted {
		return false, fmt.Errorf("large message: status %s: %s", status, resp.Trailer.Get("Grpc-Message")+resp.Header.Get("Grpc-Message"))
	}
	return status == grpcOK, nil
}

// appendField appends the beginning of a field of protocol buffers with n bytes.
func appendField(b []byte, number, n int) []byte {
	return binary.AppendUvarint(append(b, byte(number<<3|2)), uint64(n))
}

// request returns a request whose body is the text between head and end.
func (s largeSender) request(ctx context.Context, path, head, end string) (*http.Request, error) {
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, int64(s.text)), strings.NewReader(end))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(len(head) + s.text + len(end))
	return r, nil
}

// letters is an endless text.
type letters struct{}

// Read implements io.Reader.
func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// exchange performs a request, and returns the beginning of the answer, which it has read.
func exchange(t *http.Transport, r *http.Request) (*http.Response, []byte, error) {
	defer t.CloseIdleConnections()
	resp, err := t.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	start := make([]byte, 4096)
	n, err := io.ReadFull(resp.Body, start)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if err != nil && n < len(start) && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		err = nil
	}
	return resp, start[:n], err
}
