package rawjson

// nameOf unquotes a member name. Frequent names of the protocol need no allocation.
func nameOf(quoted []byte) string {
	if len(quoted) >= 2 {
		if s := known(quoted[1 : len(quoted)-1]); s != "" {
			return s
		}
	}
	s, _ := String(quoted)
	return s
}

// known returns b as a constant, or the empty string.
func known(b []byte) string {
	for _, name := range names[min(len(b), len(names)-1)] {
		if string(b) == name {
			return name
		}
	}
	return ""
}

// names are the frequent member names by their length.
var names = func() (byLen [20][]string) {
	for _, s := range []string{
		"id", "raw", "url", "text", "data", "role", "kind", "name", "task",
		"parts", "state", "skill", "append", "result", "method", "params",
		"tenant", "status", "taskId", "history", "jsonrpc", "message",
		"metadata", "filename", "artifact", "mediaType", "contextId",
		"messageId", "lastChunk", "artifacts", "timestamp", "extensions",
		"artifactId", "description", "statusUpdate", "historyLength",
		"configuration", "artifactUpdate", "referenceTaskIds",
		"returnImmediately", "acceptedOutputModes",
	} {
		byLen[len(s)] = append(byLen[len(s)], s)
	}
	return byLen
}()
