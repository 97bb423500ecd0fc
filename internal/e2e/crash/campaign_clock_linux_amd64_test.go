package crash

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// The wall clock of another process is moved by changing its copy of the vDSO, the functions of
// the kernel that Go programs call to read the time. libfaketime cannot do this: it replaces
// functions of the C library, which these programs do not call.

// clockCode is the replacement of clock_gettime. It calls the kernel, and adds the seconds in
// the eight bytes after the code to CLOCK_REALTIME.
var clockCode = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
	0x75, 0x0a, // jne to the end
	0x48, 0x8b, 0x0d, 0x06, 0, 0, 0, // mov rcx, [rip+6]: the seconds
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0x31, 0xc0, // xor eax, eax
	0xc3, // ret
}

// moveClock sets the difference between the wall clock of a process and the real one, in whole
// seconds. Monotonic time does not change.
func moveClock(pid int, by time.Duration) error {
	m, err := openClock(pid)
	if err != nil {
		return fmt.Errorf("move the clock of process %d: %w", pid, err)
	}
	defer m.mem.Close()
	if err := m.replace(); err != nil {
		return fmt.Errorf("replace the clock of process %d: %w", pid, err)
	}
	seconds := binary.LittleEndian.AppendUint64(nil, uint64(by/time.Second)) //nolint:gosec // two's complement
	_, err = m.mem.WriteAt(seconds, m.code+int64(len(clockCode)))
	return err
}

// clockMemory is the vDSO in the memory of a process.
type clockMemory struct {
	pid  int
	mem  *os.File
	read int64 // address of clock_gettime
	code int64 // address of its replacement, in the unused end of the last page
}

func openClock(pid int) (*clockMemory, error) {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	m := &clockMemory{pid: pid, mem: mem}
	if err := m.find(); err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return m, nil
}

// find finds the addresses.
func (m *clockMemory) find() error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", m.pid))
	if err != nil {
		return err
	}
	var low, high int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &low, &high); err != nil {
				return err
			}
		}
	}
	image := make([]byte, high-low)
	if _, err := m.mem.ReadAt(image, low); err != nil || low == 0 {
		return errors.Join(errors.New("no vDSO"), err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			m.read = low + int64(s.Value) //nolint:gosec // an address
		}
	}
	m.code = high - 64
	free := image[len(image)-64:]
	if m.read == 0 || !bytes.HasPrefix(free, clockCode) && !bytes.Equal(free, make([]byte, 64)) {
		return errors.New("the vDSO has no function for the time, or no room for another one")
	}
	return nil
}

// replace replaces the function, unless that was done before. The process is stopped meanwhile.
func (m *clockMemory) replace() error {
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(m.code-m.read-5)) //nolint:gosec // two's complement
	now := make([]byte, len(jump))
	if _, err := m.mem.ReadAt(now, m.read); err != nil || bytes.Equal(now, jump) {
		return err
	}
	if _, err := m.mem.WriteAt(clockCode, m.code); err != nil {
		return err
	}
	for range 10 {
		if err := syscall.Kill(m.pid, syscall.SIGSTOP); err != nil {
			return err
		}
		free := m.stopped()
		if free {
			_, err := m.mem.WriteAt(jump, m.read)
			return errors.Join(err, syscall.Kill(m.pid, syscall.SIGCONT))
		}
		if err := syscall.Kill(m.pid, syscall.SIGCONT); err != nil {
			return err
		}
	}
	return errors.New("its threads do not leave the function")
}

// stopped waits for a while until all threads are stopped outside of the bytes that change.
func (m *clockMemory) stopped() bool {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if m.free() {
			return true
		}
	}
	return false
}

