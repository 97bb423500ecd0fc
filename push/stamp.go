package push

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// parseSecrets reads signing secrets.
func parseSecrets(texts []string) ([][]byte, error) {
	var keys [][]byte
	for i, s := range texts {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil || len(key) < 24 {
			return nil, fmt.Errorf("signing secret %d is not whsec_ and at least 24 bytes of base64", i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// stamp sets the headers of Standard Webhooks.
func (d *Dispatcher) stamp(header http.Header, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	header["Webhook-Id"] = []string{id}
	header["Webhook-Timestamp"] = []string{at}
	var signatures []string
	for _, key := range d.secrets {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) > 0 {
		header["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
	}
}
