package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	r := Call("SendMessage", `{"a":"`+Mark+`","b":"`+Mark+`"}`)
	other := r.Clone()
	other.With(1)
	got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.With(0x123456789abcdef0))))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"a":"123456789abcdef0","b":"123456789abcdef0"}}`
	if string(body) != want || got.Method != "POST" || got.URL.Path != "/" {
		t.Errorf("request %s %s with body\n%s\nwant POST / with\n%s", got.Method, got.URL, body, want)
	}
	if bytes.Equal(r.bytes, other.bytes) {
		t.Error("a clone shares the bytes of its request")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(Get("/readyz").With(7))))
	if err != nil || got.URL.Path != "/readyz" {
		t.Errorf("request = %v, %v", got, err)
	}
}
