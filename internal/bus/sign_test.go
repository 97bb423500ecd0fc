package bus

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
)

// full returns an envelope of the hub in which every member is set.
func full(t *testing.T, hub string) *Envelope {
	t.Helper()
	e := &Envelope{
		Version: Version, ID: "e1", Type: "job.work", Time: 1764000000000, Source: "hub/" + hub, Destination: "worker/w",
		ReplyTo: "hub.control." + hub, Correlation: "c", Task: "t", Owner: "alice", Epoch: 3, Seq: 4, Deadline: 1764000300000,
		Chain: []string{"a", "b"}, Label: "caller", Trace: map[string]string{"traceparent": "00-1-2-01"},
		Principal:   &auth.Principal{ID: "alice", Roles: []string{"r"}, Claims: map[string]string{"k": "v"}},
		ContentType: "application/json", Reason: "dead", Queue: "agent.task.a", Signature: &Signature{},
		Body: json.RawMessage(`{"n":1.0,"s":"<a> \u00e9 \ud83d\ude00","z":[null,true,false]}`),
	}
	for f, v := range reflect.ValueOf(e).Elem().Fields() {
		if v.IsZero() {
			t.Fatalf("the test's envelope has no %s; set it", f.Name)
		}
	}
	return e
}

func newSigner(t *testing.T, hub string) *Signer {
	t.Helper()
	s, err := NewSigner(hub, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keyring(t *testing.T, keys ...HubKey) *Keyring {
	t.Helper()
	r, err := NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// signed returns a full envelope as received, and the keyring that trusts its hub.
func signed(t *testing.T) (*Envelope, *Keyring) {
	t.Helper()
	s := newSigner(t, "h1")
	e := full(t, "h1")
	if err := s.Sign(e); err != nil {
		t.Fatal(err)
	}
	return travel(t, e), keyring(t, s.HubKey())
}

// travel returns e as a receiver decodes it.
func travel(t *testing.T, e *Envelope) *Envelope {
	t.Helper()
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e, err = Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVerify(t *testing.T) {
	t.Parallel()
	e, keys := signed(t)
	if err := keys.Verify(e); err != nil {
		t.Errorf("Verify = %v, want nil", err)
	}
}

// Another spelling of the same JSON changes nothing.
func TestVerifyIgnoresTheSpelling(t *testing.T) {
	t.Parallel()
	e, keys := signed(t)
	e.Body = json.RawMessage("{ \"z\" : [null, true,\n false], \"s\" : \"\\u003ca> é \U0001F600\", \"n\":1.0 }")
	if err := keys.Verify(travel(t, e)); err != nil {
		t.Errorf("Verify = %v, want nil", err)
	}
}

// uncovered are the members that a signature does not cover.
var uncovered = []string{"Signature", "Reason", "Queue"}

// Each member counts, including those of the principal, and a missing one is noticed.
func TestVerifyNoticesEachMember(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Envelope]().Fields() {
		for how, change := range map[string]func(reflect.Value){"changed": alter, "removed": reflect.Value.SetZero} {
			e, keys := signed(t)
			change(reflect.ValueOf(e).Elem().FieldByIndex(f.Index))
			err := keys.Verify(e)
			if slices.Contains(uncovered, f.Name) {
				if f.Name != "Signature" && err != nil {
					t.Errorf("%s %s: %v, want nil: buses set it", f.Name, how, err)
				}
				continue
			}
			if !errors.Is(err, ErrSignature) {
				t.Errorf("%s %s: Verify = %v, want ErrSignature", f.Name, how, err)
			}
		}
	}
	for f := range reflect.TypeFor[auth.Principal]().Fields() {
		if f.Tag.Get("json") == "-" {
			continue // it does not travel
		}
		e, keys := signed(t)
		alter(reflect.ValueOf(e.Principal).Elem().FieldByIndex(f.Index))
		if err := keys.Verify(e); !errors.Is(err, ErrSignature) {
			t.Errorf("Principal.%s: Verify = %v, want ErrSignature", f.Name, err)
		}
	}
}

// alter gives v another value of its type.
func alter(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"n":1}`)
	case *map[string]string:
		*x = map[string]string{"other": "value"}
	case *[]string:
		*x = append(*x, "more")
	case **auth.Principal:
		*x = &auth.Principal{ID: "mallory"}
	case **Signature:
		*x = &Signature{Key: (*x).Key, Value: make([]byte, 64)}
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		default:
			panic("alter: a member of type " + v.Type().String())
		}
	}
}

func TestVerifyNoticesEachValueOfTheBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"n":1,"s":"<a> é 😀","z":[null,true,false]}`,
		`{"n":1.0,"s":"<a> é 😀","z":[null,true]}`,
		`{"n":1.0,"s":"<a> é 😀","z":[null,false,true]}`,
		`{"n":1.0,"s":"<a> é 😀","z":[true,null,false]}`,
		`{"n":1.0,"s":"<a> é 😀 ","z":[null,true,false]}`,
		`{"n":"1.0","s":"<a> é 😀","z":[null,true,false]}`,
		`{"n":1.0,"S":"<a> é 😀","z":[null,true,false]}`,
		`{"n":1.0,"s":"<a> é 😀","z":[null,true,false],"more":null}`,
		`{"n":1.0,"s":"<a> é 😀","z":[[null,true,false]]}`,
		`[]`, `null`,
	} {
		e, keys := signed(t)
		e.Body = json.RawMessage(body)
		if err := keys.Verify(e); !errors.Is(err, ErrSignature) {
			t.Errorf("body %s: Verify = %v, want ErrSignature", body, err)
		}
	}
}

func TestVerifyReportsTheReason(t *testing.T) {
	t.Parallel()
	other := newSigner(t, "h1")
	for name, tc := range map[string]struct {
		change func(*Envelope, *Keyring) error
		want   string
	}{
		"not signed": {func(e *Envelope, _ *Keyring) error { e.Signature = nil; return nil }, "is not signed"},
		"other key":  {func(e *Envelope, _ *Keyring) error { return other.Sign(e) }, `key "` + other.HubKey().ID() + `" is not trusted`},
		"other key under the name of the trusted one": {func(e *Envelope, _ *Keyring) error {
			key := e.Signature.Key
			err := other.Sign(e)
			e.Signature.Key = key
			return err
		}, "the content was changed or signed with another key"},
		"key of another trusted hub": {func(e *Envelope, r *Keyring) error {
			h2, err := NewSigner("h2", nil)
			if err != nil {
				return err
			}
			if err := (&Signer{hub: "h1", key: h2.key, id: h2.id}).Sign(e); err != nil {
				return err
			}
			return r.Add(h2.HubKey())
		}, `is of hub "h2"`},
		"cut":   {func(e *Envelope, _ *Keyring) error { e.Signature.Value = e.Signature.Value[:63]; return nil }, "the content was changed"},
		"empty": {func(e *Envelope, _ *Keyring) error { e.Signature.Value = nil; return nil }, "the content was changed"},
	} {
		e, keys := signed(t)
		if err := tc.change(e, keys); err != nil {
			t.Fatal(err)
		}
		err := keys.Verify(travel(t, e))
		if !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `"e1"`) {
			t.Errorf("%s: Verify = %v, want ErrSignature with the envelope and %q", name, err, tc.want)
		}
	}
	e, _ := signed(t)
	if err := new(Keyring).Verify(e); !errors.Is(err, ErrSignature) {
		t.Errorf("a zero Keyring: Verify = %v, want ErrSignature", err)
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	s := newSigner(t, "h1")
	for want, e := range map[string]*Envelope{
		`source is "hub/h2", not "hub/h1"`: {ID: "e1", Type: "job.work", Source: "hub/h2"},
		"body is not UTF-8":                {ID: "e1", Type: "job.work", Source: "hub/h1", Body: json.RawMessage("\"\xff\"")},
		"unexpected end of JSON input":     {ID: "e1", Type: "job.work", Source: "hub/h1", Body: json.RawMessage(`{"a":`)},
	} {
		err := s.Sign(e)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || e.Signature != nil {
			t.Errorf("Sign = %v with signature %v, want ErrInvalid with %q and none", err, e.Signature, want)
		}
	}
}

func TestHubKeyText(t *testing.T) {
	t.Parallel()
	k := newSigner(t, "h1").HubKey()
	got, err := ParseHubKey(k.String())
	if err != nil || !reflect.DeepEqual(got, k) {
		t.Errorf("ParseHubKey(%s) = %v, %v", k, got, err)
	}
	for text, want := range map[string]string{
		"":        "must be HUB:KEY",
		"h1":      "must be HUB:KEY",
		"h1:!":    "illegal base64",
		"h1:AAAA": "3 bytes instead of 32",
		strings.Replace(k.String(), "h1", "h 1", 1): "letters, digits",
	} {
		if _, err := ParseHubKey(text); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseHubKey(%q): %v, want ErrInvalid with %q", text, err, want)
		}
	}
}

