package endpoint

import (
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// ArtifactURI returns the address of an artifact.
func ArtifactURI(id a2a.TaskID, artifact a2a.ArtifactID) string {
	return TaskURI(id) + artifacts + url.PathEscape(string(artifact))
}
