package dialect_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

func TestAppendPushConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   op.ShownPush
		want string
	}{
		{
			op.ShownPush{TaskID: "t", ID: "p", URL: "https://u/?a=1&b=\"", Scheme: "Bearer"},
			`{"taskId":"t","id":"p","url":"https://u/?a=1&b=\"","authentication":{"scheme":"Bearer"}}`,
		},
		{op.ShownPush{TaskID: "t\n", ID: "ä", URL: "https://u"}, `{"taskId":"t\n","id":"ä","url":"https://u"}`},
	} {
		if got := string(dialect.AppendPushConfig(nil, &tc.in)); got != tc.want {
			t.Errorf("AppendPushConfig = %s, want %s", got, tc.want)
		}
	}
}

// The SDK's types and ProtoJSON read a page back, and know all of its members.
func TestAppendPushPage(t *testing.T) {
	t.Parallel()
	empty := string(dialect.AppendPushPage(nil, &op.PushPage{}))
	if want := `{"configs":[]}`; empty != want {
		t.Errorf("an empty page = %s, want %s", empty, want)
	}
	page := dialect.AppendPushPage(nil, &op.PushPage{
		Configs:       []op.ShownPush{{TaskID: "t", ID: "a", URL: "https://u"}, {TaskID: "t", ID: "b", URL: "https://v", Scheme: "Basic"}},
		NextPageToken: "b",
	})
	var sdk a2a.ListTaskPushConfigResponse
	if err := json.Unmarshal(page, &sdk); err != nil {
		t.Fatal(err)
	}
	wantSDK := a2a.ListTaskPushConfigResponse{
		Configs: []*a2a.PushConfig{
			{TaskID: "t", ID: "a", URL: "https://u"},
			{TaskID: "t", ID: "b", URL: "https://v", Auth: &a2a.PushAuthInfo{Scheme: "Basic"}},
		},
		NextPageToken: "b",
	}
	if diff := cmp.Diff(wantSDK, sdk); diff != "" {
		t.Errorf("the SDK reads it otherwise (-want +got):\n%s", diff)
	}
	got := new(pb.ListTaskPushNotificationConfigsResponse)
	if err := protojson.Unmarshal(page, got); err != nil {
		t.Fatal(err)
	}
	want := &pb.ListTaskPushNotificationConfigsResponse{
		Configs: []*pb.TaskPushNotificationConfig{
			{TaskId: "t", Id: "a", Url: "https://u"},
			{TaskId: "t", Id: "b", Url: "https://v", Authentication: &pb.AuthenticationInfo{Scheme: "Basic"}},
		},
		NextPageToken: "b",
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("ProtoJSON reads it otherwise (-want +got):\n%s", diff)
	}
}