// free reports whether all threads are stopped outside of the bytes that change.
func (m *clockMemory) free() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", m.pid))
	for _, path := range threads {
		text, readErr := os.ReadFile(path)
		fields := strings.Fields(string(text))
		if readErr != nil || len(fields) < 3 { // "running" for a thread that has not stopped yet
			return false
		}
		at, parseErr := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if parseErr != nil || at > m.read && at < m.read+5 {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// TestWebhookAfterTheClockIsSetBack: a notification that waits for its next try does not wait
// for the hours by which the wall clock of the hub is set back.
func TestWebhookAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{})
	hook := &webhook{
		t: t, bad: 1 << 30, first: sync.OnceFunc(func() { close(tried) }),
		took: make(map[string][]string), tried: make(map[string][]string),
		wakes: make(map[string]chan struct{}), after: make(map[string]int),
	}
	srv := httptest.NewServer(hook)
	defer srv.Close()
	h := hubtest.Start(t, hubtest.Options{Flags: []string{"--push-allow", "loopback"}})
	if err := moveClock(h.Process().PID(), 11*time.Hour); err != nil {
		t.Fatal(err)
	}
	frames := streamWithHook(t, h, srv.URL+"/one", 3)
	await(t, "the first try", tried)
	if err := moveClock(h.Process().PID(), 0); err != nil {
		t.Fatal(err)
	}
	hook.recover(0, false)
	awaitLast(t, hook, "/one", frames[len(frames)-1])
	hook.check("/one", frames)
}

// TestSilenceWhileTheClockMoves: the silence of an agent does not depend on the wall clock of the
// hub, which is moved after the first output of its program.
func TestSilenceWhileTheClockMoves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		program string
		by      time.Duration
		want    string
	}{
		"an agent that works": {"sleep 4; echo 1; sleep 5; echo 2", 11 * time.Hour, "COMPLETED"},
		"a silent agent":      {"echo 1; exec sleep 1000", -11 * time.Hour, "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents: [{name: a, silence: 8s, command: %q}]\n", tt.program)})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := reader{}
			moved := false
			err := r.read(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/a/message:stream", Body: sending{id: "m", text: "x"}.body()}, func() bool {
				if r.words != "" && !moved {
					moved = true
					if err := moveClock(h.Process().PID(), tt.by); err != nil {
						t.Error(err)
					}
				}
				return r.ended()
			})
			if err != nil || r.state != tt.want || !moved {
				t.Errorf("the task is %s (%s) with %q, %v; want %s", r.state, r.why, r.words, err, tt.want)
			}
		})
	}
}

// TestWorkAfterTheClockIsSetBack: the broker within the hub notes when it has sent a message to a
// worker. After the clock is set back by an hour, it would send the message of a killed worker
// again after that hour.
func TestWorkAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "agents: [{name: a, queue: a}]\n"})
	begin := func() *hubtest.Process {
		t.Helper()
		p := hubtest.Launch(t, hubtest.Command{Args: []string{"agent", "run", "--name", "a", "--data", h.Data(), "--", "cat"}, Dir: h.Dir()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Await(ctx, "performing the tasks of an agent"); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ask := func(id string) *reader {
		t.Helper()
		r := &reader{}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		err := r.read(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/a/message:stream", Body: sending{id: id, text: id}.body()}, func() bool {
			return r.ended() || id == "held"
		})
		if err != nil {
			t.Fatalf("message %q: %v", id, err)
		}
		return r
	}
	move := func(by time.Duration) {
		t.Helper()
		if err := moveClock(h.Process().PID(), by); err != nil {
			t.Fatal(err)
		}
	}
	worker := begin()
	if r := ask("first"); r.state != "COMPLETED" {
		t.Fatalf("the task is %s (%s)", r.state, r.why)
	}
	move(time.Hour)
	if err := syscall.Kill(worker.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	held := ask("held")
	worker.Kill()
	begin()
	move(0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := held.resume(ctx, h.URL(), held.ended); err != nil || held.state != "COMPLETED" {
		t.Errorf("the task is %s (%s), %v", held.state, held.why, err)
	}
}
