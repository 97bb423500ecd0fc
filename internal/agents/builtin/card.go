package builtin

import "github.com/a2aproject/a2a-go/v2/a2a"

// version is the version of all built-in agents.
const version = "1.0.0"

// Media types in the cards.
const (
	plainText = "text/plain"
	markdown  = "text/markdown"
	anyJSON   = "application/json"
	pngImage  = "image/png"
)

// newCard returns the card of an agent with one skill. The agent has the input and output modes
// of the skill.
func newCard(skill a2a.AgentSkill) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:               skill.ID,
		Description:        skill.Description,
		Version:            version,
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  skill.InputModes,
		DefaultOutputModes: skill.OutputModes,
		Skills:             []a2a.AgentSkill{skill},
	}
}

func echoCard() *a2a.AgentCard {
	return newCard(a2a.AgentSkill{
		ID:          "echo",
		Name:        "Echo",
		Description: "Streams the text of a message back, word by word. Other parts are returned unchanged.",
		Tags:        []string{"echo", "test", "streaming"},
		Examples:    []string{"hello, world"},
		InputModes:  []string{plainText, anyJSON, "*/*"},
		OutputModes: []string{plainText, anyJSON, "*/*"},
	})
}

func clockCard() *a2a.AgentCard {
	return newCard(a2a.AgentSkill{
		ID:          "clock",
		Name:        "Clock",
		Description: "Returns the time as structured data, in UTC or in the time zone that the message names.",
		Tags:        []string{"clock", "time", "data"},
		Examples:    []string{"what time is it?", "Europe/Berlin"},
		InputModes:  []string{plainText, anyJSON},
		OutputModes: []string{anyJSON, plainText},
	})
}

func interviewCard() *a2a.AgentCard {
	return newCard(a2a.AgentSkill{
		ID:          "interview",
		Name:        "Interview",
		Description: "Asks questions, two by default, one per turn, and ends with an artifact of the answers.",
		Tags:        []string{"interview", "test", "multi-turn"},
		Examples:    []string{"interview me", "ask 3 questions"},
		InputModes:  []string{plainText, anyJSON},
		OutputModes: []string{plainText, anyJSON},
	})
}

func slowCard() *a2a.AgentCard {
	return newCard(a2a.AgentSkill{
		ID:          "slow",
		Name:        "Slow",
		Description: "Works for a number of seconds, five by default, and reports its progress. It can be canceled at any moment.",
		Tags:        []string{"slow", "test", "cancel", "progress"},
		Examples:    []string{"work for 10 seconds", "1.5"},
		InputModes:  []string{plainText},
		OutputModes: []string{plainText},
	})
}

func reportCard() *a2a.AgentCard {
	return newCard(a2a.AgentSkill{
		ID:          "report",
		Name:        "Report",
		Description: "Reports on the words of a message in two artifacts: a text in Markdown and a chart as an image.",
		Tags:        []string{"report", "test", "files"},
		Examples:    []string{"the quick brown fox"},
		InputModes:  []string{plainText},
		OutputModes: []string{markdown, pngImage},
	})
}
