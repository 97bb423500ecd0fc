//go:build unix

package rows

import "syscall"

// raiseFiles raises the limit of open files to n, also the hard one if that is allowed, and
// returns the limit in force.
func raiseFiles(n uint64) (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	if uint64(l.Cur) >= n {
		return uint64(l.Cur), nil
	}
	want := l
	want.Cur = n
	want.Max = max(want.Max, n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &want); err != nil {
		return uint64(l.Cur), err
	}
	return n, nil
}
