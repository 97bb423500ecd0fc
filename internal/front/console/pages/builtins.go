package pages

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// builtins are the functions of text/template that the console uses, and those by which
// html/template escapes.
var builtins = Funcs{
	{"and", noFunction},
	{"or", noFunction},
	{"eq", func(a any, others ...any) bool { return compared(a, others, 0) }},
	{"ne", func(a, b any) bool { return !compared(a, []any{b}, 0) }},
	{"gt", func(a, b any) bool { return compared(a, []any{b}, 1) }},
	{"lt", func(a, b any) bool { return compared(a, []any{b}, -1) }},
	{"not", func(v any) bool { return !truth(reflect.ValueOf(v)) }},
	{"printf", fmt.Sprintf},
	{"len", func(v any) int { return concrete(reflect.ValueOf(v)).Len() }},
	{"index", index},

	{"_html_template_htmlescaper", htmlEscaped},
	{"_html_template_rcdataescaper", attributeEscaped},
	{"_html_template_attrescaper", attributeEscaped},
	{"_html_template_urlescaper", urlEscaped},
	{"_html_template_urlnormalizer", urlNormalized},
	{"_html_template_urlfilter", urlFiltered},
}

// noFunction stands for and, or: see execution.value.
func noFunction() any { return nil }

// compared reports whether a and one of others compare as want says: both are texts, or whole numbers.
func compared(a any, others []any, want int) bool {
	for _, b := range others {
		if order(reflect.ValueOf(a), reflect.ValueOf(b)) == want {
			return true
		}
	}
	return false
}

// order compares texts or whole numbers. Other values differ, and neither is less.
func order(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint() && b.CanInt() && b.Int() >= 0:
		return cmp.Compare(a.Uint(), uint64(b.Int()))
	}
	return 2
}

// index returns the value of a key, and the zero value for one that is missing.
func index(m any, key string) any {
	v := reflect.ValueOf(m)
	if found := v.MapIndex(reflect.ValueOf(key)); found.IsValid() {
		return found.Interface()
	}
	return reflect.Zero(v.Type().Elem()).Interface()
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	if at := reflect.ValueOf(v); at.Kind() == reflect.Pointer {
		if _, ok := v.(fmt.Stringer); !ok && !at.IsNil() {
			return text(at.Elem().Interface())
		}
	}
	return fmt.Sprint(v)
}

var special = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// htmlEscaped escapes a value between elements, unless it is markup.
func htmlEscaped(v any) string {
	if markup, ok := v.(HTML); ok {
		return string(markup)
	}
	return attributeEscaped(v)
}

// attributeEscaped escapes every value, also markup, for an attribute in quotes or the title.
func attributeEscaped(v any) string { return special.Replace(text(v)) }

// urlFiltered replaces an address whose scheme could run a script.
func urlFiltered(v any) any {
	if _, ok := v.(URL); ok {
		return v
	}
	s := text(v)
	scheme, _, found := strings.Cut(s, ":")
	if !found || strings.Contains(scheme, "/") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "mailto") {
		return s
	}
	return "#ZgotmplZ" // as html/template
}

// urlEscaped encodes a part of a query; of a URL only that which no URL may have.
func urlEscaped(v any) string {
	_, encoded := v.(URL)
	return percent(text(v), encoded)
}

// urlNormalized encodes that which no URL may have.
func urlNormalized(v any) string { return percent(text(v), true) }

func percent(s string, whole bool) string {
	var b []byte
	for i := range len(s) {
		c := s[i]
		keep := "-._~"
		if whole {
			keep = "-._~!#$&*+,/:;=?@[]"
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 ||
			whole && c == '%' && i+2 < len(s) && hex(s[i+1]) && hex(s[i+2]) {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02x", c)
		}
	}
	return string(b)
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
