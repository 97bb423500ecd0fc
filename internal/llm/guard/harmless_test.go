package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// harmlessTexts returns harmless texts by their kinds.
func harmlessTexts(t testing.TB) []harmlessKind {
	t.Helper()
	b, err := os.ReadFile("testdata/real.txt")
	if err != nil {
		t.Fatal(err)
	}
	return []harmlessKind{
		{"short texts, many with words of attacks", dataLines(t, "testdata/innocent.txt")},
		{"comments, code and documentation of programs", strings.Split(strings.TrimSpace(string(b)), "\n%%\n")[1:]},
		{"mail to and from a support team", written(100, supportMail)},
		{"recipes and instructions", written(60, recipe)},
		{"logs, traces and tables", written(120, record)},
		{"Markdown, JSON and configuration", written(100, document)},
	}
}

type harmlessKind struct {
	name  string
	texts []string
}

func written(n int, write func(i int) string) []string {
	var all []string
	for i := range n {
		all = append(all, write(i))
	}
	return all
}

// pick returns an element of a list; calls with different salts differ.
func pick(i, salt int, list ...string) string {
	h := uint32(i+1)*2654435761 ^ uint32(salt+1)*2246822519
	h = (h ^ h>>15) * 0x85ebca6b
	return list[(h^h>>13)%uint32(len(list))]
}

func supportMail(i int) string {
	return fmt.Sprintf("%s %s,\n\n%s %s %s\n\n%s\n\n%s\n%s",
		pick(i, 0, "Hello", "Hi", "Dear", "Good morning"), pick(i, 1, "team", "Ms Novak", "support", "Mr Ito", "Anna"),
		pick(i, 2, "I ordered a lamp two weeks ago and it has not arrived.", "The app asks for my password again and again.",
			"My invoice shows the wrong address.", "Please ignore my earlier message; I have found the cable.",
			"Since the update the printer does not answer any more.", "We tried to reset the device as the instructions say, and nothing happened.",
			"You forgot to enclose the receipt.", "The instructions above the form no longer fit the new version.",
			"I would like to cancel my subscription and delete my account.", "Could you send me the contents of my order as a list?"),
		pick(i, 3, "My customer number is 40771.", "I attach a picture.", "I have called your hotline twice.", "The order number is A-2231.",
			"The user name is anna.k.", "Do not call me before ten, please.", "I have already told your colleague everything.", "It worked before."),
		pick(i, 4, "What should I do now?", "Please answer by Friday.", "Please tell me what you need from me.", "Can you forward this to the right department?",
			"Please send a new one instead.", "Should I use another browser?", "Please confirm that you have deleted my data."),
		pick(i, 5, "> We have received your request and will answer within two days.", "> Please reply above this line.",
			"> Follow the steps on our page to reset your password.", "-----Original message-----\n> Your ticket has been closed.", "PS: Great shop otherwise!"),
		pick(i, 6, "Best regards", "Thanks", "Kind regards", "Yours sincerely"), pick(i, 7, "Maria Lind", "Tom", "J. Okafor", "Li Wei", "Petra"))
}

func recipe(i int) string {
	return fmt.Sprintf("# %s\n\nFor %d people. %s\n\n1. %s\n2. %s\n3. %s\n\n%s",
		pick(i, 0, "Lentil soup", "Apple cake", "Shelf Billy, assembly", "Potato salad", "Changing the filter", "Bread with seeds"), 2+i%5,
		pick(i, 1, "Takes an hour.", "Read all instructions before you begin.", "You need a pan and a sieve.", "Follow the steps in this order."),
		pick(i, 2, "Wash the lentils and put them aside.", "Switch off the device and pull the plug.", "Peel the apples; ignore small spots.", "Put part A on part B."),
		pick(i, 3, "Boil for twenty minutes, and do not stir.", "Now turn the screw until you feel resistance.", "Instead of butter, oil will do.", "From now on, stir all the time."),
		pick(i, 4, "Season to taste.", "Forget the timer: it is done when it smells good.", "Override the default time if your oven is weak.", "Let it rest for an hour."),
		pick(i, 5, "Tip: it tastes better the next day.", "Never leave the stove alone.", "Keep it secret, it is my grandmother's.", "Tell us how it went!"))
}

