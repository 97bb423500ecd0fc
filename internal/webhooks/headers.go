package webhooks

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/push"
)

// parseSecrets reads signing secrets. The error does not repeat them.
func parseSecrets(texts []string) ([][]byte, error) {
	var keys [][]byte
	for i, s := range texts {
		key, err := push.ParseSecret(s)
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
	header["Webhook-Id"] = []string{id}
	header["Webhook-Timestamp"] = []string{strconv.FormatInt(at.Unix(), 10)}
	if len(d.secrets) > 0 {
		header["Webhook-Signature"] = []string{push.Sign(d.secrets, id, at, body)}
	}
}
