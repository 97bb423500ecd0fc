package trust

import (
	"fmt"
	"strconv"
	"strings"
)

// Level is a trust level. The zero Level is invalid.
type Level int

// Trust levels, lowest first.
const (
	// Observe and Learn do not perform requests; the person is notified.
	Observe Level = iota + 1
	Learn
	// Propose performs a request after the person has approved it.
	Propose
	// Act performs approved skills without asking.
	Act
)

var levelNames = [...]string{Observe: "observe", Learn: "learn", Propose: "propose", Act: "act"}

// Valid reports whether l is one of the constants.
func (l Level) Valid() bool { return l >= Observe && l <= Act }

// String returns the name of the level in lower case.
func (l Level) String() string {
	if !l.Valid() {
		return "level " + strconv.Itoa(int(l))
	}
	return levelNames[l]
}

// ParseLevel parses the name of a level, in any case, or its number from 1.
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
