package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// records are the final states of the hubs and the program.
type records struct {
	// runs counts the runs of the till, by instruction.
	runs map[string]int
	// items are the items of the inbox, by task.
	items map[string][]itemJSON
	// far are the tasks of the far hub, by their first message.
	far map[string][]taskJSON
	// booked are the meetings, by start time.
	booked map[string]string
}

// check checks all conversations, and returns the number of each outcome.
func (w *twoHubs) check() map[string]int {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*patience)
	defer cancel()
	all, err := w.records(ctx)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	ends := map[string]int{}
	for _, st := range w.all {
		if st.err != nil {
			continue
		}
		t, err := st.get(ctx)
		if err == nil {
			err = st.check(ctx, t, all)
			ends[st.name+" "+t.state()]++
		}
		if err != nil {
			w.t.Errorf("conversation %s, %s: %v", st.id, t.state(), err)
		}
	}
	for _, kind := range kinds {
		if n := ends[kind.name+" COMPLETED"] + ends[kind.name+" REJECTED"]; n == 0 {
			w.t.Errorf("no conversation of the kind %s came to its end", kind.name)
		}
	}
	return ends
}

func (w *twoHubs) records(ctx context.Context) (*records, error) {
	all := &records{runs: map[string]int{}, items: map[string][]itemJSON{}, far: map[string][]taskJSON{}, booked: map[string]string{}}
	b, err := os.ReadFile(w.runs)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		all.runs[strings.TrimSpace(line)]++
	}
	items, err := w.items(ctx, "all", "")
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		all.items[it.Task] = append(all.items[it.Task], it)
	}
	tasks, err := tasksOf(ctx, w.far, me, "/v1/a2a/tasks", "")
	for _, t := range tasks {
		first := t.History[0].text()
		all.far[first] = append(all.far[first], t)
	}
	return all, err
}

// tasksOf lists the tasks of a context, or all tasks.
func tasksOf(ctx context.Context, s *hub, key, path, contextID string) ([]taskJSON, error) {
	var all []taskJSON
	for token := ""; ; {
		var page struct {
			Tasks         []taskJSON
			NextPageToken string
		}
		q := query("contextId", contextID, "pageSize", "100", "historyLength", "100", "includeArtifacts", "true", "pageToken", token)
		if err := s.call(ctx, key, hubtest.Request{URL: path + q}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Tasks...)
		if token = page.NextPageToken; token == "" {
			return all, nil
		}
	}
}

// interrupted is part of the reason of a task that failed because its agent must not be
// executed twice.
const interrupted = "interrupted by restart"

// check checks one conversation.
func (st *conversation) check(ctx context.Context, t *taskJSON, all *records) error {
	if !t.ended() {
		return errors.New("the task does not end")
	}
	if t.state() == "FAILED" && !st.mayFail(t) {
		return fmt.Errorf("the task failed: %s", t.reply())
	}
	errs := []error{st.checkSaid(t), st.checkMemory(ctx, t)}
	switch st.name {
	case "interview", "faraway":
		errs = append(errs, st.checkClerk(ctx, t))
	case "owner":
		errs = append(errs, st.checkClerk(ctx, t), st.checkAsked(t, all))
	}
	switch st.name {
	case "faraway", "person", "owner":
		errs = append(errs, st.checkFar(t, all))
	case "purchase":
		errs = append(errs, st.checkPurchase(t, all))
	}
	if t.state() == "FAILED" {
		return errors.Join(errs...)
	}
	switch st.name {
	case "observed":
		errs = append(errs, st.checkObserved(ctx, t, all))
	case "meeting":
		errs = append(errs, st.checkMeeting(t, all))
	case "notice":
		errs = append(errs, onlyItem(all.items[st.id], "notice", "tell "+st.id))
	}
	return errors.Join(errs...)
}

// mayFail reports whether the task may have failed. The reasons are: the agent must not be
// executed twice, the hub was killed three times in a row during the execution, or the far hub
// was down at each attempt.
func (st *conversation) mayFail(t *taskJSON) bool {
	switch st.name {
	case "faraway", "person", "owner":
		return strings.Contains(t.reply(), interrupted) || strings.Contains(t.reply(), unreached)
	case "interview", "purchase":
		return strings.Contains(t.reply(), interrupted)
	}
	return strings.Contains(t.reply(), interrupted+" in 3 attempts")
}