func record(i int) string {
	at := fmt.Sprintf("2026-0%d-%02dT%02d:%02d:00Z", 1+i%9, 1+i%28, i%24, i*7%60)
	line := func(k int) string {
		return at + " " + pick(i, k, "INFO", "WARN", "ERROR", "DEBUG") + " " + pick(i, k+1,
			"user=anna action=login result=ok", "system: disk 91% full on /var", "ignored 3 lines without a timestamp", "override of max_wait by flag",
			"token expired, refresh in 30s", "tool call list_files took 41ms", "assistant session 7 closed", "previous instance is still running",
			"executed migration 0042_add_roles", "permission denied: id_rsa", "request id=9f3c status=503 retry=2", "agent weather is down; will retry")
	}
	switch i % 4 {
	case 0:
		return line(0) + "\n" + line(1) + "\n" + line(2)
	case 1:
		return fmt.Sprintf("goroutine %d [running]:\nmain.run(0x%x)\n\t/src/main.go:%d +0x1d\n%s", i, i*4096, i*3, line(3))
	case 2:
		return fmt.Sprintf("id,name,role,note\n%d,%s,%s,%s\n", i, pick(i, 4, "anna", "tom", "li"), pick(i, 5, "user", "admin", "system", "assistant"), pick(i, 6,
			"new password sent", "asked for the instructions", "told to wait", "rules accepted"))
	}
	return fmt.Sprintf("| run | state | remark |\n|---|---|---|\n| %d | %s | %s |\n", i, pick(i, 7, "passed", "failed", "skipped"),
		pick(i, 8, "ignored by the filter", "secret missing", "prompt was empty", "approved by the owner", "user asked to stop"))
}

func document(i int) string {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("## %s\n\n%s\n\n```sh\n%s\n```\n", pick(i, 0, "Install", "System prompt", "Instructions for contributors", "User roles", "Tools"),
			pick(i, 1, "The assistant reads its instructions from `prompt.md`.", "Do not commit secrets; use the variable `API_KEY`.",
				"You can ignore the warning.", "The system message comes first, then those of the user.", "Agents call tools by their names.",
				"To override a rule, set `rules.x: off`."),
			pick(i, 2, "npm run build", "git checkout main && git pull", "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.org/v1/me", "parley send --agent echo hello", "rm -rf dist"))
	case 1:
		return fmt.Sprintf(`{"id": %d, "role": %q, "text": %q, "tags": ["a", %q]}`, i, pick(i, 3, "user", "assistant", "agent"),
			pick(i, 4, "What is the weather in Graz?", "It rains.", "Show me my last order.", "Summarize the report in two sentences.", "Translate this into French: good night."),
			pick(i, 5, "new", "system", "prompt", "memory"))
	case 2:
		return fmt.Sprintf("agents:\n  - name: %s\n    description: %s\n    command: [%s]\n", pick(i, 6, "clerk", "planner", "weather"),
			pick(i, 7, "Answers questions about orders.", "Makes plans with the help of others.", "Follows the instructions of its owner."), pick(i, 8, "./run.sh", "python3, agent.py", "tr, a-z, A-Z"))
	}
	return fmt.Sprintf("**%s**: %s [%s](https://example.org/%d).\n", pick(i, 9, "Note", "Important", "Attention", "Warning"),
		pick(i, 10, "you must be signed in to see the page", "the previous instructions apply to version 1 only", "new users should first read the guide",
			"this page is for administrators", "AI features can be switched off in the settings", "do not share your key"),
		pick(i, 11, "more", "details", "manual"), i)
}
