package adminjson

// Curves is the answer of GET /api/v1/samples: the samples of a hub of the last hour.
type Curves struct {
	// StepMs is the time between two samples in milliseconds.
	StepMs int64 `json:"stepMs"`
	// Times are the times of the samples in milliseconds since 1970, in UTC, the oldest first.
	// Durations and rates are those of the step that ends then.
	Times []int64 `json:"times"`
	// Curves are the measured values.
	Curves []Curve `json:"curves"`
}

// Curve is one measured value over the last hour.
type Curve struct {
	// Name names the curve, such as "tasks.ended".
	Name string `json:"name"`
	// Unit is "1/s", "s", or empty for a number.
	Unit string `json:"unit"`
	// About is one line about it.
	About string `json:"about"`
	// Values are those at the times of the samples. A value that is not known is null.
	Values []*float64 `json:"values"`
}

// Find returns the curve with a name; nil without one.
func (c *Curves) Find(name string) *Curve {
	for i := range c.Curves {
		if c.Curves[i].Name == name {
			return &c.Curves[i]
		}
	}
	return nil
}
