package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-a2a/parley/internal/llm"
)

// ErrNoResource is returned by a Library if the caller has no resource at an address.
var ErrNoResource = errors.New("no such resource")

// Library provides the resources that a caller can read. Its methods may be called
// concurrently.
type Library interface {
	// Templates returns the forms of the addresses of resources.
	Templates() []Template
	// List returns a page of the resources, and the cursor of the next page; empty at the end.
	// An empty cursor selects the first page.
	List(ctx context.Context, cursor string) (page []Resource, next string, err error)
	// Read returns the content at an address, or ErrNoResource. The media type of text or of
	// data may be a more specific one.
	Read(ctx context.Context, uri string) ([]*a2a.Part, error)
}

// Watcher is a Library that can report changes.
type Watcher interface {
	// Watch yields after each change of the resource, until ctx ends or an error occurs. It
	// yields ErrNoResource if there is no such resource.
	Watch(ctx context.Context, uri string) iter.Seq2[struct{}, error]
}

// Template describes resources with addresses of one form, and Resource is an entry in a list of
// resources.
type (
	Template = mcp.ResourceTemplate
	Resource = mcp.Resource
)

// serveResources offers the library and the stored results.
func (svc *service) serveResources() {
	templates := []mcp.ResourceTemplate{{
		URITemplate: resultPrefix + "{id}", Name: "Large results",
		Description: "Parts of results that were too large for an answer. They are kept for a while.",
	}}
	if svc.Library != nil {
		templates = append(templates, svc.Library.Templates()...)
	}
	for i := range templates {
		svc.mcp.AddResourceTemplate(&templates[i], svc.read)
	}
	svc.mcp.AddReceivingMiddleware(svc.listing, svc.consistent, svc.watch.answering)
	svc.mcp.AddSendingMiddleware(svc.watch.sending)
}

// watcher returns the library if it can report changes, or nil.
func (svc *service) watcher() Watcher {
	w, _ := svc.Library.(Watcher)
	return w
}

// listing answers with the current list of the library; the SDK would list only registered
// resources.
func (svc *service) listing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "resources/list" || svc.Library == nil {
			return next(ctx, method, req)
		}
		cursor := ""
		if p, ok := req.GetParams().(*mcp.ListResourcesParams); ok && p != nil {
			cursor = p.Cursor
		}
		page, more, err := svc.Library.List(ctx, cursor)
		if err != nil {
			return nil, fmt.Errorf("list resources: %w", err)
		}
		res := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, NextCursor: more}
		res.CacheScope = private
		for i := range page {
			res.Resources = append(res.Resources, &page[i])
		}
		return res, nil
	}
}

// read answers with a resource.
func (svc *service) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	if item := svc.results.item(svc, uri); item != nil {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{item}}, nil
	}
	if svc.Library == nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	account := svc.account()
	defer svc.exchanges.release(req.Extra, account)
	found, err := svc.Library.Read(account.Context(ctx), uri)
	if err != nil {
		return nil, readError(uri, err)
	}
	blocks, _ := llm.ToMCP(found)
	all := make([]*mcp.ResourceContents, 0, len(blocks))
	for i := range blocks {
		c := contents(&blocks[i])
		c.URI = uri
		all = append(all, c)
	}
	return &mcp.ReadResourceResult{Contents: all}, nil
}

func readError(uri string, err error) error {
	if errors.Is(err, ErrNoResource) {
		return mcp.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "read " + uri + ": " + err.Error()}
}
