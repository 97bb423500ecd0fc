package check

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// stalls leaves some requests without an answer, or without its end.
func stalls(begin string, f func(*http.Request) bool) defect {
	return defect{http: func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if !f(r) {
			return false
		}
		if begin != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		return true
	}}
}

func TestNothingHangs(t *testing.T) {
	t.Parallel()
	notCard := func(r *http.Request) bool { return !isCard(r, "") }
	for name, d := range map[string]defect{
		"no answers":         stalls("", notCard),
		"streams of silence": stalls(": nothing\n\n", notCard),
		"half an event":      stalls("data: {", notCard),
		"streams that stay":  lingers(wire.SubscribeTask),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				o := everything
				o.defect = d
				r := checked(t, o)
				if took := time.Since(began); took > DefaultTimeout || r.OK() {
					t.Errorf("the check took %v, and is OK: %v", took, r.OK())
				}
			})
		})
	}
}

func TestRunEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := started(t, &features{defect: stalls("", func(r *http.Request) bool { return !isCard(r, "") })})
		o.Timeout = time.Minute
		r, err := Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "longer than 1m0s") || r == nil {
			t.Errorf("Run: %v, %v; want a report and the timeout", r, err)
		}
	})
}

// TestInterruptedRunBlamesNothing: the request that an interrupted check has not finished is no
// failure of the server.
func TestInterruptedRunBlamesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("interrupted")
		o := started(t, &features{defect: stalls("", func(r *http.Request) bool {
			if isCard(r, "") {
				return false
			}
			cancel(stopped)
			return true
		})})
		r, err := Run(ctx, o)
		if !errors.Is(err, stopped) || r == nil {
			t.Fatalf("Run = %v, %v; want a report and the cause of the interrupt", r, err)
		}
		for _, result := range r.Results {
			if result.Outcome == Fail {
				t.Errorf("%s has failed: %s", result.ID, result.Detail)
			}
		}
	})
}

// TestTasksThatEnd: requirements that need an open task do not depend on whether the agent or
// the check is faster.
func TestTasksThatEnd(t *testing.T) {
	t.Parallel()
	for ends, want := range map[time.Duration]Outcome{
		time.Nanosecond: NotOffered, time.Millisecond: NotOffered, settle - time.Nanosecond: NotOffered, 2 * settle: Pass, 0: Pass,
	} {
		t.Run(ends.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := everything
				o.ends = ends
				for _, r := range checked(t, o, "cancel.task", "cancel.stays", "subscribe.first", "subscribe.ends", "subscribe.broadcast", "subscribe.independent", "push.delivers").Results {
					if r.Outcome != want || want == NotOffered && !strings.Contains(r.Detail, "end by themselves") {
						t.Errorf("%s %s: %s %s, want %s", r.Interface, r.ID, r.Outcome, r.Detail, want)
					}
				}
			})
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := started(t, new(features))
		for _, url := range []string{"http://user:secret@nowhere.test", "ftp://hub.test", "hub.test:9"} {
			o.URL = url
			r, err := Run(t.Context(), o)
			if err == nil || r != nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("Run(%s): %v, %v", url, r, err)
			}
			if want := !strings.HasPrefix(url, "ftp"); errors.Is(err, ErrUnreachable) != want {
				t.Errorf("Run(%s): %v; is ErrUnreachable: %v, want %v", url, err, !want, want)
			}
		}
	})
}

// TestNoCard: a server without a card is judged, not refused.
func TestNoCard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := checked(t, features{defect: answer(404, "nothing here", isCard)})
		if r.OK() || len(r.Interfaces) != 0 || r.Results[0].ID != "card.found" || r.Results[0].Outcome != Fail {
			t.Errorf("the report is %+v", r)
		}
		for _, result := range r.Results[1:] {
			if result.Outcome == Pass {
				t.Errorf("%s passes without a card", result.ID)
			}
		}
	})
}

// TestCredentialsAreNotShown lets the server repeat the credential in each answer.
func TestCredentialsAreNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := everything
		o.defect.body = func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`"message":"task not found"`), []byte(`"message":"no task for `+o.key+`"`))
		}
		o.defect.result = func(op wire.Op, _ object, result any, err error) (any, error) {
			if op == cardOp {
				return result, err
			}
			return nil, apierror.New(a2a.ErrTaskNotFound, "task not found")
		}
		r := checked(t, o)
		var all bytes.Buffer
		for _, write := range []func(io.Writer) error{r.JSON, r.JUnit, func(w io.Writer) error { return r.Text(w, true) }} {
			if err := write(&all); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(all.String(), o.key) {
			t.Error("the credential is in the report")
		}
		if !strings.Contains(all.String(), "[redacted]") {
			t.Error("the report shows no place where the credential was")
		}
	})
}

