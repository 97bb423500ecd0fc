package rockbothttp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Caller calls a gateway according to RockBot's document.
type Caller struct {
	// URL is the address for calls, Key the value of X-Api-Key.
	URL, Key string
}

// Error is the error of a JSON-RPC response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// response is a JSON-RPC response.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// read returns the result of a response to the call with the id 1.
func read(raw []byte) (json.RawMessage, error) {
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: %s", err, raw)
	}
	switch {
	case r.Version != "2.0", string(r.ID) != "1" && (r.Error == nil || string(r.ID) != "null"):
		return nil, fmt.Errorf("not the response to this call: %s", raw)
	case r.Error != nil:
		return nil, r.Error
	case r.Result == nil:
		return nil, fmt.Errorf("a response without a result: %s", raw)
	}
	return r.Result, nil
}

// Post posts a body to the gateway.
func (c *Caller) Post(ctx context.Context, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Key != "" {
		r.Header.Set("X-Api-Key", c.Key)
	}
	return http.DefaultClient.Do(r)
}

// Call calls a method and returns its result. The error of a response is an *Error.
func (c *Caller) Call(ctx context.Context, method, params string) (json.RawMessage, error) {
	return c.Raw(ctx, call(method, params))
}

// Raw is Call with an arbitrary body. Only authentication errors have a status other than 200.
func (c *Caller) Raw(ctx context.Context, body string) (json.RawMessage, error) {
	resp, err := c.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("status %d with content type %q: %s", resp.StatusCode, resp.Header.Get("Content-Type"), raw)
	}
	return read(raw)
}

// Send sends a message and decodes the event in the answer.
func (c *Caller) Send(ctx context.Context, params string) (*Event, error) {
	raw, err := c.Call(ctx, "SendMessage", params)
	if err != nil {
		return nil, err
	}
	return ReadEvent(raw)
}

// Task calls a method that answers with a task.
func (c *Caller) Task(ctx context.Context, method, params string) (*Task, error) {
	raw, err := c.Call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	t := new(Task)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, err
	}
	return t, t.Check()
}

// Page is a page of tasks.
type Page struct {
	Tasks         []Task `json:"tasks"`
	NextPageToken string `json:"nextPageToken"`
	PageSize      int    `json:"pageSize"`
	TotalSize     int    `json:"totalSize"`
}

// List calls ListTasks.
func (c *Caller) List(ctx context.Context, params string) (*Page, error) {
	raw, err := c.Call(ctx, "ListTasks", params)
	if err != nil {
		return nil, err
	}
	p := new(Page)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	for i := range p.Tasks {
		if err := p.Tasks[i].Check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
	}
	return p, nil
}

// Frame is an event of a stream with its bytes.
type Frame struct {
	Event *Event
	Raw   json.RawMessage
}

// Stream calls a method that answers with server-sent events. The sequence ends with the
// stream.
func (c *Caller) Stream(ctx context.Context, method, params string) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		resp, err := c.Post(ctx, call(method, params))
		if err != nil {
			yield(Frame{}, err)
			return
		}
		defer resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			raw, _ := io.ReadAll(resp.Body)
			if _, err = read(raw); err == nil {
				err = fmt.Errorf("content type %q in place of a stream", kind)
			}
			yield(Frame{}, err)
			return
		}
		for lines := bufio.NewReader(resp.Body); ; {
			data, err := nextData(lines)
			if err == io.EOF {
				return
			}
			var f Frame
			if err == nil {
				f.Raw, err = read(data)
			}
			if err == nil {
				f.Event, err = ReadEvent(f.Raw)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// nextData returns the data of the next event, which the gateway writes on one line.
func nextData(lines *bufio.Reader) ([]byte, error) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return []byte(data), nil
		}
	}
}

func call(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}
