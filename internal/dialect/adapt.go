package dialect

// Codes that not every dialect knows, and what stands for them there.
const (
	codeNotFound       = -32001
	codeNotCancelable  = -32002
	codeUnsupported    = -32004
	codeNeedsExtension = -32008
)

// ParseShape returns the dialect with the given name, such as "v0.3", and whether there
// is one.
func ParseShape(name string) (Shape, bool) {
	for s := V1; s < numShapes; s++ {
		if shapeNames[s] == name {
			return s, true
		}
	}
	return V1, false
}

// Adapt gives a report the code that callers of a dialect know: v0.3 has none for an
// extension that is required, and PromptKit none for a task that cannot be canceled.
func (s Shape) Adapt(r *Report) {
	switch {
	case s == V03 && r.Code == codeNeedsExtension:
		r.Code = codeUnsupported
	case s == PromptKit && r.Code == codeNotCancelable:
		r.Code = codeNotFound
	}
}
