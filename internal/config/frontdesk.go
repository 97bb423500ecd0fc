package config

import (
	"time"

	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// FrontDesk configures the owner's assistant agents. Zero fields mean the defaults.
type FrontDesk struct {
	// Serve serves notify-user, query-availability and negotiate-meeting.
	Serve bool `yaml:"serve"`
	// Trust selects whether the agents are gated. The default is gated.
	Trust string `yaml:"trust" enum:"open,gated"`
	// Hours are the hours available for meetings, Monday to Friday. The default is 09:00-17:00.
	Hours string `yaml:"hours"`
	// TimeZone is the time zone of Hours. The default is UTC.
	TimeZone string `yaml:"time_zone"`
}

// Open reports whether the agents are not gated.
func (f *FrontDesk) Open() bool { return f.Trust != "" && f.Trust != gated }

// Times returns the hours available for meetings.
func (f *FrontDesk) Times() (h assistant.Hours, err error) {
	if f.Hours != "" {
		if h.From, h.To, err = assistant.ParseHours(f.Hours); err != nil {
			return h, err
		}
	}
	h.Zone, err = time.LoadLocation(f.TimeZone)
	return h, err
}

func checkFrontDesk(d *yamlfile.Decoder, f *FrontDesk) {
	if f.Hours != "" {
		if _, _, err := assistant.ParseHours(f.Hours); err != nil {
			d.Problem(nil, "front_desk.hours", "%s", err.Error())
		}
	}
	if _, err := time.LoadLocation(f.TimeZone); err != nil {
		d.Problem(nil, "front_desk.time_zone", "%q is not a time zone like Europe/Berlin", yamlfile.Clip(f.TimeZone))
	}
}
