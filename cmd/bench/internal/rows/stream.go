package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// streaming measures SendStreamingMessage: one task after the other, each with one
// reader.
func streaming(ctx context.Context, b *Bench) ([]Result, error) {
	var all []Result
	for _, n := range b.Streams {
		kinds := []serve.Kind{serve.GoSDK, serve.JSSDK, serve.PythonSDK, serve.ParleyMemory, serve.ParleySQLite, serve.ParleyPostgres}
		rs, err := b.each(ctx, "stream", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) {
			if b.Short && n > b.Streams[0] && !b.ours(k) {
				return nil, fmt.Errorf("%w: a peer takes minutes, so short runs have no number", ErrLeftOut)
			}
			return b.streamOn(ctx, k, n)
		})
		for i := range rs {
			rs[i].Case = count(n) + " chunks"
		}
		all = append(all, rs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (b *Bench) streamOn(ctx context.Context, k serve.Kind, chunks int) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := wire.Call("SendStreamingMessage", sendParams(serve.Text(serve.Chunks, strconv.Itoa(chunks)), ""))
	one := func(n uint64) error {
		s, err := c.Stream(request.With(n))
		if err != nil {
			return err
		}
		return follow(s, chunks)
	}
	var runs []run
	err = b.profiled(ctx, p, fmt.Sprintf("%s-stream-%d", k, chunks), func() (err error) {
		runs, err = b.closedLoop(ctx, p, []op{one})
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].units = chunks
	}
	r := summary(k, "chunks/s", runs)
	err = finish(ctx, p, &r)
	return []Result{r}, err
}

// follow reads a stream to its end and returns an error unless it has exactly the given number
// of chunks and ends with the completed task.
func follow(s *wire.Stream, chunks int) error {
	got, done := 0, false
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("after %d of %d chunks: %w", got, chunks, err)
		}
		got += bytes.Count(data, []byte(serve.ChunkText))
		done = bytes.Contains(data, []byte(completed))
	}
	if got != chunks || !done {
		return fmt.Errorf("stream with %d of %d chunks, completed %v at its end", got, chunks, done)
	}
	return nil
}