// unreached is part of the reason of a task whose agent was unreachable three times.
const unreached = "is not reachable: "

// question returns the ith question of the interview and the answer of the clerk.
func question(i, total int) (question, answer string) {
	switch i {
	case 1:
		return "What is your name?", "Ada"
	case 2:
		return "What would you like to get done?", "The work"
	}
	return fmt.Sprintf("Question %d of %d: what else should be known?", i, total), fmt.Sprintf("Answer %d of %d", i, total)
}

// script returns the expected messages of the whole conversation.
func (st *conversation) script(t *taskJSON) (lines []string, reply string) {
	lines = []string{"caller: " + st.texts[0]}
	switch st.name {
	case "interview", "faraway", "person":
		for i := 1; i <= st.questions; i++ {
			q, a := question(i, st.questions)
			if st.name == "person" {
				a = fmt.Sprintf("%s says %d", st.id, i)
			}
			lines = append(lines, "agent: "+q, "caller: "+a)
			reply += q + "\n" + a + "\n"
		}
		return lines, reply
	case "purchase":
		lines = append(lines, "agent: This waits for the approval of the owner of this agent. It runs when it is approved; nothing more is needed from you.")
		reply = "sold " + st.texts[0]
	}
	if t.state() == "REJECTED" || reply == "" {
		reply = t.reply() // other checks cover it
	}
	return lines, reply
}

