package bustest

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/bus"
)

var topicTests = []testCase{
	{"TopicReachesAll", testTopicReachesAll},
	{"TopicReachesNobodyElse", testTopicReachesNobodyElse},
	{"TopicKeepsNothing", testTopicKeepsNothing},
	{"TopicSettle", testTopicSettle},
	{"SlowReader", testSlowReader},
}

func testTopicReachesAll(x *bed) {
	one, two := x.open(), x.open()
	ids := names("a", 100)
	var ins []*inbox
	for _, b := range []bus.Bus{one, one, two} {
		ins = append(ins, x.receive(b, bus.Subscription{At: topic}))
	}
	x.publish(one, topic, ids...)
	for _, in := range ins {
		in.take(ids...)
	}
}

func testTopicReachesNobodyElse(x *bed) {
	b := x.open()
	var others []*inbox
	for _, at := range []bus.Address{
		bus.Topic(topic.Name + ".x"), bus.Topic("worker"), bus.Topic(topic.Name + "x"), bus.Topic("WORKER.bustest"), bus.Queue(topic.Name),
	} {
		others = append(others, x.receive(x.open(), bus.Subscription{At: at}))
	}
	in := x.receive(b, bus.Subscription{At: topic})
	x.publish(b, topic, "a")
	in.take("a")
	for _, other := range others {
		other.onlyAt(b, "fence")
	}
}

// testTopicKeepsNothing publishes before, between and after two readers.
func testTopicKeepsNothing(x *bed) {
	b := x.open()
	x.publish(b, topic, "before")
	in := x.receive(b, bus.Subscription{At: topic})
	in.onlyAt(b, "first")
	in.stop()
	x.publish(b, topic, "between")
	x.receive(b, bus.Subscription{At: topic}).onlyAt(b, "second")
}

// testTopicSettle settles deliveries that need no settlement.
func testTopicSettle(x *bed) {
	b := x.open()
	in := x.receive(b, bus.Subscription{At: topic})
	x.publish(b, topic, "a", "b", "c", "d")
	in.nak(in.hold("a"))
	if err := in.hold("b").DeadLetter(x.context(), "why"); err != nil {
		x.Errorf("DeadLetter = %v", err)
	}
	if err := in.hold("c").Extend(x.context()); err != nil {
		x.Errorf("Extend = %v", err)
	}
	in.hold("d")
	in.onlyAt(b, "fence")
	x.receive(b, bus.Subscription{At: bus.Dead}).onlyAt(b, "no other")
}

// testSlowReader has a reader that is blocked while another one receives 40 MiB. The slow one
// must lose some envelopes, delay no other, and receive again afterwards.
func testSlowReader(x *bed) {
	const size, count = 64 << 10, 640
	sender := x.open()
	slow := x.receive(x.open(), bus.Subscription{At: topic})
	fast := x.receive(x.open(), bus.Subscription{At: topic})
	for i := range count {
		id := fmt.Sprint("a", i)
		if err := sender.Publish(x.context(), topic, x.sized(id, size)); err != nil {
			x.Fatalf("Publish(%q) = %v", id, err)
		}
		fast.take(id)
	}
	n := 0
	for i := 0; ; {
		d := slow.next()
		if d.ID[0] != 'a' {
			break
		}
		if n++; n > count {
			x.Fatal("the slow reader gets more than there was")
		}
		if i++; i%10 == 0 { // it may be lost as well while there is no room
			x.publish(sender, topic, fmt.Sprint("fence", i))
		}
	}
	if n == count {
		x.Errorf("the slow reader has lost nothing: %d MiB waited for it", size*count>>20)
	}
}
