package push

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// parseSecrets reads signing secrets. The error does not repeat them.
func parseSecrets(texts []string) ([][]byte, error) {
	var keys [][]byte
	for i, s := range texts {
		key, err := ParseSecret(s)
		if err != nil {
			return nil, fmt.Errorf("signing secret %d: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// setHeaders sets the headers of Standard Webhooks.
func (d *Dispatcher) setHeaders(header http.Header, id string, body []byte) {
	at := time.Now()
	header[headerID] = []string{id}
	header[headerTimestamp] = []string{strconv.FormatInt(at.Unix(), 10)}
	if len(d.secrets) > 0 {
		header[headerSignature] = []string{Sign(d.secrets, id, at, body)}
	}
}
