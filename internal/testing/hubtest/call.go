package hubtest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
)

// Request is a request to a hub.
type Request struct {
	// Method is the HTTP method; "" is POST with a body and GET without one.
	Method string
	URL    string
	// Body is JSON.
	Body string
	// Header lists names and values alternately.
	Header []string
	// Client sends the request; nil is http.DefaultClient.
	Client *http.Client
}

// Do sends a request. The caller must close the response.
func Do(ctx context.Context, r Request) (*http.Response, error) {
	req, err := r.build(ctx)
	if err != nil {
		return nil, err
	}
	return cmp.Or(r.Client, http.DefaultClient).Do(req)
}

func (r *Request) build(ctx context.Context) (*http.Request, error) {
	method := r.Method
	switch {
	case method != "":
	case r.Body == "":
		method = http.MethodGet
	default:
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(r.Header); i += 2 {
		req.Header.Set(r.Header[i], r.Header[i+1])
	}
	return req, nil
}

// Pipelined sends all requests to one host over one connection before it reads the first
// answer, and returns the bodies of the answers in order. It stops when ctx ends.
func Pipelined(ctx context.Context, all ...Request) ([]string, error) {
	var sent []*http.Request
	for _, r := range all {
		req, err := r.build(ctx)
		if err != nil {
			return nil, err
		}
		sent = append(sent, req)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", sent[0].URL.Host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for _, req := range sent {
		if err := req.Write(conn); err != nil {
			return nil, err
		}
	}
	var answers []string
	in := bufio.NewReader(conn)
	for _, req := range sent {
		resp, err := http.ReadResponse(in, req)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		answers = append(answers, string(b))
	}
	return answers, nil
}

// StatusError is an answer with a status other than success.
type StatusError struct {
	Method, URL string
	Status      int
	Body        string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: status %d: %s", e.Method, e.URL, e.Status, e.Body)
}

// Status returns the HTTP status in an error of Call, or 0 if there was no answer.
func Status(err error) int {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return 0
}

// Call sends a request and decodes the JSON answer into the value that into points to, unless
// into is nil. An answer without success returns a *StatusError.
func Call(ctx context.Context, r Request, into any) error {
	resp, err := Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.URL, err)
	}
	if resp.StatusCode/100 != 2 {
		return &StatusError{resp.Request.Method, r.URL, resp.StatusCode, string(b)}
	}
	if into == nil || len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, into)
}

// Event is one server-sent event.
type Event struct {
	ID, Name string
	Data     string
}

// Events reads server-sent events. The final error is io.EOF if the stream ended between two
// events.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewReader(r)
		var ev Event
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				yield(Event{}, err)
				return
			}
			line = strings.TrimRight(line, "\r\n")
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "" && ev.Data != "":
				if !yield(ev, nil) {
					return
				}
				ev = Event{}
			case line == "":
				ev = Event{}
			case name == "id":
				ev.ID = value
			case name == "event":
				ev.Name = value
			case name == "data":
				ev.Data += value
			}
		}
	}
}
