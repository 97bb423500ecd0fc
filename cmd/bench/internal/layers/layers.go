// Package layers divides the samples of a processor profile of a server among the layers that a
// request passes, and draws them as a flame graph.
//
// A sample belongs to the layer of its innermost function that a rule names. So an allocation in
// the decoder of JSON counts as allocation, and the copy of a string there as JSON. Each sample
// belongs to exactly one layer, so the layers add up to the profile.
package layers

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// rule names a layer by parts of the names of its functions.
type rule struct {
	layer string
	parts []string
}

// The layers that refined makes more precise.
const (
	statements = "store: statements"
	restOfHTTP = "HTTP server: the rest"
)

// rules are in the order in which they apply to one function.
var rules = []rule{
	{"allocation and collector", []string{
		"runtime.mallocgc", "runtime.gcBgMarkWorker", "runtime.gcAssist", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcDrain",
		"runtime.gcStart", "runtime.wbBufFlush", "runtime.newobject", "runtime.makeslice", "runtime.(*mheap)", "runtime.(*mcache)", "runtime.gcWriteBarrier",
	}},
	{"scheduler: wake, park, switch", []string{
		"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.goready", "runtime.ready", "runtime.futex",
		"runtime.wakep", "runtime.sysmon", "runtime.netpoll", "runtime.newproc", "runtime.mstart", "runtime.selectgo", "runtime.chansend",
		"runtime.chanrecv", "runtime.closechan", "runtime.goexit0", "runtime.systemstack_switch", "runtime.semacquire", "runtime.semrelease", "runtime.gopark",
		"runtime.exitsyscall", "runtime.entersyscall", "runtime.reentersyscall", "internal/sync.(*Mutex)", "time.AfterFunc", "time.stopTimer", "time.resetTimer", "time.newTimer",
	}},
	{"store: fsync", []string{"libc.Xfsync", "libc.Xfdatasync", "_full_fsync", "_unixSync", "FlushFileBuffers"}},
	{"store: commit, write of the log", []string{
		"_sqlite3BtreeCommit", "_sqlite3PagerCommit", "_pagerWalFrames", "_sqlite3WalFrames", "_walWriteToLog", "_walWriteOneFrame", "_sqlite3WalCheckpoint",
		"_walCheckpoint", "_vdbeCommit", "_sqlite3WalBegin", "_sqlite3WalEnd", "_walTryBegin", "_sqlite3BtreeBeginTrans",
	}},
	{statements, []string{"modernc.org/sqlite", "modernc.org/libc", "zombiezen.com/go/sqlite"}},
	{"store: batches and codecs", []string{"parley/store/", "parley/internal/store/"}},
	{"JSON", []string{"encoding/json", "parley/internal/json", "parley/internal/dialect"}},
	{"read the request", []string{
		"net/http.(*conn).readRequest", "net/http.readRequest", "net/http.(*connReader)", "net/http.(*body)", "net/http.readTransfer", "net/textproto", "net.(*conn).Read",
	}},
	{"write the answer", []string{
		"net/http.(*response)", "net/http.(*chunkWriter)", "net/http.checkConnErrorWriter", "net/http.Header", "net/http.(*extraHeader)", "net.(*conn).Write",
	}},
	{"agent", []string{"cmd/bench/internal/serve"}},
	{"engine", []string{"parley/internal/engine", "parley/task", "parley/agent", "parley/internal/op", "parley/internal/agents", "parley/internal/delegation", "parley/internal/events"}},
	{"front and admission", []string{"parley/internal/front", "parley/auth", "parley/internal/hub", "parley/internal/membudget", "parley/internal/ratelimit", "parley/internal/telemetry", "parley."}},
	{restOfHTTP, []string{"net/http", "bufio", "net."}},
}

// Monitor is the layer of the thread of Go's runtime that watches the others. Profiles have no samples
// of it, so its time is that of the system.
const Monitor = "scheduler: monitor thread"

// other is the layer of samples without a rule.
const other = "other"

// Share is the processor time of a layer.
type Share struct {
	Layer string        `json:"layer"`
	CPU   time.Duration `json:"cpu_ns"`
}

// Profile is a processor profile.
type Profile struct {
	samples []sample
	// Total is the processor time of all samples.
	Total time.Duration
}

type sample struct {
	stack []string // the innermost function first
	cpu   time.Duration
}

// Read reads a profile that runtime/pprof has written.
func Read(path string) (*Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	at := len(raw.SampleType) - 1
	if at < 0 || raw.SampleType[at].Type != "cpu" {
		return nil, fmt.Errorf("read %s: it is no processor profile", path)
	}
	p := new(Profile)
	for _, s := range raw.Sample {
		one := sample{cpu: time.Duration(s.Value[at])}
		for _, l := range s.Location {
			for _, line := range l.Line {
				one.stack = append(one.stack, line.Function.Name)
			}
		}
		p.samples = append(p.samples, one)
		p.Total += one.cpu
	}
	return p, nil
}

// Shares returns the layers, the largest first.
func (p *Profile) Shares() []Share {
	sums := make(map[string]time.Duration)
	for _, s := range p.samples {
		sums[layerOf(s.stack)] += s.cpu
	}
	var all []Share
	for layer, cpu := range sums {
		all = append(all, Share{layer, cpu})
	}
	Sort(all)
	return all
}

// Sort orders layers, the largest first.
func Sort(all []Share) {
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), strings.Compare(a.Layer, b.Layer))
	})
}

// refined are layers that an outer function makes more precise: a write of the log is a
// commit, also if the innermost function is that of any write.
var refined = map[string][]string{
	statements: {"store: fsync", "store: commit, write of the log"},
	restOfHTTP: {"read the request", "write the answer"},
}

func layerOf(stack []string) string {
	for i, name := range stack {
		if layer := find(name, nil); layer != "" {
			for _, outer := range stack[i:] {
				if precise := find(outer, refined[layer]); refined[layer] != nil && precise != "" {
					return precise
				}
			}
			return layer
		}
	}
	return other
}

// find returns the layer of a function, or an empty text; only those among choice unless it is nil.
func find(name string, choice []string) string {
	for _, r := range rules {
		if choice != nil && !slices.Contains(choice, r.layer) {
			continue
		}
		for _, part := range r.parts {
			if strings.Contains(name, part) {
				return r.layer
			}
		}
	}
	return ""
}
