package trust

import (
	"fmt"
	"strconv"
	"strings"
)

// Level is how far somebody is trusted. The zero Level is not one.
type Level int

// The levels, from the least to the most.
const (
	// Observe and Learn: what is asked for is not done; the person is told.
	Observe Level = iota + 1
	Learn
	// Propose: it is done when the person has approved it.
	Propose
	// Act: approved skills are done at once.
	Act
)

var levelNames = [...]string{Observe: "observe", Learn: "learn", Propose: "propose", Act: "act"}

// Valid reports whether l is one of the levels.
func (l Level) Valid() bool { return l >= Observe && l <= Act }

// String returns the name of the level in lower case.
func (l Level) String() string {
	if !l.Valid() {
		return "level " + strconv.Itoa(int(l))
	}
	return levelNames[l]
}

// ParseLevel reads the name of a level, in any case, or its number from 1.
func ParseLevel(text string) (Level, error) {
	text = strings.TrimSpace(text)
	for l := Observe; l <= Act; l++ {
		if strings.EqualFold(text, levelNames[l]) || text == strconv.Itoa(int(l)) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("level %.40q is not one of observe (1), learn (2), propose (3) and act (4)", text)
}

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}
