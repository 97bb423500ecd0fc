package transcript

import (
	"regexp"
	"strings"
	"testing"
)

const (
	id1 = "6f1f2f3f-0000-4000-8000-00000000000a"
	id2 = "6f1f2f3f-0000-4000-8000-00000000000b"
)

func newNames(masks ...Mask) *names {
	return &names{masks: masks, ids: map[string]string{}, values: map[string]string{}}
}

func TestHideAndResolve(t *testing.T) {
	t.Parallel()
	n := newNames(
		Mask{"$TOKEN", regexp.MustCompile(`"next":"([\w-]*)"`)},
		Mask{"$URL", regexp.MustCompile(regexp.QuoteMeta("http://127.0.0.1:80"))},
	)
	for _, step := range []struct{ answer, hidden, request, resolved string }{
		{"nothing", "nothing", "/$1?t=$TOKEN&at=$TIME", "/$1?t=$TOKEN&at=$TIME"},
		{
			id2 + " " + id1 + " " + id2 + " 2026-01-02T03:04:05.678Z", "$1 $2 $1 $TIME",
			"$1 $2 $3 $10 $TIME", id2 + " " + id1 + " $3 $10 2026-01-02T03:04:05.678Z",
		},
		{`{"next":"p-1","link":"http://127.0.0.1:80/?p-1"}`, `{"next":"$TOKEN","link":"$URL/?$TOKEN"}`, "$TOKENx $URL/", "p-1x http://127.0.0.1:80/"},
		{`{"next":""} {"next":"p-2"} ` + id1, `{"next":""} {"next":"$TOKEN"} $2`, "$TOKEN $schema $ $1", "p-2 $schema $ " + id2},
		{"2026-01-02T03:04:05Z 6f1f2f3f-0000-4000-8000", "2026-01-02T03:04:05Z 6f1f2f3f-0000-4000-8000", "$TOKEN", "p-2"},
	} {
		if got := n.hide(step.answer); got != step.hidden {
			t.Errorf("hide(%q) = %q, want %q", step.answer, got, step.hidden)
		}
		if got := n.resolve(step.request); got != step.resolved {
			t.Errorf("resolve(%q) = %q, want %q", step.request, got, step.resolved)
		}
	}
}

func TestTwelfthIDIsNotTheFirst(t *testing.T) {
	t.Parallel()
	n := newNames()
	for c := 'a'; c < 'm'; c++ {
		digit := string("0123456789ab"[c-'a'])
		n.hide(strings.Repeat(digit, 8) + "-0000-4000-8000-000000000000")
	}
	if got, want := n.resolve("$12"), "bbbbbbbb-0000-4000-8000-000000000000"; got != want {
		t.Errorf("resolve($12) = %s, want %s", got, want)
	}
}

func TestOneNameForAllIDs(t *testing.T) {
	t.Parallel()
	n := newNames(Mask{"$ID", IDs})
	if got, want := n.hide(id1+" "+id2), "$ID $ID"; got != want {
		t.Errorf("hide() = %q, want %q", got, want)
	}
	if got := n.resolve("$ID $1"); got != id2+" $1" {
		t.Errorf("resolve() = %q, want the last id and no first one", got)
	}
}

func TestNamesReachAcrossAStory(t *testing.T) {
	t.Parallel()
	file := story(t, `-- request --
POST /
-- response --
201

made $1
-- request --
GET /things/$1
If: $1

{"id":"$1"}
-- response --
200

GET /things/$1 ["If: $1"] {"id":"$1"}
`)
	made := func(r Request) Response {
		if r.Method == "POST" {
			return Response{Code: 201, Body: "made " + id1}
		}
		if r.Path != "/things/"+id1 || r.Headers[0] != "If: "+id1 || r.Body != `{"id":"`+id1+`"}` {
			t.Errorf("request = %+v, want the id in it", r)
		}
		return Response{Code: 200, Body: "GET " + r.Path + ` ["` + r.Headers[0] + `"] ` + r.Body}
	}
	s := Suite{Start: func(*testing.T, Story) Server { return Server{Do: made} }}
	if err := s.check(t, file, false); err != nil {
		t.Error(err)
	}
}
