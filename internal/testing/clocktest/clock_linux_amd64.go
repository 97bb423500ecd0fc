package clocktest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// Move sets the difference between the wall clock of a process and the real one, in whole
// seconds. Monotonic time does not change.
func Move(pid int, by time.Duration) error {
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
