package membudget

import (
	"context"
	"io"
	"net/http"
)

// Body is the body of an HTTP request. It draws on a Budget before more than Small bytes of it are
// read, so that a body whose sender stalls holds no more than that.
type Body struct {
	io.ReadCloser
	budget *Budget
	ctx    context.Context // of the request
	// need is the memory for the whole body.
	need, got int64
	hold      *Hold
}

type bodyKey struct{}

// Body returns r with a Body of at most most bytes, beyond which the handler reads no further. For
// requests of this process in the context of r, Acquire returns nil once the Body has memory: it is
// that of the same message. The caller must call Release when the request has been answered.
func (b *Budget) Body(r *http.Request, most int64) (*http.Request, *Body) {
	size := r.ContentLength
	if size < 0 || size > most {
		size = most
	}
	body := &Body{ReadCloser: r.Body, budget: b, ctx: r.Context(), need: MessageFactor * size}
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
	r.Body = body
	return r, body
}

// Read implements io.Reader. Its error wraps apierror.ErrExhausted if there is no memory.
func (y *Body) Read(p []byte) (int, error) {
	if y.hold == nil {
		if room := Small - y.got; room > 0 {
			p = p[:min(int64(len(p)), room)]
		} else if hold, err := y.budget.Acquire(y.ctx, y.need); err != nil {
			return 0, err
		} else {
			y.hold = hold
		}
	}
	n, err := y.ReadCloser.Read(p)
	y.got += int64(n)
	return n, err
}

// Release releases the memory. It may be called again.
func (y *Body) Release() { y.hold.Release() }

// Of returns the Budget of the request whose context ctx is; nil without a Body.
func Of(ctx context.Context) *Budget {
	if body, ok := ctx.Value(bodyKey{}).(*Body); ok {
		return body.budget
	}
	return nil
}

// held reports whether ctx is that of a request whose Body has memory.
func held(ctx context.Context) bool {
	body, _ := ctx.Value(bodyKey{}).(*Body)
	return body != nil && body.hold != nil
}
