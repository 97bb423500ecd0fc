package builtin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// clock answers with the current time. The zone is the field "zone" of a data part, or the
// whole text if it looks like the name of a zone ("Europe/Berlin", "UTC"). Any other text is a
// question for the time in UTC. An unknown zone is rejected.
func clock(_ context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc) {
	zone, err := time.LoadLocation(zoneName(ec.Message))
	if err != nil {
		problem := "unknown time zone " + quoted(zoneName(ec.Message))
		emit(yield, agent.Status(ec, a2a.TaskStateRejected, a2a.NewTextPart(problem)))
		return
	}
	now := time.Now().In(zone)
	text := now.Format(time.RFC3339)
	data := a2a.NewDataPart(map[string]any{
		"time": text,
		"unix": now.Unix(),
		"zone": zone.String(),
	})
	data.MediaType = anyJSON
	emit(yield,
		agent.Status(ec, a2a.TaskStateWorking),
		agent.Artifact(ec, &a2a.Artifact{ID: "time", Name: "time", Description: "The time now", Parts: a2a.ContentParts{data, a2a.NewTextPart(text)}}),
		agent.Status(ec, a2a.TaskStateCompleted),
	)
}

// zoneName returns the time zone that m requests.
func zoneName(m *a2a.Message) string {
	if v, ok := dataField(m, "zone"); ok {
		name, _ := v.(string)
		return name
	}
	text := strings.TrimSpace(agent.Text(m))
	if strings.Contains(text, "/") && !strings.ContainsAny(text, " \t\n?") {
		return text
	}
	return "UTC"
}

// quoted returns s in quotation marks, cut to a length that fits into a sentence.
func quoted(s string) string {
	const most = 64
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}