// checkSaid compares the log with the expected messages.
func (st *conversation) checkSaid(t *taskJSON) error {
	switch st.name {
	case "meeting":
		return st.checkTurnsOfMeeting(t)
	case "owner":
		return nil // checked by checkAsked
	}
	want, reply := st.script(t)
	got := t.lines()
	if st.name == "faraway" || st.name == "person" {
		got = onceAsked(got)
	}
	if t.state() == "FAILED" {
		want = want[:min(len(want), len(got))]
		reply = t.reply()
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		return fmt.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(reply, t.reply()); diff != "" {
		return fmt.Errorf("the reply (-want +got):\n%s", diff)
	}
	return nil
}

// onceAsked removes repeated questions with their answers. A remote agent repeats its question
// if the answer has not arrived.
func onceAsked(lines []string) []string {
	var all []string
	for i := 0; i < len(lines); i++ {
		if n := len(all); i%2 == 1 && i+1 < len(lines) && n > 2 && lines[i] == all[n-2] && lines[i+1] == all[n-1] {
			i++
			continue
		}
		all = append(all, lines[i])
	}
	return all
}

// checkTurnsOfMeeting: each message of the caller is in the log once and in order, and has one
// answer.
func (st *conversation) checkTurnsOfMeeting(t *taskJSON) error {
	var output []string
	for i, line := range t.lines() {
		role, text, _ := strings.Cut(line, ": ")
		if want := []string{"caller", "agent"}[i%2]; role != want {
			return fmt.Errorf("turn %d is %q, want one of the %s: %q", i, line, want, t.lines())
		}
		if role == "caller" {
			output = append(output, text)
		}
	}
	if diff := gocmp.Diff(st.texts, output); diff != "" {
		return fmt.Errorf("messages of the caller (-want +got):\n%s", diff)
	}
	return nil
}

// checkClerk: the answering agent was asked once for each question.
func (st *conversation) checkClerk(ctx context.Context, t *taskJSON) error {
	asked, err := tasksOf(ctx, st.w.near, st.key, "/v1/a2a/clerk/tasks", "ctx-"+st.id)
	if err != nil {
		return err
	}
	answers := (len(t.lines()) - 1) / 2
	if len(asked) < answers || len(asked) > answers+1 || t.state() == "COMPLETED" && len(asked) != answers {
		return fmt.Errorf("the answering agent was asked %d times for %d answers", len(asked), answers)
	}
	for i := range asked {
		if asked[i].state() != "COMPLETED" {
			return fmt.Errorf("the task %s of the answering agent is %s", asked[i].ID, asked[i].state())
		}
	}
	return nil
}

// checkFar: the far hub has the same conversation, in one task.
func (st *conversation) checkFar(t *taskJSON, all *records) error {
	there := all.far[st.texts[0]]
	if len(there) == 0 && strings.Contains(t.reply(), unreached) {
		return nil
	}
	if len(there) != 1 {
		return fmt.Errorf("the far hub has %d tasks", len(there))
	}
	got, want := there[0].lines(), onceAsked(t.lines())
	if strings.Contains(t.reply(), unreached) {
		there[0].Status.State = t.Status.State // it waits for an answer that was never sent
	}
	if t.state() == "FAILED" {
		n := min(len(got), len(want))
		got, want = got[:n], want[:n]
	}
	if diff := gocmp.Diff(want, got); diff != "" || there[0].state() != t.state() {
		return fmt.Errorf("the far hub has the task %s (-near +far):\n%s", there[0].state(), diff)
	}
	return nil
}

func onlyItem(items []itemJSON, kind, text string) error {
	if len(items) != 1 || items[0].Kind != kind || !strings.Contains(items[0].Text, text) {
		return fmt.Errorf("the inbox has %+v, want one %s with %q", items, kind, text)
	}
	return nil
}

// verbs are the actions that lead to the states of items.
var verbs = map[string]string{"approved": "approve", "refused": "refuse"}

// checkAsked: each question has one item, and the agent received exactly the answers that the
// owner gave.
func (st *conversation) checkAsked(t *taskJSON, all *records) error {
	if text := t.twice(); text != "" {
		return fmt.Errorf("the hub has said twice: %s", text)
	}
	items := all.items[st.id]
	slices.SortFunc(items, func(a, b itemJSON) int { return cmp.Compare(a.Version, b.Version) })
	lines, reply := t.lines(), ""
	for i, it := range items {
		q, draft := question(i+1, st.questions)
		text, received := map[string]string{"answer": "answer " + st.id, "approve": draft}, st.won[it.ID]
		if 2*i+2 >= len(lines) && t.state() == "FAILED" {
			break // the agent was killed before or when it received the answer
		}
		switch {
		case it.Kind != "question" || it.By != "me" && it.By != "" || it.State != "answered" || it.Draft != draft || !strings.Contains(it.Text, q):
			return fmt.Errorf("the question %q is in the inbox as %+v", q, it)
		case it.Answer != text["answer"] && it.Answer != text["approve"] || received != "" && it.Answer != text[received]:
			return fmt.Errorf("I was told that %q counts, but the inbox has %+v", received, it)
		case 2*i+2 >= len(lines) || lines[2*i+1] != "agent: "+q || lines[2*i+2] != "caller: "+it.Answer:
			return fmt.Errorf("the inbox has %+v, and the task says %q", it, lines)
		}
		reply += q + "\n" + it.Answer + "\n"
	}
	if t.state() == "COMPLETED" && (len(items) != st.questions || len(lines) != 1+2*len(items) || reply != t.reply()) {
		return fmt.Errorf("the inbox has %d items for %d questions; the task says %q, and in the end %q, want %q", len(items), st.questions, lines, t.reply(), reply)
	}
	return nil
}

// checkPurchase: an approved action is done once, and a refused one is not done.
func (st *conversation) checkPurchase(t *taskJSON, all *records) error {
	if err := onlyItem(all.items[st.id], "approval", st.texts[0]); err != nil {
		return err
	}
	it, runs := all.items[st.id][0], all.runs[st.texts[0]]
	verb := verbs[it.State]
	if it.By != "me" || it.Answer != verb+" "+st.id || st.won[it.ID] != "" && verb != st.won[it.ID] {
		return fmt.Errorf("the person said %q, the inbox has %+v", st.won, it)
	}
	ok := map[string]bool{
		"approved COMPLETED 1": true, "refused REJECTED 0": true,
		"approved FAILED 0": true, "approved FAILED 1": true, // killed just before or after it began
	}
	if now := fmt.Sprintf("%s %s %d", it.State, t.state(), runs); !ok[now] {
		return fmt.Errorf("decision, state and number of runs are %s", now)
	}
	if t.state() == "REJECTED" && !strings.Contains(t.reply(), "refuse "+st.id) {
		return fmt.Errorf("the caller gets %q, without the reason", t.reply())
	}
	return nil
}

// checkObserved: no action is done, and the owner is notified once.
func (st *conversation) checkObserved(ctx context.Context, t *taskJSON, all *records) error {
	if t.state() != "REJECTED" || all.runs[st.texts[0]] != 0 {
		return fmt.Errorf("the task is %s after %d runs", t.state(), all.runs[st.texts[0]])
	}
	n, err := st.w.note(ctx, me, "a2a-inbox/"+st.id+"/request")
	if err == nil && n.Value != st.texts[0] {
		err = fmt.Errorf("the note of the request is %q", n.Value)
	}
	return errors.Join(err, onlyItem(all.items[st.id], "notice", st.texts[0]))
}

// checkMeeting: meetings do not overlap, and the owner is notified of each once.
func (st *conversation) checkMeeting(t *taskJSON, all *records) error {
	for i := range t.Artifacts {
		for _, p := range t.Artifacts[i].Parts {
			if p.Data.Agreed == nil || !*p.Data.Agreed {
				continue
			}
			if other := all.booked[p.Data.Start]; other != "" {
				return fmt.Errorf("the time is that of %s: %s", other, t.reply())
			}
			all.booked[p.Data.Start] = st.id
			return onlyItem(all.items[st.id], "notice", strings.TrimPrefix(t.reply(), "Agreed: "))
		}
	}
	return fmt.Errorf("no meeting was agreed: %q, %s", t.lines(), t.reply())
}

// noteJSON contains the fields of a note that the tests read.
type noteJSON struct {
	Key, Value, Category, Preview string
	Tags                          []string
	UpdatedAt, ExpiresAt          time.Time
}

// note returns a note, and waits until it exists.
func (w *twoHubs) note(ctx context.Context, key, name string) (*noteJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		n := new(noteJSON)
		err := w.near.call(ctx, key, hubtest.Request{URL: "/api/v1/memory/note" + query("key", name)}, n)
		if hubtest.Status(err) != http.StatusNotFound {
			return n, err
		}
		if pause(ctx, nil) != nil {
			return nil, fmt.Errorf("there is no note %s", name)
		}
	}
}

