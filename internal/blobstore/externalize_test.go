package blobstore_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
)

const base = "https://hub.example"

func newExternalizer(t testing.TB) *blobstore.Externalizer {
	t.Helper()
	return &blobstore.Externalizer{Store: openStore(t, t.TempDir()), Base: base, Threshold: 10, Max: 100}
}

// message returns a message with the given parts.
func message(list ...string) []byte {
	return []byte(`{"messageId":"m","role":"ROLE_USER","parts":[` + strings.Join(list, ",") + `],"x":1.50}`)
}

func rawPart(content, more string) string {
	return `{"raw":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `"` + more + `}`
}

func urlPart(address string) string {
	b, _ := json.Marshal(map[string]string{"url": address})
	return string(b)
}

const large = "eleven bytes and more"

func externalize(t testing.TB, k *blobstore.Externalizer, key blobstore.Key, body []byte) []byte {
	t.Helper()
	h := k.Begin(key)
	out, err := k.Externalize(h, body, true)
	if err != nil {
		t.Fatalf("Shed(%s) = %v", body, err)
	}
	h.Keep()
	return out
}

func noneLost(t testing.TB) func(blobstore.Digest, error) {
	return func(d blobstore.Digest, err error) {
		t.Helper()
		t.Errorf("part %s is lost: %v", d, err)
	}
}

