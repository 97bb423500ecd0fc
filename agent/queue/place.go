package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/structjson"
	"github.com/parley-a2a/parley/task"
)

// place is where a task is on the bus: its checkpoint.
type place struct {
	// Key is agent.Call.Key of the message that the rest is about. Delivery and Epoch go
	// on over all messages of a task.
	Key string `json:"key"`
	// Delivery is the number of the work that was published last, or is about to be.
	Delivery int64 `json:"delivery"`
	// Published is when it was published for the first time, if that is certain.
	Published task.Millis `json:"published,omitempty"`
	// Deadline is when the message is of no more use; zero means never.
	Deadline task.Millis `json:"deadline,omitempty"`
	// Tries is how many workers have claimed the message.
	Tries int `json:"tries,omitempty"`
	// Epoch is that of the last grant.
	Epoch int64 `json:"epoch,omitempty"`
	// Worker has the job now; it is empty while nobody has. Nonce is that of its claim.
	Worker string `json:"worker,omitempty"`
	Nonce  string `json:"nonce,omitempty"`
	// Token is the SHA-256 of the token of the grant.
	Token []byte `json:"token,omitempty"`
	// Seq is the number of the last event that was taken.
	Seq int64 `json:"seq,omitempty"`
	// Idempotent says that another worker may have the job if this one is lost.
	Idempotent bool `json:"idempotent,omitempty"`
	// Working is set once the task was shown as WORKING, Told once more was shown.
	Working bool `json:"working,omitempty"`
	Told    bool `json:"told,omitempty"`

	// Ahead is how many pieces of a large event were taken after Seq. They are in memory
	// alone.
	Ahead int64 `json:"-"`
}

// places are the members of a place, as its tags say.
var places = structjson.Of(
	structjson.Text("key", func(p *place) *string { return &p.Key }).Always(),
	structjson.Int("delivery", func(p *place) *int64 { return &p.Delivery }).Always(),
	structjson.Int("published", func(p *place) *task.Millis { return &p.Published }),
	structjson.Int("deadline", func(p *place) *task.Millis { return &p.Deadline }),
	structjson.Int("tries", func(p *place) *int { return &p.Tries }),
	structjson.Int("epoch", func(p *place) *int64 { return &p.Epoch }),
	structjson.Text("worker", func(p *place) *string { return &p.Worker }),
	structjson.Text("nonce", func(p *place) *string { return &p.Nonce }),
	structjson.Bytes("token", func(p *place) *[]byte { return &p.Token }),
	structjson.Int("seq", func(p *place) *int64 { return &p.Seq }),
	structjson.Bool("idempotent", func(p *place) *bool { return &p.Idempotent }),
	structjson.Bool("working", func(p *place) *bool { return &p.Working }),
	structjson.Bool("told", func(p *place) *bool { return &p.Told }),
)

// placeOf returns the place of a task for the message with a key, given what was saved.
func placeOf(saved []byte, key string) (place, error) {
	var p place
	if len(saved) > 0 {
		if err := json.Unmarshal(saved, &p); err != nil {
			return place{}, fmt.Errorf("decode checkpoint: %w", err)
		}
	}
	if p.Key != key {
		p = place{Key: key, Delivery: p.Delivery + 1, Epoch: p.Epoch}
	}
	return p, nil
}

func (p *place) encode() []byte {
	if b, ok := places.Append(make([]byte, 0, len(p.Key)+len(p.Worker)+256), p); ok {
		return b
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return b
}

// claimed reports whether a worker has the job.
func (p *place) claimed() bool { return p.Worker != "" }

// claim gives the job to a worker.
func (p *place) claim(worker, nonce, token string) {
	p.Epoch++
	p.Tries++
	p.Worker, p.Nonce, p.Seq, p.Ahead = worker, nonce, 0, 0
	p.Token = hashed(token)
}

// free takes the job from its worker: it is to be published again.
func (p *place) free() {
	p.Delivery++
	p.Worker, p.Nonce, p.Token, p.Published, p.Seq, p.Ahead = "", "", nil, 0, 0, 0
}

// renew makes the place of a message that is dispatched anew: what was published of it
// before and who has it do not count. It does nothing to that of another message.
func (p *place) renew() {
	if p.Tries > 0 || p.Published != 0 {
		*p = place{Key: p.Key, Delivery: p.Delivery + 1, Epoch: p.Epoch}
	}
}

// vouches reports whether a token is that of the grant.
func (p *place) vouches(token string) bool {
	return p.claimed() && hmac.Equal(p.Token, hashed(token))
}

func hashed(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// next is the number of what is to be taken next.
func (p *place) next() int64 { return p.Seq + p.Ahead + 1 }

// verdict is what becomes of a report.
type verdict uint8

const (
	takes  verdict = iota + 1
	known          // all of it was taken before
	gap            // something before it is missing
	stale          // it is of a run that does not count
	forged         // it has no valid token
)

// judge says what becomes of n events from number first of an epoch, and how many of them
// were taken before.
func (p *place) judge(epoch int64, token string, first int64, n int) (v verdict, skip int) {
	switch {
	case !p.claimed() || epoch != p.Epoch:
		return stale, 0
	case !p.vouches(token):
		return forged, 0
	case first < 1 || first > p.next():
		return gap, 0
	}
	skip = int(min(p.next()-first, int64(n)))
	if skip == n {
		return known, n
	}
	return takes, skip
}
