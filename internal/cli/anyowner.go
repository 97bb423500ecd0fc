package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// administers reports whether the caller may read the tasks of all owners, without asking for them: the hub records
// such requests, even those that it refuses.
func (f *hubFlags) administers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var c adminjson.Caller
	return f.ask(ctx, "GET "+adminapi.Root+"/caller", nil, &c) == nil && c.Admin
}

// inspect returns a task of any owner by its id, or the beginning of its id, for an administrator. owner may be empty.
func (f *hubFlags) inspect(ctx context.Context, text, owner string) (*adminjson.TaskInfo, error) {
	found, err := (&lookup{f, "all"}).one(ctx, text)
	if err != nil {
		return nil, err
	}
	id := text
	if found != nil {
		id, owner = string(found.TaskID), cmp.Or(owner, found.Owner)
	}
	q := given(map[string]string{"scope": "all", "owner": owner})
	var info adminjson.TaskInfo
	return &info, f.ask(ctx, "GET "+taskPath(id)+"?"+q.Encode(), nil, &info)
}

// ofOthers returns the task of another owner that an administrator means by an id or its beginning, if missing states
// that the caller has no such task. Otherwise it returns nil and missing.
func (f *hubFlags) ofOthers(ctx context.Context, text string, missing error) (*adminjson.TaskInfo, error) {
	if !errors.Is(missing, a2a.ErrTaskNotFound) || len(text) < shortest || !f.administers(ctx) {
		return nil, missing
	}
	info, err := f.inspect(ctx, text, "")
	if errors.Is(err, a2a.ErrTaskNotFound) {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

// hintOthers writes to stderr how many tasks of other callers match a list in which the caller has none, if the
// caller is an administrator.
func (f *hubFlags) hintOthers(ctx context.Context, o *OS, q url.Values) {
	if o.Quiet || !f.administers(ctx) {
		return
	}
	q.Set("scope", "all")
	q.Set("pageSize", fmt.Sprint(maxPage))
	var list adminjson.TaskList
	if f.ask(ctx, "GET "+adminapi.Root+"/tasks?"+q.Encode(), nil, &list) != nil || len(list.Tasks) == 0 {
		return
	}
	n := counted(len(list.Tasks), "task")
	if list.NextPageToken != "" {
		n = "more than " + n
	}
	fmt.Fprintf(o.Stderr, "you have no such tasks; %s of other callers: add --all\n", n)
}
