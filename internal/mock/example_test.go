package mock_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/mock"
)

// In a test, mocktest.Start(t, script) does all of this.
func Example() {
	c, err := mock.Parse("weather.yaml", []byte(`
a2a_agents:
  - name: weather
    responses:
      - match: {contains: rome}
        response: Sunny.
      - protocol_error: UnsupportedOperation
`))
	if err != nil {
		log.Fatal(err)
	}
	s, err := mock.New(c, mock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	srv := httptest.NewServer(s)
	defer srv.Close()

	ctx := context.Background()
	agent, err := client.Dial(ctx, srv.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("What is it like in Rome?"))
	answer, err := agent.Send(ctx, &a2a.SendMessageRequest{Message: message})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.(*a2a.Task).Artifacts[0].Parts[0].Text())
	fmt.Println("asked:", s.Calls("SendMessage")[0].Text)
	// Output:
	// Sunny.
	// asked: What is it like in Rome?
}
