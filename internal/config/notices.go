package config

import "fmt"

// Notices describes the keys of the file that an earlier version had and that still work, each with
// the change to make.
func (c *Config) Notices() []string {
	var all []string
	switch w := c.Safety.WordsOfOthers; {
	case w == "":
	case c.Safety.UntrustedText != "":
		all = append(all, "safety.words_of_others has no effect beside safety.untrusted_text; remove it")
	default:
		all = append(all, fmt.Sprintf("safety.words_of_others has a new name; write safety: {untrusted_text: %s}", w))
	}
	if c.Limits.HalfOpen != 0 {
		all = append(all, "limits.half_open has no effect; remove it")
	}
	return all
}
