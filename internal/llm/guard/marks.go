package guard

import "strings"

// mark is a piece of syntax with a special meaning for models.
type mark struct {
	text   string
	rule   Rule
	slight bool
}

// marksOf holds the marks by their first byte.
var marksOf = func() map[byte][]mark {
	out := make(map[byte][]mark)
	add := func(rule Rule, slight bool, list string) {
		for m := range strings.Lines(list) {
			if m = strings.TrimSpace(m); m != "" {
				m = fold(m).text
				out[m[0]] = append(out[m[0]], mark{m, rule, slight})
			}
		}
	}
	add(Role, false, roleMarks)
	add(Role, true, slightRoleMarks)
	add(Syntax, false, syntaxMarks)
	add(Syntax, true, slightSyntaxMarks)
	add(Tool, true, secretFiles)
	add(Override, false, strangeOverrides)
	add(Conceal, false, strangeConceals)
	add(Hidden, true, hiddenStyles)
	return out
}()

const (
	roleMarks = `
		<<sys>>
		<</sys>>
		[inst]
		[/inst]
		<start_of_turn>
		<end_of_turn>
		<system>
		</system>
		<system_prompt>
		</system_prompt>
		<system-prompt>
		<system_message>
		<system-reminder>
		<system-message>
		<system_instruction>
		<developer>
		</developer>
		<assistant>
		</assistant>
		</user>
		</human>
		</context>
		</document>
		</data>
		<important>
		</important>
		<new_instructions>
		<instructions>
		</instructions>
		<admin>
		[system]
		[system message]
		[system prompt]
		[system:
		[system note
		[developer]
		[assistant]
		[admin]
		[start_of_system
		#system#
		{{system}}
		{{#system
		### instruction:
		### system:
		### new instruction
		### system prompt
		### assistant:
		===system===
		---system---`
	slightRoleMarks = `
		### response:
		### input:
		"role":"system"
		"role": "system"
		"role":"developer"
		"role": "developer"
		'role': 'system'
		</s>
		<|`
	syntaxMarks = `
		<tool_call>
		</tool_call>
		<tool_calls>
		<tool_response>
		</tool_response>
		<tool_result>
		</tool_result>
		</tool_output>
		<tool_use>
		<function_call>
		<function_calls>
		<function_results>
		</function_results>
		<function_result>
		<invoke name=
		<antml:
		<function=
		[tool_call
		[tool_result
		[tool_use
		[function_call
		[available_tools]`
	slightSyntaxMarks = `
		"tool_calls":
		"tool_call_id":
		"function_call":
		"tool_use"`
	secretFiles = `
		.ssh/
		id_rsa
		id_ed25519
		/etc/passwd
		/etc/shadow
		.aws/credentials
		.cursor/mcp.json
		claude_desktop_config
		.config/gcloud
		.kube/config
		.bash_history
		.netrc
		.npmrc
		.git-credentials`
	// strangeOverrides are in languages without blanks, or with inflection that phrases cannot
	// cover.
	strangeOverrides = `
		忽略之前
		忽略以上
		忽略上述
		忽略上面
		忽略先前
		忽略前面
		忽略此前
		忽略所有
		忽略你的
		忽略您的
		忽略一切
		无视之前
		无视以上
		无视上述
		无视所有
		無視之前
		無視以上
		忘记之前
		忘记以上
		忘记所有
		忘掉之前
		忽視之前
		不要遵守之前
		以前の指示を無視
		以前の命令を無視
		上記の指示を無視
		前の指示を無視
		これまでの指示を無視
		これまでの指示をすべて
		すべての指示を無視
		全ての指示を無視
		指示は無視
		이전 지시를 무시
		이전 지시 사항을 무시
		이전 지시사항을 무시
		이전의 모든 지시
		이전 명령을 무시
		위의 지시를 무시
		모든 지시를 무시
		تجاهل التعليمات
		تجاهل جميع التعليمات
		تجاهل كل التعليمات
		تجاهل الأوامر
		התעלם מההוראות
		התעלם מכל ההוראות
		पिछले निर्देशों को
		पिछले सभी निर्देशों
		bỏ qua các hướng dẫn
		bỏ qua mọi hướng dẫn`
	strangeConceals = `
		不要告诉用户
		不要告訴用戶
		不要让用户
		别告诉用户
		ユーザーに言わないで
		ユーザーには知らせ
		사용자에게 말하지`
	hiddenStyles = `
		display:none
		display: none
		visibility:hidden
		visibility: hidden
		font-size:0
		font-size: 0
		font-size:1px
		opacity:0;
		opacity: 0;`
)

func (s *scanner) marks() {
	text := s.folded.text
	for i := range len(text) {
		if text[i] == '<' {
			if n := specialToken(text[i:]); n > 0 {
				s.noteFolded(Finding{Rule: Role, Start: i, End: i + n})
				continue
			}
		}
		for _, m := range marksOf[text[i]] {
			if strings.HasPrefix(text[i:], m.text) {
				s.noteFolded(Finding{Rule: m.rule, Start: i, End: i + len(m.text), Slight: m.slight})
				break
			}
		}
	}
}

// specialToken returns the length of a special token, such as <|im_start|>, at the beginning of s; 0
// if there is none.
func specialToken(s string) int {
	const longest = 60
	if !strings.HasPrefix(s, "<|") {
		return 0
	}
	s = s[:min(len(s), longest)]
	end := strings.Index(s, "|>")
	if end < 3 || strings.ContainsAny(s[2:end], "<>\n=;(){}") {
		return 0
	}
	return end + 2
}
