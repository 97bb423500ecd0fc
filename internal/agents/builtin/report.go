package builtin

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// reportWords is the largest number of words in a report.
const reportWords = 24

// report yields a text and an image about the words of the message.
func report(_ context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc) {
	all := strings.Fields(agent.Text(ec.Message))
	words := all[:min(len(all), reportWords)]
	chart, err := drawChart(words)
	if err != nil {
		yield(nil, fmt.Errorf("report: draw chart: %w", err))
		return
	}
	text := a2a.NewTextPart(writeReport(words, len(all)))
	text.MediaType, text.Filename = markdown, "report.md"
	picture := a2a.NewRawPart(chart)
	picture.MediaType, picture.Filename = pngImage, "chart.png"
	emit(yield,
		agent.Status(ec, a2a.TaskStateWorking),
		agent.Artifact(ec, &a2a.Artifact{
			ID: "report", Name: "report.md", Description: "The words of the message and their lengths",
			Parts: a2a.ContentParts{text},
		}),
		agent.Artifact(ec, &a2a.Artifact{
			ID: "chart", Name: "chart.png", Description: "A bar for each word, as high as the word is long",
			Parts: a2a.ContentParts{picture},
		}),
		agent.Status(ec, a2a.TaskStateCompleted),
	)
}

// writeReport returns the report on words, the first of total, in Markdown.
func writeReport(words []string, total int) string {
	var b strings.Builder
	noun := "words"
	if total == 1 {
		noun = "word"
	}
	fmt.Fprintf(&b, "# Report\n\nThe message has %d %s.\n", total, noun)
	if len(words) == 0 {
		return b.String()
	}
	b.WriteString("\n| Word | Letters |\n|---|---|\n")
	for _, w := range words {
		fmt.Fprintf(&b, "| %s | %d |\n", strings.ReplaceAll(w, "|", `\|`), utf8.RuneCountInString(w))
	}
	return b.String()
}

// Dimensions of the chart in pixels.
const (
	barWidth  = 12
	barGap    = 4
	barMost   = 96
	perLetter = 8
)

func drawChart(words []string) ([]byte, error) {
	width := barGap + max(1, len(words))*(barWidth+barGap)
	img := image.NewPaletted(image.Rect(0, 0, width, barMost+2*barGap), color.Palette{
		color.White,
		color.RGBA{R: 0x22, G: 0x66, B: 0xaa, A: 0xff},
	})
	for i, w := range words {
		height := min(barMost, perLetter*utf8.RuneCountInString(w))
		left := barGap + i*(barWidth+barGap)
		for y := range height {
			for x := range barWidth {
				img.SetColorIndex(left+x, barGap+barMost-1-y, 1)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
