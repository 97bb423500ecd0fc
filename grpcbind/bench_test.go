package grpcbind

import (
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

func BenchmarkDecodeSend(b *testing.B) {
	s := testService()
	r := &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "01a1fcd5-0b47-762b-9aac-787a109ea237", Role: pb.Role_ROLE_USER,
		Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "What is the weather in Lisbon tomorrow?"}}},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(b.Context(), &s.base, input{nil, r}, s.decoder.Send); err != nil {
			b.Fatal(err)
		}
	}
}