func TestExternalizeAndFill(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]string{
		"bare":            {rawPart(large, "")},
		"with names":      {rawPart(large, `,"filename":"a.bin","mediaType":"image/png"`)},
		"with metadata":   {rawPart(large, `,"metadata":{"a":1.0,"b":{"c":null}},"more":[1]`)},
		"among others":    {`{"text":"x"}`, rawPart("small", ""), rawPart(large, ""), `{"data":null}`, urlPart("https://elsewhere.example/x")},
		"twice the same":  {rawPart(large, ""), rawPart(large, `,"filename":"b"`)},
		"of any length":   {rawPart(large+"1", ""), rawPart(large+"12", ""), rawPart(large+"123", "")},
		"without content": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newExternalizer(t)
			body := message(list...)
			got := externalize(t, k, one, body)
			if strings.Contains(string(got), base64.StdEncoding.EncodeToString([]byte(large))) {
				t.Errorf("Shed() left the bytes: %s", got)
			}
			if !json.Valid(got) {
				t.Errorf("Shed() is not JSON: %s", got)
			}
			if diff := cmp.Diff(string(body), string(k.Fill(one, got, noneLost(t)))); diff != "" {
				t.Errorf("Fill(Shed()) mismatch (-want +got):\n%s", diff)
			}
			task := `{"id":"t1","artifacts":[` + string(got) + `],"history":[` + string(got) + `],"status":{"state":"S","message":` + string(got) + `}}`
			want := strings.ReplaceAll(task, string(got), string(body))
			if diff := cmp.Diff(want, string(k.FillTask(one, []byte(task), noneLost(t)))); diff != "" {
				t.Errorf("FillTask() mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferenceOnTheWire(t *testing.T) {
	t.Parallel()
	k := newExternalizer(t)
	got := externalize(t, k, blobstore.Key{Owner: "alice", Task: "a/b c"}, message(rawPart(large, `,"filename":"a.bin","mediaType":"image/png","metadata":{"a":1}`)))
	var m struct {
		Parts []struct {
			URL, Filename, MediaType string
			Metadata                 map[string]any
		}
	}
	if err := json.Unmarshal(got, &m); err != nil {
		t.Fatal(err)
	}
	p := m.Parts[0]
	mark := p.Metadata["parley.part"].(map[string]any)
	digest := mark["sha256"].(string)
	want := base + "/v1/parts/a%2Fb%20c/" + digest
	if p.URL != want || p.Filename != "a.bin" || p.MediaType != "image/png" || p.Metadata["a"] != 1.0 || mark["size"] != 21.0 || mark["keptSeconds"] != 3600.0 {
		t.Errorf("reference = %+v, want the url %s", p, want)
	}
}

// Other addresses than those of the hub's parts are unchanged. Addresses of parts that the
// owner may not read are unchanged or refused.
func TestExternalizeAddresses(t *testing.T) {
	t.Parallel()
	k := newExternalizer(t)
	mine, theirs := put(t, k.Store, two, large), put(t, k.Store, other, "theirs, and long")
	k.Store.Keep(two, mine.Digest)
	good := k.URL(two.Task, mine.Digest)
	for _, address := range []string{
		"https://elsewhere.example/v1/parts/t2/" + mine.Digest.String(),
		strings.ToUpper(good), good + "/", good + "?x", good + "#x", strings.Replace(good, "https", "http", 1),
		strings.Replace(good, "hub.example", "hub.example.evil", 1), strings.Replace(good, "//", "//a@", 1),
		strings.Replace(good, "/v1/", "//v1/", 1), base + "/v1/parts/t2", base + "/v1/parts//" + mine.Digest.String(),
	} {
		body := message(urlPart(address))
		h := k.Begin(one)
		got, err := k.Externalize(h, body, true)
		if err != nil || string(got) != string(body) {
			t.Errorf("Shed(%s) = %s, %v, want no change", address, got, err)
		}
		h.Drop()
		if filled := k.Fill(one, body, nil); string(filled) != string(body) {
			t.Errorf("Fill(%s) = %s, want no change", address, filled)
		}
	}
	for _, address := range []string{
		k.URL(other.Task, theirs.Digest), k.URL(one.Task, mine.Digest), k.URL("missing", mine.Digest), k.URL(two.Task, blobstore.Digest{}),
	} {
		body := message(`{"text":"x"}`, urlPart(address))
		h := k.Begin(one)
		_, err := k.Externalize(h, body, true)
		var at *blobstore.PartError
		if !errors.Is(err, blobstore.ErrNotFound) || !errors.As(err, &at) || at.Index != 1 {
			t.Errorf("Shed(%s) = %v, want ErrNotFound of part 1", address, err)
		}
		got, err := k.Externalize(h, body, false)
		if err != nil || string(got) != string(body) {
			t.Errorf("Shed(%s) without links = %s, %v, want no change", address, got, err)
		}
		h.Drop()
		if filled := k.Fill(one, body, nil); string(filled) != string(body) {
			t.Errorf("Fill(%s) = %s, want no change", address, filled)
		}
	}
	got := externalize(t, k, one, message(urlPart(good)))
	if want := k.URL(one.Task, mine.Digest); !strings.Contains(string(got), want) {
		t.Errorf("Shed(%s) = %s, want %s in it", good, got, want)
	}
	if filled := k.Fill(one, got, noneLost(t)); string(filled) != string(message(rawPart(large, ""))) {
		t.Errorf("Fill(%s) = %s", got, filled)
	}
	if filled := k.Fill(one, message(urlPart(good)), noneLost(t)); string(filled) != string(message(urlPart(good))) {
		t.Errorf("Fill() of the address of another task = %s, want no change", filled)
	}
	want := map[int]a2a.TaskID{1: "t2"}
	if diff := cmp.Diff(want, k.Addresses(message(`{"text":"`+good+`"}`, urlPart(good), urlPart(good+"/")))); diff != "" {
		t.Errorf("Addresses() mismatch (-want +got):\n%s", diff)
	}
}

// A forged mark gives no access to parts of other owners.
func TestForgedMark(t *testing.T) {
	t.Parallel()
	k := newExternalizer(t)
	theirs := put(t, k.Store, other, large)
	body := message(`{"url":"https://old.example/v1/parts/t1/` + theirs.Digest.String() + `","metadata":{"parley.part":{}}}`)
	if got := k.Fill(one, body, nil); string(got) != string(body) {
		t.Errorf("Fill() = %s", got)
	}
	if got := k.Fill(other, body, noneLost(t)); !strings.Contains(string(got), `"raw"`) {
		t.Errorf("Fill() of a hub that had another address = %s", got)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	k := newExternalizer(t)
	body := message(rawPart(large, ""), rawPart(strings.Repeat("x", 101), ""))
	h := k.Begin(one)
	_, err := k.Externalize(h, body, true)
	var size *blobstore.TooLargeError
	var at *blobstore.PartError
	if !errors.As(err, &size) || *size != (blobstore.TooLargeError{Size: 101, Max: 100}) || !errors.As(err, &at) || at.Index != 1 {
		t.Errorf("Shed() = %v", err)
	}
	h.Drop()
	if tasks, contents := k.Store.(*blobstore.Folder).Len(); tasks+contents > 0 {
		t.Errorf("of a message that was refused, %d parts are left", contents)
	}
	if err := k.Check(body); !errors.As(err, &size) {
		t.Errorf("Check() = %v", err)
	}
	if err := k.Check(message(rawPart(strings.Repeat("x", 100), ""))); err != nil {
		t.Errorf("Check() of the largest = %v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	k := newExternalizer(t)
	got := externalize(t, k, one, message(`{"text":"`+base+`/v1/parts/t1/"}`, rawPart(large, "")))
	d := put(t, k.Store, one, large).Digest
	if !k.Names(one, got, d) || k.Names(two, got, d) || k.Names(one, got, blobstore.Digest{}) {
		t.Errorf("Names() of %s", got)
	}
}

// Addresses created by the hub parse to the part, and parsing others never panics.
func FuzzPath(f *testing.F) {
	f.Add("t1", "t1/"+strings.Repeat("0a", 32))
	f.Add("a/b%2F\x00", "%2e%2e/"+strings.Repeat("0A", 32))
	f.Add("..", "%zz/"+strings.Repeat("00", 32)+"/")
	k := &blobstore.Externalizer{Base: base}
	f.Fuzz(func(t *testing.T, id, tail string) {
		if id != "" {
			address := k.URL(a2a.TaskID(id), blobstore.Digest{1})
			u, err := url.Parse(address)
			if err != nil {
				t.Fatalf("URL(%q) = %s: %v", id, address, err)
			}
			got, d, ok := blobstore.ParsePath(strings.TrimPrefix(u.EscapedPath(), blobstore.PathPrefix))
			if !ok || string(got) != id || d != (blobstore.Digest{1}) || u.Host != "hub.example" {
				t.Errorf("ParsePath of %s = %q, %s, %t", address, got, d, ok)
			}
		}
		name, d, ok := blobstore.ParsePath(tail)
		if !ok {
			return
		}
		if name == "" || !strings.HasSuffix(tail, "/"+d.String()) {
			t.Errorf("ParsePath(%q) = %q, %s", tail, name, d)
		}
	})
}

// For any parts, the output of Shed is valid JSON, and Fill restores the input.
func FuzzExternalize(f *testing.F) {
	f.Add(`{"a":1}`, "name", "text/plain", []byte(large))
	f.Add(`{"parley.part":{"sha256":"x"}}`, "\"\\", "", []byte("short"))
	f.Add(`null`, "", "/v1/parts/", []byte("0123456789012"))
	k := newExternalizer(f)
	f.Fuzz(func(t *testing.T, meta, name, media string, content []byte) {
		if !json.Valid([]byte(meta)) || len(content) > 100 {
			return
		}
		var object map[string]json.RawMessage
		_ = json.Unmarshal([]byte(meta), &object)
		if object == nil || object[blobstore.MetadataKey] != nil || len(object) == 0 {
			object = map[string]json.RawMessage{"a": []byte("1")}
		}
		part, err := json.Marshal(map[string]any{"raw": content, "filename": name, "mediaType": media, "metadata": object})
		if err != nil || content == nil {
			return
		}
		body := message(string(part))
		got := externalize(t, k, one, body)
		if !json.Valid(got) {
			t.Fatalf("Shed(%s) = %s", body, got)
		}
		var want, filled any
		if json.Unmarshal(body, &want) != nil || json.Unmarshal(k.Fill(one, got, noneLost(t)), &filled) != nil {
			t.Fatalf("Fill(%s) is not JSON", got)
		}
		if diff := cmp.Diff(want, filled); diff != "" {
			t.Errorf("Fill(Shed()) mismatch (-want +got):\n%s", diff)
		}
	})
}
