package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// maxUpload is the maximum size of a form with files in bytes.
	maxUpload = 4 << 20
	// maxFiles is the maximum number of files of a message.
	maxFiles = 20
	// waitingShown is the largest number of items that is counted.
	waitingShown = 99
)

// formLimit returns the maximum size of the body of a request.
func formLimit(r *http.Request) int64 {
	if r.Method == http.MethodPost && (r.URL.Path == Root+"try" || r.URL.Path == Root+"context") {
		return maxUpload
	}
	return maxForm
}

// messageParts returns the parts of a message that a form contains: a text, a JSON object, files.
func (p *page) messageParts() ([]any, error) {
	var parts []any
	if text := p.r.PostFormValue("text"); text != "" {
		parts = append(parts, map[string]any{"text": text})
	}
	if data := strings.TrimSpace(p.r.PostFormValue("data")); data != "" {
		var o map[string]any
		if err := json.Unmarshal([]byte(data), &o); err != nil {
			return nil, &refusal{Code: http.StatusUnprocessableEntity, Message: "This is not a JSON object: " + err.Error()}
		}
		parts = append(parts, map[string]any{"data": json.RawMessage(data)})
	}
	var files []*multipart.FileHeader
	if p.r.MultipartForm != nil {
		files = p.r.MultipartForm.File["file"]
	}
	if len(files) > maxFiles {
		return nil, &refusal{Code: http.StatusUnprocessableEntity, Message: fmt.Sprintf("A message can have at most %d files here.", maxFiles)}
	}
	for _, f := range files {
		part, err := filePart(f)
		if err != nil {
			return nil, fmt.Errorf("read file %q: %w", f.Filename, err)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, &refusal{Code: http.StatusUnprocessableEntity, Message: "Write a message, or attach something."}
	}
	return parts, nil
}

// filePart returns a file as a part.
func filePart(f *multipart.FileHeader) (any, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	b, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	part := map[string]any{"raw": base64.StdEncoding.EncodeToString(b), "filename": f.Filename}
	if kind := f.Header.Get("Content-Type"); kind != "" {
		part["mediaType"] = kind
	}
	return part, nil
}

// waiting returns the number of items of the inbox that wait for the person; empty for none.
func (p *page) waiting() string {
	if p.caller.ID == "" {
		return ""
	}
	var list adminjson.InboxList
	if err := p.get("/api/v1/inbox?"+query("state", "open", "pageSize", waitingShown), &list); err != nil || len(list.Items) == 0 {
		return "" // a caller may be without permission
	}
	if list.NextPageToken != "" {
		return fmt.Sprintf("%d+", len(list.Items))
	}
	return fmt.Sprint(len(list.Items))
}
