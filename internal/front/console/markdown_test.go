package console

import (
	"encoding/json"
	"html/template"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// TestMarkdown checks the elements of each construct, and that everything else stays text.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"paragraphs", "a\nb\n\nc", "<p>a\nb</p><p>c</p>"},
		{"a kept line end", "a  \nb", "<p>a<br>\nb</p>"},
		{"headings", "# A #\n## B\n###### C\n#no", "<h3>A</h3><h4>B</h4><h5>C</h5><p>#no</p>"},
		{"emphasis", "*a* **b** _c_ __d__ ~~e~~", "<p><em>a</em> <strong>b</strong> <em>c</em> <strong>d</strong> <del>e</del></p>"},
		{"nested emphasis", "**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"},
		{"no emphasis", "a_b_c 2 * 3 * 4 **x", "<p>a_b_c 2 * 3 * 4 **x</p>"},
		{"code", "`a*b*` ``c`d`` `open", "<p><code>a*b*</code> <code>c`d</code> `open</p>"},
		{"a block of code", "```go\nx := *p\n\n# no\n```\nafter", "<pre><code>x := *p\n\n# no\n</code></pre><p>after</p>"},
		{"an open block of code", "~~~\nx", "<pre><code>x\n</code></pre>"},
		{"a list", "- a\n- b\n  more\n  - c\n\ntext", "<ul><li>a</li><li>b\nmore\n<ul><li>c</li></ul></li></ul><p>text</p>"},
		{"a numbered list", "1. a\n\n2. b\n\n7) c", `<ol><li><p>a</p></li><li><p>b</p></li></ol><ol start="7"><li>c</li></ol>`},
		{"a list by tabs", "* a\n\t* b", "<ul><li>a\n<ul><li>b</li></ul></li></ul>"},
		{"a list with code", "- a\n  ```\n  x\n  ```\n- b", "<ul><li>a\n<pre><code>x\n</code></pre></li><li>b</li></ul>"},
		{"a quote", "> a\n> > b\nc", "<blockquote><p>a</p><blockquote><p>b\nc</p></blockquote></blockquote>"},
		{"no quote after other spaces", "\v > a\n\u00a0> b", "<p>⟨U+000B⟩ &gt; a\n\u00a0&gt; b</p>"},
		{"a rule", "a\n\n---\n* * *", "<p>a</p><hr><hr>"},
		{"a table", "| a | b |\n|---|:-:|\n| 1 | **2** |\n\nend", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table><p>end</p>"},
		{"links", "[a *b*](https://x.example \"t\") [https://y.example](https://y.example) <https://z.example>", "<p>a <em>b</em> <code>https://x.example</code> <code>https://y.example</code> <code>https://z.example</code></p>"},
		{"an image", "![a](https://x.example/a.png)", "<p>a <code>https://x.example/a.png</code></p>"},
		{"no link", "[a] (b) [c", "<p>[a] (b) [c</p>"},
		{"escapes", `\*a\* \[b](c)`, "<p>*a* [b](c)</p>"},
		{"HTML", "<b onclick=x>&amp;</b>", "<p>&lt;b onclick=x&gt;&amp;&lt;/b&gt;</p>"},
		{"a block of HTML", "<div>\n\n**a** <!-- b -->\n</div>", "<p>&lt;div&gt;</p><p><strong>a</strong> &lt;!-- b --&gt;\n&lt;/div&gt;</p>"},
		{"an address with a script", "[a](javascript:x)", "<p>a <code>javascript:x</code></p>"},
		{"unseen characters", "a\u202eb&#x202e;", "<p>a⟨U+202E⟩b⟨U+202E⟩</p>"},
		{"a definition", "[a]\n\n[a]: https://x.example", "<p>[a]</p><p>[a]: https://x.example</p>"},
		{"a bare address", "https://x.example", "<p>https://x.example</p>"},
		{"nothing", "", ""},
	} {
		got := strings.ReplaceAll(strings.TrimSpace(string(markdown(tc.in))), ">\n<", "><")
		if got != tc.want {
			t.Errorf("%s: markdown(%q) =\n%s\nwant\n%s", tc.name, tc.in, got, tc.want)
		}
	}
}

// TestMarkdownLimits checks that lists and quotes, spans in a paragraph, and empty cells of a table are
// text beyond the limits.
func TestMarkdownLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, element string
		most        int
	}{
		{strings.Repeat("> ", 100) + "x", "<blockquote>", maxDepth},
		{strings.Repeat("- ", 100) + "x", "<ul>", maxDepth},
		{strings.Repeat("1. > ", 100) + "x", "<li>", maxDepth},
		{strings.Repeat("*a* ", 2*maxSpans), "<em>", maxSpans},
		{strings.Repeat("[a](b) ", 2*maxSpans), "<code>", maxSpans},
		{strings.Repeat("|a", 100) + "\n" + strings.Repeat("|-", 100) + strings.Repeat("\nx", 100), "<td>", 0},
	} {
		out := string(markdown(tc.in))
		if n := strings.Count(out, tc.element); n > tc.most || tc.most > 0 && n == 0 || len(out) > 8*len(tc.in) {
			t.Errorf("%.20q has %d times %s, want at most %d", tc.in, n, tc.element, tc.most)
		}
	}
}