// checkMemory: the result, the outcome and the conversation are remembered correctly.
func (st *conversation) checkMemory(ctx context.Context, t *taskJSON) error {
	n, err := st.w.note(ctx, st.key, "session/"+st.id+"/a2a/"+st.agent+"/"+st.id+"/result")
	switch {
	case err != nil:
		return err
	case n.Category != "a2a-result" || !strings.Contains(n.Value, t.reply()):
		return fmt.Errorf("the result is %+v, the reply %q", n, t.reply())
	case t.state() != "COMPLETED" && !strings.HasPrefix(n.Value, "The task was not completed"):
		return fmt.Errorf("the result of a task that is %s is %q", t.state(), n.Value)
	}
	if t.state() == "COMPLETED" {
		n, err := st.w.note(ctx, me, "session/primary/a2a-outcomes/"+st.agent+"/ctx-"+st.id)
		if err != nil {
			return err
		}
		if !strings.Contains(n.Value, st.texts[0]) && !strings.Contains(n.Value, st.texts[len(st.texts)-1]) || !strings.Contains(n.Value, "Outcome: ") {
			return fmt.Errorf("the outcome is %q", n.Value)
		}
	}
	got, err := st.turns(ctx)
	if err != nil {
		return err
	}
	if n := len(got) - 1; n >= 0 && t.state() != "COMPLETED" {
		got[n], _, _ = strings.Cut(got[n], "\n\nUntil then it said:\n")
	}
	if diff := gocmp.Diff(append(t.lines(), "agent: "+t.reply()), got); diff != "" {
		return fmt.Errorf("the conversation (-log +remembered):\n%s", diff)
	}
	return nil
}

// turns returns the remembered conversation.
func (st *conversation) turns(ctx context.Context) ([]string, error) {
	var list struct{ Turns []struct{ Role, Text string } }
	if err := st.w.near.call(ctx, st.key, hubtest.Request{URL: "/api/v1/memory/conversation" + query("context", "ctx-"+st.id)}, &list); err != nil {
		return nil, err
	}
	var all []string
	for _, turn := range list.Turns {
		all = append(all, turn.Role+": "+turn.Text)
	}
	return all, nil
}
