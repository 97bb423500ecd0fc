package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// fresh is the age up to which the time of a file may not distinguish two of its contents: some
// file systems count in steps of two seconds.
const fresh = 2 * time.Second

// stamp is the state of files at one time, without their content.
type stamp struct {
	at    time.Time
	files []entry
}

// entry is one file of a stamp.
type entry struct {
	path string
	info fs.FileInfo // nil if the file cannot be found
	err  string
}

// stampOf returns the state of the files at paths, and of those in the folders among them.
func stampOf(paths []string) stamp {
	s := stamp{at: time.Now()}
	for _, path := range paths {
		if !s.add(path) {
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			s.files = append(s.files, entry{path: path, err: err.Error()})
		}
		for _, one := range inside {
			s.add(filepath.Join(path, one.Name()))
		}
	}
	return s
}

// add adds the file at path, and reports whether it is a folder.
func (s *stamp) add(path string) bool {
	info, err := os.Stat(path)
	e := entry{path: path, info: info}
	if err != nil {
		e.info, e.err = nil, err.Error()
	}
	s.files = append(s.files, e)
	return err == nil && info.IsDir()
}

// same reports whether the files are unchanged.
func (s *stamp) same(other *stamp) bool { return slices.EqualFunc(s.files, other.files, sameEntry) }

func sameEntry(a, b entry) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil && a.path == b.path && a.err == b.err
	}
	x, y := a.info, b.info
	return a.path == b.path && os.SameFile(x, y) && x.ModTime().Equal(y.ModTime()) && x.Size() == y.Size() && x.Mode() == y.Mode()
}

// settling returns the time after which the files will have been unchanged for settle; zero if they have
// been. Their writer may not have finished before.
func (s *stamp) settling() (wait time.Duration) {
	for _, e := range s.files {
		if e.info == nil || e.info.IsDir() {
			continue
		}
		if age := s.at.Sub(e.info.ModTime()); age >= 0 {
			wait = max(wait, settle-age)
		}
	}
	return wait
}

// young reports whether a file may have been changed after s without a difference.
func (s *stamp) young() bool {
	return slices.ContainsFunc(s.files, func(e entry) bool {
		return e.info != nil && !e.info.IsDir() && s.at.Sub(e.info.ModTime()) < fresh
	})
}
