package registry

import "maps"

// known has what parley.yaml may say only if the program has a part: keys, and values of keys after
// an equals sign. The values of the map are the names of the parts.
var known = map[string]string{
	"ApiKeys":                    "rockbot",
	"agents[].dialect=rockbot":   "rockbot",
	"agents[].dialect=promptkit": "promptkit",
	"agents[].rockbot":           "rockbot",
	"directory.agents_file":      "protoworkstacean",
	"directory.specs":            "awaken",
	"directory.well_known":       "rockbot",
	"profile=awaken":             "awaken",
	"rockbot":                    "rockbot",
	"telemetry.rockbot_names":    "rockbot",
}

// Known returns the keys and values of all parts of Parley, with the names of the parts.
func Known() map[string]string { return maps.Clone(known) }

// Absent explains a key of parley.yaml that the program does not have because it was built without a
// part, such as "agents[].url", or a value of a key, such as "log.level=debug". The result is empty if
// no part of Parley has it.
func Absent(key string) string {
	if name := known[key]; name != "" {
		return "this program was built without " + name
	}
	return ""
}
