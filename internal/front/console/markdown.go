package console

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The time of the library grows with the square of the depth of lists and quotes, of the spans in one
// paragraph, and of the empty cells of a table. What exceeds these limits stays text.
const (
	maxDepth = 16
	maxSpans = 512
)

// converter converts Markdown with tables. It has no parsers for HTML and for addresses apart from their
// links, so both are text.
var converter = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(nested{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(nested{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(spans{parser.NewLinkParser()}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(spans{parser.NewEmphasisParser()}, 500),
			util.Prioritized(spans{extension.NewStrikethroughParser()}, 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(table{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(
		util.Prioritized(nodes{}, 100),
		util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
	)),
)

// nested parses lists or quotes up to maxDepth.
type nested struct{ parser.BlockParser }

func (p nested) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, r, pc)
}

// spans parses links or emphasis, up to maxSpans in a paragraph.
type spans struct{ parser.InlineParser }

func (p spans) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if parent.ChildCount() > maxSpans {
		return nil
	}
	return p.InlineParser.Parse(parent, r, pc)
}

func (p spans) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// table makes tables of paragraphs that have at least a byte for each cell: the library fills up
// short rows.
type table struct{ parser.ParagraphTransformer }

func (t table) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	columns, size := 0, 0
	for _, line := range p.Lines().Sliced(0, p.Lines().Len()) {
		columns = max(columns, 1+bytes.Count(line.Value(r.Source()), []byte("|")))
		size += line.Len()
	}
	if columns*p.Lines().Len() <= size {
		t.ParagraphTransformer.Transform(p, r, pc)
	}
}

// sanitizer removes everything but these elements. What others write has no attribute and no address.
var sanitizer = bluemonday.NewPolicy().
	AllowElements("p", "br", "hr", "h3", "h4", "h5", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td").
	AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")

// markdown returns a text in Markdown as elements: headings, paragraphs, lists, quotes, tables,
// code, emphasis and rules. HTML is text, and so is the address of a link or an image, because
// pages lead to no address of others.
func markdown(s string) template.HTML {
	var b bytes.Buffer
	if err := converter.Convert([]byte(strings.ReplaceAll(s, "\r\n", "\n")), &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(clean(s)) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(clean(strings.TrimSpace(sanitizer.SanitizeReader(&b).String()))) //nolint:gosec // sanitized
}

// nodes renders links and images as their label and their address, and headings below those of
// the page.
type nodes struct{}

func (nodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := []string{"h3", "h4", "h5"}[min(n.(*ast.Heading).Level, 3)-1]
		if entering {
			_, _ = w.WriteString("<" + tag + ">")
		} else {
			_, _ = w.WriteString("</" + tag + ">\n")
		}
		return ast.WalkContinue, nil
	})
	reg.Register(ast.KindLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return address(w, source, n, n.(*ast.Link).Destination, entering), nil
	})
	reg.Register(ast.KindImage, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return address(w, source, n, n.(*ast.Image).Destination, entering), nil
	})
	reg.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return address(w, source, n, n.(*ast.AutoLink).URL(source), entering), nil
	})
}

// address writes the address of a link after its label. A label that only repeats it is omitted.
func address(w util.BufWriter, source []byte, n ast.Node, to []byte, entering bool) ast.WalkStatus {
	label, ok := n.FirstChild().(*ast.Text)
	repeats := n.FirstChild() == nil || ok && n.ChildCount() == 1 && bytes.Equal(label.Value(source), to)
	if entering && !repeats {
		return ast.WalkContinue
	}
	switch {
	case !entering && repeats, len(to) == 0:
		return ast.WalkContinue
	case !repeats:
		_ = w.WriteByte(' ')
	}
	_, _ = w.WriteString("<code>")
	_, _ = w.Write(util.EscapeHTML(to))
	_, _ = w.WriteString("</code>")
	return ast.WalkSkipChildren
}