// TestURLIsShownWithoutCredentials: the report contains the given URL without its credentials.
func TestURLIsShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := started(t, new(features))
		o.URL, o.Only = "http://user:secret@hub.test", []string{"card"}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := errors.Join(r.JSON(&b), r.Text(&b, true)); err != nil || strings.Contains(b.String(), "secret") {
			t.Errorf("the report shows the URL's credentials, or is none: %v\n%s", err, &b)
		}
	})
}

func sampleReport() *Report {
	q := func(id string, level Level) Requirement { return Requirement{id, level, "§1", "It is so."} }
	return &Report{URL: "http://sut.test", Results: []Result{
		{Requirement: q("a.pass", Must), Interface: "jsonrpc 1.0", Outcome: Pass},
		{Requirement: q("a.fail", Must), Interface: "jsonrpc 1.0", Outcome: Fail, Detail: "bad\x00 <x>", Evidence: []string{"> a\n< b\x1b"}},
		{Requirement: q("a.warn", Should), Interface: "rest 1.0", Outcome: Fail, Detail: "less bad"},
		{Requirement: q("a.none", Must), Interface: "rest 1.0", Outcome: NotOffered, Detail: "no"},
	}}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		known string
		want  bool
		marks []string
	}{
		{"none", `known: []`, false, []string{"pass", "FAIL", "FAIL", "not offered"}},
		{"all", `known: [{id: a.fail, reason: r}, {id: a.warn, reason: r}]`, true, []string{"pass", "known", "known", "not offered"}},
		{"one is missing", `known: [{id: a.fail, reason: r}]`, false, []string{"pass", "known", "FAIL", "not offered"}},
		{"another interface", `known: [{id: a.fail, reason: r}, {id: a.warn, reason: r, interfaces: [jsonrpc]}]`, false, []string{"pass", "known", "FAIL", "not offered"}},
		{"by binding", `known: [{id: a.fail, reason: r}, {id: a.warn, reason: r, interfaces: [rest]}]`, true, []string{"pass", "known", "known", "not offered"}},
		{"passes after all", `known: [{id: a.fail, reason: r}, {id: a.warn, reason: r}, {id: a.pass, reason: r}]`, false, []string{"PASSES AFTER ALL", "known", "known", "not offered"}},
		{"not offered", `known: [{id: a.fail, reason: r}, {id: a.warn, reason: r}, {id: a.none, reason: r}, {id: b.else, reason: r}]`, true, []string{"pass", "known", "known", "not offered"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			known, err := ReadKnown([]byte(tt.known))
			if err != nil {
				t.Fatal(err)
			}
			r := sampleReport()
			r.Accept(known)
			var marks []string
			for i := range r.Results {
				marks = append(marks, r.mark(&r.Results[i]))
			}
			if diff := cmp.Diff(tt.marks, marks); diff != "" || r.OK() != tt.want {
				t.Errorf("OK is %v, want %v; marks (-want +got):\n%s", r.OK(), tt.want, diff)
			}
		})
	}
}

func TestReadKnownRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"known: [{reason: r}]":                            "entry 1 has no id",
		"known: [{id: a}]":                                "a has no reason",
		"known: [{id: a, reason: r}, {id: a, reason: s}]": "listed twice",
		"known: [{id: a, reason: r, why: s}]":             "unknown field",
		"failures: []":                                    "unknown field",
		"known: [{id: a, reason: r, interfaces: [x]}, {id: a, reason: r, interfaces: [x, y]}]": "listed twice",
	} {
		if _, err := ReadKnown([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadKnown(%q): %v, want %q", text, err, want)
		}
	}
	if known, err := ReadKnown(nil); err != nil || len(known) != 0 {
		t.Errorf("ReadKnown of nothing: %v, %v", known, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := sampleReport().Text(&b, false); err != nil {
		t.Fatal(err)
	}
	want := `FAIL        jsonrpc 1.0 a.fail                   MUST   It is so. (§1)
    bad` + "\x00" + ` <x>

    > a
    < b` + "\x1b" + `

warn        rest 1.0    a.warn                   SHOULD It is so. (§1)
    less bad
MUST:   1 of 2 passed, 1 fail, 1 not offered
SHOULD: 0 of 1 passed, 1 warn
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := sampleReport().JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("JUnit: %v\n%s", err, &b)
	}
	want := junitSuites{XMLName: xml.Name{Local: "testsuites"}, Suites: []junitSuite{
		{Name: "jsonrpc 1.0", Tests: 2, Failures: 1, Time: "0.000", Cases: []junitCase{
			{Class: "jsonrpc-1.0", Name: "a.pass", Time: "0.000"},
			{Class: "jsonrpc-1.0", Name: "a.fail", Time: "0.000", Failure: &junitReason{Message: "bad <x>", Text: "> a\n< b"}},
		}},
		{Name: "rest 1.0", Tests: 2, Skipped: 2, Time: "0.000", Cases: []junitCase{
			{Class: "rest-1.0", Name: "a.warn", Time: "0.000", Skipped: &junitReason{Message: "warn: less bad"}},
			{Class: "rest-1.0", Name: "a.none", Time: "0.000", Skipped: &junitReason{Message: "not offered: no"}},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JUnit (-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := sampleReport().JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReport(), &got); diff != "" {
		t.Errorf("JSON does not bring the report back (-want +got):\n%s", diff)
	}
}

func TestInterfaces(t *testing.T) {
	t.Parallel()
	card, err := wire.Decode([]byte(`{
		"supportedInterfaces": [
			{"url": "u1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
			{"url": "u2", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
			{"url": "u3", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
			{"url": "u4", "protocolBinding": "https://example.com/own", "protocolVersion": "1.0"},
			{"url": "u5", "protocolBinding": "GRPC", "protocolVersion": "1.0.1"},
			{"url": "u6", "protocolBinding": "HTTP+JSON", "protocolVersion": "2.0"}
		],
		"protocolVersion": "0.3.0", "preferredTransport": "GRPC", "url": "u7",
		"additionalInterfaces": [{"url": "u8", "transport": "JSONRPC"}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []wire.Interface{
		{Binding: wire.JSONRPC, Version: "1.0", URL: "u1", Tenant: "t"},
		{Binding: wire.REST, Version: "0.3", URL: "u3"},
		{Binding: wire.GRPC, Version: "1.0", URL: "u5"},
		{Binding: wire.GRPC, Version: "0.3", URL: "u7"},
		{Binding: wire.JSONRPC, Version: "0.3", URL: "u8"},
	}
	if diff := cmp.Diff(want, offersOf(card, nil).all); diff != "" {
		t.Errorf("Interfaces (-want +got):\n%s", diff)
	}
	if got := offersOf(card, []wire.Binding{wire.GRPC}).all; len(got) != 2 || got[0].URL != "u5" || got[1].URL != "u7" {
		t.Errorf("Interfaces of gRPC: %v", got)
	}
}

func TestCardURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://a.test":              "http://a.test/.well-known/agent-card.json",
		"http://a.test/x/":           "http://a.test/x/.well-known/agent-card.json",
		"http://a.test/my-card.json": "http://a.test/my-card.json",
		"127.0.0.1:4100":             "http://127.0.0.1:4100/.well-known/agent-card.json",
		"a.test:4100":                "https://a.test:4100/.well-known/agent-card.json",
		"ftp://a.test":               "",
		"":                           "",
	} {
		if got, err := CardURL(in); got != want || (err == nil) != (want != "") {
			t.Errorf("CardURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// TestKeyStaysOffTheClear: a credential is not sent without TLS.
func TestKeyStaysOffTheClear(t *testing.T) {
	t.Parallel()
	r := &run{options: Options{Wire: wire.Options{Key: "k"}}, cardURL: "https://a.test/card.json"}
	i := wire.Interface{Binding: wire.JSONRPC, Version: "1.0", URL: "http://a.test/rpc"}
	if f := r.connect(context.Background(), i); f.err == nil || f.probe != nil {
		t.Errorf("connect: %+v, want an error", f)
	}
	r.options.Wire.Key = ""
	if f := r.connect(context.Background(), i); f.err != nil {
		t.Errorf("connect without a credential: %v", f.err)
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		only []string
		want bool
	}{
		{nil, true},
		{[]string{"push"}, true},
		{[]string{"push."}, true},
		{[]string{"push.get"}, true},
		{[]string{"pus"}, false},
		{[]string{"push.ge"}, false},
		{[]string{"send", "push.get"}, true},
	} {
		if got := selected(tt.only, "push.get"); got != tt.want {
			t.Errorf("selected(%q, push.get) = %v", tt.only, got)
		}
	}
}