func TestKeyringKnows(t *testing.T) {
	t.Parallel()
	r := keyring(t, newSigner(t, "h1").HubKey())
	if !r.Knows("h1") || r.Knows("h2") {
		t.Errorf("Knows(h1), Knows(h2) = %v, %v, want true, false", r.Knows("h1"), r.Knows("h2"))
	}
	if _, err := NewKeyring(HubKey{Hub: "h", Public: []byte("short")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("NewKeyring with a short key: %v, want ErrInvalid", err)
	}
}

// The form is part of the contract: a change of it breaks every worker.
func TestForm(t *testing.T) {
	t.Parallel()
	e := &Envelope{Version: 2, ID: "é", Type: "job.deny", Time: 5, Source: "hub/h", Body: json.RawMessage(`{"b":[1.50,-2E3,true,false,null,""],"a":"\ud800x\ud83d\ude00"}`)}
	got, err := e.form()
	want := "parley-bus-1\n{4:body{1:a8:\uFFFDx\U0001F6001:b[#1.50;#-2E3;tfn0:]}2:id2:é6:source5:hub/h4:time#5;4:type8:job.deny1:v#2;}"
	if err != nil || string(got) != want {
		t.Errorf("form = %q, %v\nwant   %q", got, err, want)
	}
}

func BenchmarkSign(b *testing.B) {
	s, err := NewSigner("h1", nil)
	if err != nil {
		b.Fatal(err)
	}
	e := &Envelope{ID: "e1", Type: "job.work", Source: "hub/h1", Body: json.RawMessage(`{"a":"` + strings.Repeat("x", 500) + `"}`)}
	for b.Loop() {
		if err := s.Sign(e); err != nil {
			b.Fatal(err)
		}
	}
}