// TestMarkdownCost checks that the time of a text does not grow with the square of its length, as that of
// the library without limits: a hostile text takes up to a thousand times as long as words.
func TestMarkdownCost(t *testing.T) {
	t.Parallel()
	pace := func(unit string) time.Duration {
		in := strings.Repeat(unit, maxPage/len(unit))
		begin := time.Now()
		markdown(in)
		return time.Since(begin)
	}
	words := min(pace("words of a text "), pace("words of a text "), pace("words of a text "))
	const tries = 10 // on a busy machine most of them may be slow
	for _, unit := range []string{
		"[", "<", "`", "*", "_", "**a ", "*a ", "![", "![a](", "[a](", "[a](<b", "> ", "- ", "1. ", "- a\n\n", "|", "|-|\n", "a|b\n-|-\n", "~~a", "`` ` ", "<a:// ", "\\", "#", "*a_b~~", "<!--", "[a]: b\n",
	} {
		got := pace(unit)
		for n := 1; n < tries && got > 1000*words; n++ {
			got = pace(unit)
		}
		if got > 1000*words {
			t.Errorf("%q takes %v, and words take %v", unit, got, words)
		}
	}
}

// checkContent fails if elements or attributes of a text are others than those of the console.
func checkContent(t *testing.T, in, out string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%q has the comment %q", in, n.Data)
		}
		if _, ok := hostiletest.Elements[n.Data]; n.Type == html.ElementNode && !ok {
			t.Errorf("%q has the element <%s>", in, n.Data)
		}
		for _, a := range n.Attr {
			if start, err := strconv.Atoi(a.Val); a.Key+"="+a.Val != "open=" && (n.Data != "ol" || a.Key != "start" || err != nil || start < 0) {
				t.Errorf("%q: <%s> has %s=%q", in, n.Data, a.Key, a.Val)
			}
		}
	}
}

// FuzzMarkdown checks that no text makes other elements.
func FuzzMarkdown(f *testing.F) {
	for _, s := range hostiletest.Texts {
		f.Add(s)
		f.Add("\v> " + s + "\n\f- " + s + "\n\u00a0```\n" + s + "\n\u2028# " + s + "\n\u0085---\n\v| " + s + "\n\v|-|")
		f.Add("- > **" + s + "**\n\n| " + s + " |\n|--|\n| `" + s + "` |\n[x](" + s + ")")
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkContent(t, s, string(markdown(s)))
	})
}

// FuzzFolded checks the same for trees of JSON.
func FuzzFolded(f *testing.F) {
	for _, s := range hostiletest.Texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(map[string]any{"pad": strings.Repeat(" ", foldSmall), s: []any{map[string]any{s: s}}})
		if err != nil {
			t.Fatal(err)
		}
		out := foldedHTML(t, b)
		if out == "" && len(b) <= maxText {
			t.Errorf("%s has no tree", b)
		}
		checkContent(t, s, out)
	})
}

// pieces are the templates of a console.
var pieces = sync.OnceValue(func() *template.Template { return parse(Root) })

// foldedHTML returns the elements of a value, empty if it has no tree.
func foldedHTML(t *testing.T, in []byte) string {
	t.Helper()
	tree, _ := folded(in)
	if tree == nil {
		return ""
	}
	var b strings.Builder
	if err := pieces().ExecuteTemplate(&b, "fold", tree); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFolded checks trees of JSON.
func TestFolded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", foldSmall)
	in := `{"b":{"deep":{"n":1.50,"none":[]}},"a":["` + long + `",null,true],"":{}}`
	want := `<details open><summary>object of 3</summary><ul>` +
		`<li><details open><summary><b>b</b> object of 1</summary><ul><li><details><summary><b>deep</b> object of 2</summary><ul><li><b>n</b> <code>1.50</code></li><li><b>none</b> <code>[]</code></li></ul></details></li></ul></details></li>` +
		`<li><details open><summary><b>a</b> array of 3</summary><ul><li><code>&#34;` + long + `&#34;</code></li><li><code>null</code></li><li><code>true</code></li></ul></details></li>` +
		`<li><code>{}</code></li></ul></details>`
	if got := foldedHTML(t, []byte(in)); got != want {
		t.Errorf("folded =\n%s\nwant\n%s", got, want)
	}
	for name, s := range map[string]string{
		"short": `{"a":1}`, "a string": `"` + long + `"`, "two values": `{"a":"` + long + `"} {}`, "open": `{"a":"` + long + `"`,
		"deep": strings.Repeat("[", 300) + strings.Repeat("]", 300), "wide": "[" + strings.Repeat("1,", foldNodes) + "1]", "long": `["` + strings.Repeat("x", maxText) + `"]`,
	} {
		if got, _ := folded([]byte(s)); got != nil {
			t.Errorf("%s: %+v, want no tree", name, got)
		}
	}
}
