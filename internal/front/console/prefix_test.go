package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/front/console"
	"github.com/parley-a2a/parley/internal/secret/openid"
)

// TestPrefix: every address of the console begins with the path of the public URL.
func TestPrefix(t *testing.T) {
	t.Parallel()
	h := &console.Handler{
		Hub:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
		PublicURL: "https://x.example/hub/", Providers: []*openid.Provider{{Name: "corp"}},
	}
	defer h.Close()
	ask := func(path string, headers ...string) (*http.Response, string) {
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), w.Body.String()
	}
	for path, want := range map[string]string{
		"/console":          "/hub/console/",
		"/console/task?a=b": "/hub/console/sign-in?next=%2Fconsole%2Ftask%3Fa%3Db",
	} {
		if resp, _ := ask(path); resp.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", path, resp.Header.Get("Location"), want)
		}
	}
	resp, page := ask("/console/sign-in?next=/hub/console/task%3Fa%3Db")
	for _, want := range []string{
		`action="/hub/console/sign-in"`, `value="/console/task?a=b"`, `href="/hub/console/sign-in/openid/corp/start?next=%2Fconsole%2Ftask%3Fa%3Db"`,
		`src="/hub/console/assets/live.js"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page to sign in lacks %s:\n%s", want, page)
		}
	}
	resp2, again := ask("/console/task", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if got := resp2.Header.Get("Refresh"); got != "0; url=/hub/console/task" {
		t.Errorf("a link elsewhere leads to %q", got)
	}
	for _, c := range append(resp.Cookies(), resp2.Cookies()...) {
		if c.Path != "/hub/console/" {
			t.Errorf("cookie %s has the path %s", c.Name, c.Path)
		}
	}
	if wrong := regexp.MustCompile(`="/console[^"]*"`).FindAllString(strings.ReplaceAll(page+again, `value="/console`, ""), -1); wrong != nil {
		t.Errorf("the pages have %q", wrong)
	}
}
