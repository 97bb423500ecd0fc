package treetest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// Limits of the code's measurements, without tests unless stated otherwise.
const (
	maxFile       = 600
	maxTestFile   = 1200
	maxMedian     = 11
	maxNinetieth  = 40
	longFunction  = 60
	maxFunction   = 120
	maxLongShare  = 0.03
	maxParams     = 4
	maxParamShare = 0.01
	maxMethods    = 3
	minSmallShare = 0.85
)

// sample returns n lines of a function body.
func sample(n int) string { return strings.Repeat("\tx++\n", n) }

func TestFileLength(t *testing.T) {
	t.Parallel()
	report(t, longFiles(load(t).sources), "split these files by reason to change")
}

func TestFileLengthRule(t *testing.T) {
	t.Parallel()
	long := "package a\n" + strings.Repeat("\n", maxFile)
	mustFind(t, longFiles([]*source{snippet(t, "a.go", long), snippet(t, "a_test.go", long)}), 1)
	longer := "package a\n" + strings.Repeat("\n", maxTestFile)
	mustFind(t, longFiles([]*source{snippet(t, "a_test.go", longer)}), 1)
}

func longFiles(sources []*source) []string {
	var problems []string
	for _, s := range sources {
		limit := maxFile
		if s.test {
			limit = maxTestFile
		}
		if s.lines > limit {
			problems = append(problems, fmt.Sprintf("%s: %d lines, want at most %d", s.path, s.lines, limit))
		}
	}
	return problems
}

func TestFunctionLength(t *testing.T) {
	t.Parallel()
	lengths, problems := functionLengths(load(t).code())
	t.Logf("%d functions: median %d lines, 90th percentile %d", len(lengths), percentile(lengths, 50), percentile(lengths, 90))
	report(t, problems, "split these functions, longest first, until the share is right")
}

func TestFunctionLengthRule(t *testing.T) {
	t.Parallel()
	short := strings.Repeat("func _() {\n}\n\n", 99)
	tests := []struct {
		name string
		code string
		want int
	}{
		{"short", short, 0},
		{"one over 60 in a hundred", short + "func _() {\n" + sample(60) + "}\n", 0},
		{"one over 120", short + "func _() {\n" + sample(119) + "}\n", 1},
		{"every one of 12", strings.Repeat("func _() {\n"+sample(10)+"}\n\n", 9), 1},
		{"a fifth of 41", short + strings.Repeat("func _() {\n"+sample(39)+"}\n\n", 25), 1},
		{"a twentieth over 60", short + strings.Repeat("func _() {\n"+sample(60)+"}\n\n", 5), 6},
	}
	for _, tt := range tests {
		_, problems := functionLengths([]*source{snippet(t, "a.go", "package a\n\n"+tt.code)})
		if len(problems) != tt.want {
			t.Errorf("%s: found %q, want %d problems", tt.name, problems, tt.want)
		}
	}
}

// functionLengths returns the sorted lengths of all functions, and the limits that they exceed.
func functionLengths(code []*source) (lengths []int, problems []string) {
	var long []string
	for _, s := range code {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.height(f)
			lengths = append(lengths, n)
			switch {
			case n > maxFunction:
				problems = append(problems, fmt.Sprintf("%s: %s has %d lines, want at most %d", s.at(f.Pos()), f.Name.Name, n, maxFunction))
			case n > longFunction:
				long = append(long, fmt.Sprintf("%s: %s has %d lines", s.at(f.Pos()), f.Name.Name, n))
			}
		}
	}
	slices.Sort(lengths)
	if got := percentile(lengths, 50); got > maxMedian {
		problems = append(problems, fmt.Sprintf("the median function has %d lines, want at most %d", got, maxMedian))
	}
	if got := percentile(lengths, 90); got > maxNinetieth {
		problems = append(problems, fmt.Sprintf("the 90th percentile of functions is %d lines, want at most %d", got, maxNinetieth))
	}
	if got := float64(len(long)) / float64(len(lengths)); got > maxLongShare {
		problems = append(problems, fmt.Sprintf("%.1f %% of the functions are over %d lines, want at most %.0f %%", 100*got, longFunction, 100*maxLongShare))
		problems = append(problems, long...)
	}
	return lengths, problems
}

// percentile returns the value below which p percent of the sorted values lie.
func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

func TestParameters(t *testing.T) {
	t.Parallel()
	report(t, manyParams(load(t).code()), "gather the parameters of these functions in a struct")
}

func TestParametersRule(t *testing.T) {
	t.Parallel()
	wide := "func _(a, b int, c, d string, e bool) {}\n"
	mustFind(t, manyParams([]*source{snippet(t, "a.go", "package a\n\n"+wide)}), 1)
	mustFind(t, manyParams([]*source{snippet(t, "a.go", "package a\n\nfunc _(a, b int, c, d string) {}\n")}), 0)
	many := strings.Repeat("func _() {}\n", 100)
	mustFind(t, manyParams([]*source{snippet(t, "a.go", "package a\n\n"+wide+many)}), 0)
}

func manyParams(code []*source) []string {
	var wide []string
	all := 0
	for _, s := range code {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			if n := f.Type.Params.NumFields(); n > maxParams {
				wide = append(wide, fmt.Sprintf("%s: %s has %d parameters", s.at(f.Pos()), f.Name.Name, n))
			}
		}
	}
	if float64(len(wide)) <= maxParamShare*float64(all) {
		return nil
	}
	return wide
}

func TestInterfaces(t *testing.T) {
	t.Parallel()
	report(t, largeInterfaces(load(t).code()), "make these interfaces smaller, or ask for less than all of them")
}

func TestInterfacesRule(t *testing.T) {
	t.Parallel()
	large := "type Large interface { A(); B(); C(); D() }\n"
	mustFind(t, largeInterfaces([]*source{snippet(t, "a.go", "package a\n\n"+large)}), 1)
	mustFind(t, largeInterfaces([]*source{snippet(t, "a.go", "package a\n\ntype S interface { A(); B(); C() }\n")}), 0)
	many := strings.Repeat("type _ interface { A() }\n", 9)
	mustFind(t, largeInterfaces([]*source{snippet(t, "a.go", "package a\n\n"+large+many)}), 0)
}

func largeInterfaces(code []*source) []string {
	var large []string
	all := 0
	for _, s := range code {
		ast.Inspect(s.file, func(n ast.Node) bool {
			i, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			all++
			if m := i.Methods.NumFields(); m > maxMethods {
				large = append(large, fmt.Sprintf("%s: an interface with %d methods", s.at(i.Pos()), m))
			}
			return true
		})
	}
	if float64(len(large)) <= (1-minSmallShare)*float64(all) {
		return nil
	}
	return large
}
