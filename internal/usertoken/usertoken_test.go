package usertoken_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/usertoken"
)

func TestTokenIsNotShown(t *testing.T) {
	t.Parallel()
	tok := usertoken.New("s3cret")
	holder := struct {
		Token usertoken.Token
		inner usertoken.Token
	}{tok, tok}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "token", tok, "holder", holder, "at", &holder)
	}
	b, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v %s", tok, tok, tok, tok, tok, holder, holder, holder, b) + log.String()
	if strings.Contains(all, "s3cret") || tok.Reveal() != "s3cret" {
		t.Errorf("the token is shown: %s", all)
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	usertoken.Found(ctx, "nobody wants it")
	var s usertoken.Slot
	usertoken.Found(usertoken.Collect(ctx, &s), "mine")
	if got := s.Token().Reveal(); got != "mine" {
		t.Errorf("the slot has %q", got)
	}
	if got := usertoken.From(usertoken.With(ctx, s.Token())).Reveal(); got != "mine" {
		t.Errorf("the context has %q", got)
	}
	if usertoken.With(ctx, usertoken.New("")) != ctx || usertoken.From(ctx).Reveal() != "" {
		t.Error("no token is one")
	}
}
