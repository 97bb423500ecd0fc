package console

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"t":         clean,
	"markdown":  markdown,
	"clock":     clock,
	"stamp":     stamp,
	"machine":   machine,
	"span":      span,
	"state":     stateWord,
	"tone":      tone,
	"bytes":     size,
	"short":     short,
	"hooktone":  hookTone,
	"hookstate": hookState,
	"number":    thousands,
	"money":     money,
	"quote":     quote,
	"queue":     queueOf,
	"literal":   literal,
	"forAgent":  agentActions,
	"forLetter": letterActions,
	"forAll":    allLetters,
	"forHook":   hookActions,
	"forKey":    keyActions,
	"to":        func(pairs ...any) template.URL { return template.URL(query(pairs...)) },             //nolint:gosec // url.Values has encoded it
	"query":     func(s string) template.URL { return template.URL(s) },                               //nolint:gosec // url.Values has encoded it
	"again":     func(f filter, pairs ...any) template.URL { return template.URL(f.Query(pairs...)) }, //nolint:gosec // url.Values has encoded it
	"ago":       ago,
	"took":      func(t adminjson.TaskInfo) string { return span(tookOf(&t)) },
	"silent":    func(t adminjson.TaskInfo) string { return span(silentOf(&t)) },
	"quiet":     func(t adminjson.TaskInfo) bool { return silentOf(&t) >= longSilent },
	"taskKey":   func(t adminjson.TaskInfo) string { return taskKey(string(t.TaskID), t.Owner) },
	"ended":     ended,
	"place":     func(page string, f filter) placed { return placed{page, f} },
	"scopeOf":   func(scope string) filter { return filter{"scope": scope} },
	"sum":       func(a, b int64) int64 { return a + b },
	"wide":      func(n int) int64 { return int64(n) },
	"add":       func(a, b int) int { return a + b },
	"share":     func(n, of int) float64 { return float64(n) / float64(max(of, 1)) },
	"failures":  failureTone,
	"lower":     strings.ToLower,
	"dayAfter":  dayAfter,
	"today":     func() string { return time.Now().UTC().Format(time.DateOnly) },
	"percent":   func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
	"millis":    func(n int64) string { return span(time.Duration(n) * time.Millisecond) },
	"seconds":   func(n int64) string { return span(time.Duration(n) * time.Second) },
	"part":      func(s scope, v any) scope { return scope{Token: s.Token, Admin: s.Admin, V: v} },
}

// layout is the content of every page around its own.
type layout struct {
	// Page is the name of the page, and Title that of the document.
	Page, Title         string
	Version             string
	Token               string
	Caller              string
	SignedIn, Anonymous bool
	Admin               bool
	// Waiting is the number of items of the inbox; empty for none.
	Waiting string
	// Body is the rendered content.
	Body template.HTML
}

// titles are the names of pages in the browser.
var titles = map[string]string{
	"overview":    "Overview",
	"tasks":       "Tasks",
	"task":        "Task",
	"entry-page":  "Entry",
	"compare":     "Compare",
	"webhooks":    "Webhooks",
	"queues":      "Queues",
	"dead":        "Dead letters",
	"audit":       "Audit",
	"conformance": "Conformance",
	"stop":        "Stop tasks",
	"try":         "Try it",
	"agents":      "Agents",
	"inbox":       "Inbox",
	"thread":      "Conversation",
	"calls":       "Calls",
	"costs":       "Costs",
	"keys":        "Keys",
	"policy":      "Policy",
	"signin":      "Sign in",
	"onward":      "One moment",
	"signedout":   "Signed out",
	"message":     "Parley",
}

// show answers with a page.
func (p *page) show(code int, name string, v any) {
	whole, err := p.whole(name, v)
	if err != nil {
		p.hub.log("a page of the console cannot be rendered", "page", name, "error", err)
		http.Error(p.w, "this page failed; the log of the hub has the reason", http.StatusInternalServerError)
		return
	}
	header := p.w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(whole)))
	p.w.WriteHeader(code)
	_, _ = p.w.Write(whole) // an error means that the browser has disconnected
}

