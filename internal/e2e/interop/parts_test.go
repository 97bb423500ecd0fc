package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/google/go-cmp/cmp"
)

const partsKey = "a-key-of-the-tests-for-large-parts"

// partsHub starts a hub that stores parts above 100 KiB separately and accepts one key.
func partsHub(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := "parts: {threshold: 100KiB}\nauth: {api_keys: {" + partsKey + ": {agent_id: ann}}}\n"
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serveHub(t, dir, "--data", t.TempDir())
	return url
}

// TestLargePartsOfSDKs makes the official SDKs send a large part, read the task, and request
// the part at its address.
func TestLargePartsOfSDKs(t *testing.T) {
	t.Parallel()
	url := partsHub(t)
	want := followed{Kind: "url", Name: "a.bin", Same: true, Digest: true, Ranged: true, Stranger: http.StatusUnauthorized}
	for _, sdk := range []struct {
		name, dir string
		program   func(*testing.T, string) []string
	}{
		{"python", "python/v1", python("parts.py")},
		{"js", "js", node("parts.mjs")},
	} {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			args := append(sdk.program(t, sdk.dir), url, partsKey)
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			var errs bytes.Buffer
			cmd.Dir, cmd.Stderr = sdk.dir, &errs
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			var got followed
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(want, followWithGo(t, url)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// followed describes a part as received by a client.
type followed struct {
	Kind, Name           string
	Same, Digest, Ranged bool
	Stranger             int
}

// withKey adds the key to each request.
type withKey struct{}

func (withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+partsKey)
	return http.DefaultTransport.RoundTrip(r)
}

// followWithGo performs the steps of parts.py.
func followWithGo(t *testing.T, url string) (f followed) {
	t.Helper()
	http1 := &http.Client{Transport: withKey{}}
	card, err := agentcard.NewResolver(http1).Resolve(t.Context(), url+"/a2a/echo")
	if err != nil {
		t.Fatal(err)
	}
	client, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(http1))
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	part := a2a.NewRawPart(content)
	part.Filename, part.MediaType = "a.bin", "application/octet-stream"
	sent, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, part)})
	if err != nil {
		t.Fatal(err)
	}
	task, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: sent.(*a2a.Task).ID})
	if err != nil {
		t.Fatal(err)
	}
	back := task.Artifacts[0].Parts[0]
	address, ok := back.Content.(a2a.URL)
	if !ok {
		t.Fatalf("the part has %T", back.Content)
	}
	mark, _ := back.Metadata["parley.part"].(map[string]any)
	f = followed{Kind: "url", Name: back.Filename, Digest: mark["size"] == float64(len(content))}
	_, all := ask(t, http1, string(address), "")
	f.Same = bytes.Equal(all, content)
	code, some := ask(t, http1, string(address), "bytes=10-19")
	f.Ranged = code == http.StatusPartialContent && string(some) == "0123456789"
	f.Stranger, _ = ask(t, http.DefaultClient, string(address), "")
	return f
}

func ask(t *testing.T, c *http.Client, url, ranges string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ranges != "" {
		r.Header.Set("Range", ranges)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b
}
