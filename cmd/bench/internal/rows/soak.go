package rows

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// soak runs a hub at full load for a while, with a line for each minute: rate, latency, memory,
// goroutines and file must not grow.
func soak(ctx context.Context, b *Bench) (rs []Result, err error) {
	dir, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "parley.db")
	p, stop, err := b.start(ctx, serve.ParleySQLite, "-file", file)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	ops, hangUp, err := b.senders(ctx, p.Addr, v10)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	l := &loop{p: p, ops: ops}
	for i := range b.Soak {
		b.Log("soak: %d of %d", i+1, b.Soak)
		r, err := l.run(ctx, b.Minute)
		if err != nil {
			return rs, err
		}
		x := summary(serve.ParleySQLite, "sends/s", []run{r})
		if x.File, err = sizeOf(file); err != nil {
			return rs, err
		}
		if err := finish(ctx, p, &x); err != nil {
			return rs, err
		}
		x.Row = "soak"
		x.Case = fmt.Sprintf("%d: %d MiB, %d goroutines, file of %d MiB", i+1, x.Resident>>20, x.Goroutines, x.File>>20)
		rs = append(rs, x)
	}
	return rs, nil
}

// sizeOf returns the size of a file of SQLite with its write-ahead log.
func sizeOf(path string) (int64, error) {
	var size int64
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) && p != path {
			continue
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}
