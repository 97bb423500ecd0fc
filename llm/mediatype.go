package llm

import (
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Kind is the sort of content that a media type stands for.
type Kind uint8

// The kinds of content. KindFile is that of all other media types.
const (
	KindFile Kind = iota
	KindText
	KindImage
	KindAudio
	KindVideo
)

// KindOf returns the kind of a media type such as "image/png"; parameters do not matter.
// JSON is a KindFile: its parts are data.
func KindOf(mediaType string) Kind {
	main, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(mediaType)), "/")
	switch main {
	case "text":
		return KindText
	case "image":
		return KindImage
	case "audio":
		return KindAudio
	case "video":
		return KindVideo
	}
	return KindFile
}

// imageTypes are the media types of images by the endings of their names: the same on
// every machine.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".bmp": "image/bmp", ".avif": "image/avif",
}

// imageAt returns the media type of the image at a URL, as far as its name says it.
func imageAt(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return imageTypes[strings.ToLower(path.Ext(u.Path))]
}

// essence returns a media type in lower case without its parameters.
func essence(mediaType string) string {
	main, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(main))
}

// dataURL returns bytes as a data URL, and false if the media type cannot stand in one,
// which is octets then.
func dataURL(mediaType string, raw []byte) (string, bool) {
	ok := true
	mediaType = strings.TrimSpace(mediaType)
	if mediaType == "" {
		mediaType = octets
	} else if _, _, err := mime.ParseMediaType(mediaType); err != nil || strings.ContainsAny(mediaType, `,"`) {
		mediaType, ok = octets, false
	}
	return "data:" + mediaType + ";base64," + encode(raw), ok
}

const (
	octets = "application/octet-stream"
	// anImage is the media type of an image about which nothing else is known.
	anImage = "image/*"
)

// readDataURL returns the media type and the bytes of a data URL in base64.
func readDataURL(s string) (mediaType string, raw []byte, problem string) {
	rest, found := strings.CutPrefix(s, "data:")
	if !found {
		return "", nil, "is no data URL"
	}
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return "", nil, "is a data URL without a comma"
	}
	mediaType, found = strings.CutSuffix(head, ";base64")
	if !found {
		return "", nil, "is a data URL that is not in base64"
	}
	raw, err := decode(body)
	if err != nil {
		return "", nil, "is no valid base64"
	}
	return strings.TrimSpace(mediaType), raw, ""
}

// Reply returns what the agent has answered with: the parts of the artifacts of a task,
// or, if it has none, those of the message of its status. A nil task has none.
func Reply(t *a2a.Task) a2a.ContentParts {
	if t == nil {
		return nil
	}
	var parts a2a.ContentParts
	for _, a := range t.Artifacts {
		if a != nil {
			parts = append(parts, a.Parts...)
		}
	}
	if len(parts) == 0 && t.Status.Message != nil {
		return t.Status.Message.Parts
	}
	return parts
}

// NoReply returns what a reader is shown in place of the reply of an agent that has said
// nothing: the name of the agent and the state of its task, such as "quinn: completed".
func NoReply(agent, state string) string { return agent + ": " + state }
