package console

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// TestMarkdown checks the elements of each construct, and that everything else stays text.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"paragraphs", "a\nb\n\nc", "<p>a\nb</p><p>c</p>"},
		{"a kept line end", "a  \nb", "<p>a  <br>\nb</p>"},
		{"headings", "# A #\n## B\n###### C\n#no", "<h3>A</h3><h4>B</h4><h5>C</h5><p>#no</p>"},
		{"emphasis", "*a* **b** _c_ __d__ ~~e~~", "<p><em>a</em> <strong>b</strong> <em>c</em> <strong>d</strong> <del>e</del></p>"},
		{"nested emphasis", "**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"},
		{"no emphasis", "a_b_c 2 * 3 * 4 **x", "<p>a_b_c 2 * 3 * 4 **x</p>"},
		{"code", "`a*b*` ``c`d`` `open", "<p><code>a*b*</code> <code>c`d</code> `open</p>"},
		{"a block of code", "```go\nx := *p\n\n# no\n```\nafter", "<pre>x := *p\n\n# no</pre><p>after</p>"},
		{"an open block of code", "~~~\nx", "<pre>x</pre>"},
		{"a list", "- a\n- b\n  more\n  - c\n\ntext", "<ul><li>a</li><li>b\nmore<ul><li>c</li></ul></li></ul><p>text</p>"},
		{"a numbered list", "1. a\n\n2. b\n3) c", "<ol><li>a</li><li>b</li><li>c</li></ol>"},
		{"a list by tabs", "* a\n\t* b", "<ul><li>a<ul><li>b</li></ul></li></ul>"},
		{"a list with code", "- a\n  ```\n  x\n  ```\n- b", "<ul><li>a<pre>x</pre></li><li>b</li></ul>"},
		{"a quote", "> a\n> > b\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"},
		{"a quote after other spaces", "\v > a\n\u00a0> b", "<blockquote><p>a\nb</p></blockquote>"},
		{"a rule", "a\n\n---\n* * *", "<p>a</p><hr><hr>"},
		{"a table", "| a | b |\n|---|:-:|\n| 1 | **2** |\nend", `<div class="scroll"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div><p>end</p>`},
		{"links", "[a *b*](https://x.example \"t\") [https://y.example](https://y.example) <https://z.example>", "<p>a <em>b</em> <code>https://x.example</code> <code>https://y.example</code> <code>https://z.example</code></p>"},
		{"an image", "![a](https://x.example/a.png)", "<p>a <code>https://x.example/a.png</code></p>"},
		{"no link", "[a] (b) [c", "<p>[a] (b) [c</p>"},
		{"escapes", `\*a\* \[b](c)`, "<p>*a* [b](c)</p>"},
		{"HTML", "<b onclick=x>&amp;</b>", "<p>&lt;b onclick=x&gt;&amp;amp;&lt;/b&gt;</p>"},
		{"an address with a script", "[a](javascript:x)", "<p>a <code>javascript:x</code></p>"},
		{"unseen characters", "a\u202eb", "<p>a⟨U+202E⟩b</p>"},
		{"nothing", "", ""},
	} {
		if got := string(markdown(tc.in)); got != tc.want {
			t.Errorf("%s: markdown(%q) =\n%s\nwant\n%s", tc.name, tc.in, got, tc.want)
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
			if !slices.Contains([]string{"class=scroll", "open="}, a.Key+"="+a.Val) {
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
		out := string(folded(b))
		if out == "" && len(b) <= maxText {
			t.Errorf("%s has no tree", b)
		}
		checkContent(t, s, out)
	})
}

// TestMarkdownCost checks that texts which look for an end that does not come, or comes late, are
// searched a number of times that does not grow with their length.
func TestMarkdownCost(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"[", "<", "`", "*", "_", "**a ", "*a ", "![", "[a](", "> ", "- ", "1. ", "|", "|-|\n", "~~a", "`` ` ", "<a:// ", "\\", "#", "*a_b~~"} {
		in := strings.Repeat(unit, maxPage/len(unit)) + "]>`*_)"
		w := new(markdownWriter)
		w.document(in)
		if w.Len() > 64*len(in) || w.searched > 64*len(in) {
			t.Errorf("%q makes %d bytes of %d, and %d were searched", unit, w.Len(), len(in), w.searched)
		}
	}
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
	if got := string(folded([]byte(in))); got != want {
		t.Errorf("folded =\n%s\nwant\n%s", got, want)
	}
	for name, s := range map[string]string{
		"short": `{"a":1}`, "a string": `"` + long + `"`, "two values": `{"a":"` + long + `"} {}`, "open": `{"a":"` + long + `"`,
		"deep": strings.Repeat("[", 300) + strings.Repeat("]", 300), "wide": "[" + strings.Repeat("1,", foldNodes) + "1]", "long": `["` + strings.Repeat("x", maxText) + `"]`,
	} {
		if got := folded([]byte(s)); got != "" {
			t.Errorf("%s: a tree of %d bytes", name, len(got))
		}
	}
}
