package llm

import (
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Kind is the kind of content that a media type describes.
type Kind uint8

// The kinds of content. All other media types have KindFile.
const (
	KindFile Kind = iota
	KindText
	KindImage
	KindAudio
	KindVideo
)

// KindOf returns the kind of a media type such as "image/png". It ignores parameters. JSON has
// KindFile, because its parts are data.
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

// imageTypes maps file extensions to the media types of images. It is fixed, so that the result
// is the same on every machine.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".bmp": "image/bmp", ".avif": "image/avif",
}

// imageAt returns the media type of the image at a URL by its file extension; empty if that is
// unknown.
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

// dataURL returns bytes as a data URL. If the media type is not allowed there, it uses octets
// instead and returns false.
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
	// anImage is the media type of an image of unknown format.
	anImage = "image/*"
)

// readDataURL returns the media type and the bytes of a data URL in base64.
func readDataURL(s string) (mediaType string, raw []byte, problem string) {
	rest, found := strings.CutPrefix(s, "data:")
	if !found {
		return "", nil, "is not a data URL"
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
		return "", nil, "is not valid base64"
	}
	return strings.TrimSpace(mediaType), raw, ""
}

// Reply returns the parts of an agent's reply: those of the artifacts of the task or, if it has
// no artifacts, those of its status message. A nil task has none.
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

// NoReply returns the text that stands in for an empty reply of an agent: its name and the
// state of its task, such as "quinn: completed".
func NoReply(agent, state string) string { return agent + ": " + state }