// whole renders a page.
func (p *page) whole(name string, v any) ([]byte, error) {
	body, err := p.piece(name, v)
	if err != nil {
		return nil, err
	}
	l := layout{
		Page: titles[name], Title: titles[name], Version: p.hub.Version, Token: p.hub.token(p.session), SignedIn: p.session.key != "",
		Waiting: p.waiting(), Caller: p.caller.ID, Anonymous: p.caller.Anonymous, Admin: p.caller.Admin, Body: template.HTML(body), //nolint:gosec // rendered by a template
	}
	if own, ok := v.(interface{ title() string }); ok {
		l.Title = own.title()
	}
	if p.caller.Name != "" {
		l.Caller = p.caller.Name
	}
	var b bytes.Buffer
	err = p.hub.templates.ExecuteTemplate(&b, "layout", l)
	return b.Bytes(), err
}

func (h *Handler) log(text string, args ...any) {
	if h.Logger != nil {
		h.Logger.Error(text, args...)
	}
}

// scope is what every piece of a page knows beside its own content.
type scope struct {
	Token string
	Admin bool
	V     any
}

// piece renders a part of a page.
func (p *page) piece(name string, v any) ([]byte, error) {
	var b bytes.Buffer
	err := p.hub.templates.ExecuteTemplate(&b, name, scope{Token: p.hub.token(p.session), Admin: p.caller.Admin, V: v})
	return b.Bytes(), err
}

// clean returns a text of others with each character that a page cannot show, or that changes the
// direction of the text around it, as its code.
func clean(v any) string {
	s := fmt.Sprint(v)
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) || r == utf8.RuneError {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unseen reports whether a page must not show a character itself.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C,
		r == 0x2028, r == 0x2029, r == 0xFEFF, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// clock returns the time of day to the millisecond.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// stamp returns a date with the time to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// machine returns a time for machines.
func machine(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// span returns a duration with about three digits.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// ago returns the time since then, in words.
func ago(t time.Time) string {
	d := time.Since(t)
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}}
	for _, u := range units {
		if n := int(d / u.size); n == 1 {
			return "1 " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "now" // also for a clock that is ahead
}

// stateWord returns a state in words.
func stateWord(v any) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(fmt.Sprint(v), "TASK_STATE_"), "_", " "))
}

// tone returns the class of a state, which is one of a fixed list.
func tone(v any) string {
	return cmp.Or(tones[strings.ToUpper(strings.TrimPrefix(fmt.Sprint(v), "TASK_STATE_"))], "calm")
}

var tones = map[string]string{
	"COMPLETED":      "good",
	"UP":             "good",
	"ANSWERED":       "good",
	"APPROVED":       "good",
	"READY":          "good",
	"FAILED":         "bad",
	"REJECTED":       "bad",
	"DOWN":           "bad",
	"REFUSED":        "bad",
	"INPUT_REQUIRED": "ask",
	"AUTH_REQUIRED":  "ask",
	"OPEN":           "ask",
	"PAUSED":         "ask",
	"SUBMITTED":      "busy",
	"WORKING":        "busy",
}

// size returns a number of bytes in words.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// query returns the query of an address from names and values; empty values are omitted.
func query(pairs ...any) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if s := fmt.Sprint(pairs[i+1]); s != "" {
			v.Set(fmt.Sprint(pairs[i]), s)
		}
	}
	return v.Encode()
}

// short returns the beginning of an id.
func short(v any) string {
	s := []rune(clean(v))
	if len(s) > 13 {
		return string(s[:8]) + "…" + string(s[len(s)-4:])
	}
	return string(s)
}

// thousands returns a number with its digits in groups.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// money returns dollars; small amounts have more digits.
func money(usd float64) string {
	if usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// hookWords and hookTones are the words and the colours for the states of webhooks.
var (
	hookWords = map[string]string{"current": "up to date", "delivering": "delivering", "waiting": "waiting", "retrying": "retrying", "settled": "settled"}
	hookTones = map[string]string{"current": "good", "delivering": "busy", "waiting": "busy", "retrying": "ask", "settled": "calm"}
)

func hookState(s string) string { return cmp.Or(hookWords[s], clean(s)) }

func hookTone(s string) string { return cmp.Or(hookTones[s], "calm") }
