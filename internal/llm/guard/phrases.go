package guard

import (
	"slices"
	"strings"
)

// section has phrases of one rule, one per line.
type section struct {
	rule    Rule
	slight  bool
	plainly bool
	phrases string
}

// sets are lists of words that phrases share.
var sets = map[string]string{
	"drop":    "ignore disregard forget override overrule bypass discard neglect ignoring disregarding forgetting unlearn",
	"past":    "previous prior above earlier preceding foregoing initial original system",
	"orders":  "instructions instruction directions directives directive rules rule guidelines guideline prompts prompt commands command constraints restrictions programming training safeguards guardrails context conversation",
	"strict":  "instructions directives prompt prompts guidelines guardrails safeguards restrictions programming",
	"own":     "own system safety core original initial internal ethical content previous programmed default built-in prior",
	"reveal":  "reveal print show output repeat display disclose leak share send tell expose dump recite return quote echo paste summarize summarise translate write",
	"send":    "send post forward email mail upload transmit exfiltrate leak deliver submit report copy encode",
	"secret":  "password passwords credentials credential secrets token tokens keys key history conversation transcript cookies variables prompt",
	"user":    "user users human humans operator customer person owner",
	"model":   "ai llm llms lm chatgpt gpt copilot gemini claude chatbot chatbots",
	"models":  "agent agents assistant assistants model models system systems bot bots reader readers reviewer reviewers crawler crawlers summarizer summarizers parser parsers tool tools",
	"must":    "must should shall will need have always",
	"freedom": "restrictions limitations filters rules guidelines safeguards censorship ethics constraints policies",
	"maker":   "openai anthropic google microsoft developer developers creator creators administrator admin operator",
}

// instructions holds the phrases of the screen.
var instructions = newPhraseList(slices.Concat(english, disguised(), others), sets)

var english = []section{
	{rule: Override, plainly: true, phrases: `
		$drop ~4 $past ~3 $orders
		$drop ~3 $orders ~3 above|before|earlier|previously|prior
		ignore|disregard|forget|forgetting|ignoring ~2 everything|anything|all ~4 above|before|said|told|know|learned|previously|prior|earlier
		$drop ?all|any|every ?of your|all|any|every ?$own ?$own $strict
		stop|quit|cease following|obeying ~3 $orders
		cancel|discard|drop|erase|delete|abandon|suspend|skip ~2 $past|your|all ~1 instructions|prompt|directives|guidelines|programming`},
	{rule: Override, phrases: `
		not|don't|dont|never|stop ?to follow|obey|heed|adhere|listen ?to ~2 $past|your|their|these ~2 $orders
		system|security|safety|instruction|prompt|admin override:
		system override|overrides|overridden
		$past|your|all ~1 instructions|prompts|directives|guidelines|restrictions ~2 are|is|have|were ~2 void|invalid|obsolete|superseded|revoked|cancelled|canceled|suspended|lifted|disabled|replaced|overridden|outdated|null
		this|these|following ~2 supersedes|overrides|replaces|supersede|override|replace ~3 $past|your|all ~3 instructions|prompt|prompts|directives|rules|guidelines`},
	{rule: Task, phrases: `
		^new|updated|revised|real|actual|true|secret|hidden ?system|secret instructions|instruction|task|directive|directives|objective|goal|orders|prompt:
		new|secret|hidden|actual|real system|secret instructions|instruction|prompt|directive|directives:
		your ~1 new|real|actual|true|primary ~1 task|goal|objective|mission|job|instructions|purpose|directive is|are
		from now on ~1 you ~1 are|must|respond|answer|act|obey|follow|only|speak|serve|work|reply
		from now on respond|answer|act|ignore|obey|always|end|begin|reply|output|only
		end|ending of ~1 document|text|article|context|data|email|webpage|input|user|quoted|untrusted ~4 begin|now|new|system|instructions
		instead of ~6 you must|will|should output|print|respond|reply|answer|say|write|call
		stop what you are doing
		respond|reply|answer only with ~4 nothing else
		output|print|say|write|respond|reply exactly|only ?with ?the ?word|words|text|string|phrase pwned|hacked|owned|haha`},
	{rule: Persona, phrases: `
		you are|re now|henceforth ~3 dan|unrestricted|jailbroken|freed|unfiltered|uncensored|aim|evil|root|evilbot|unshackled|unbound
		you are|re now|currently|henceforth ~1 in ~1 developer|debug|god|maintenance|admin|dan|test|jailbreak mode
		you are|re no longer ~3 bound|restricted|limited|constrained|governed ~4 rules|guidelines|policies|openai|anthropic|restrictions|instructions|programming
		you are|re no longer ~2 ai|assistant|chatgpt|claude|gpt|chatbot
		dan|god|jailbreak|sudo|unrestricted|unfiltered mode ~1 enabled|activated|engaged|on|active
		enter|enable|activate|engage ~2 dan|jailbreak|god|unrestricted|sudo|unfiltered mode
		pretend|act|behave|roleplay|respond|answer|imagine|operate ~6 no|without|any ~2 $freedom
		do anything now
		without|no|zero ~2 ethical|moral|safety restrictions|guidelines|constraints|filters|limitations|policies`},
	{rule: Secrets, plainly: true, phrases: `
		$reveal ~4 system|initial|hidden|developer|secret|internal|original|full prompt|prompts|instructions
		$reveal ~3 your ?full|entire|complete|exact|own|original|initial ~1 prompt|directives|guidelines|instructions verbatim|exactly|above|word
		$reveal ~2 your ~1 system|initial|hidden ~1 message|prompt|instructions|rules
		what ~3 your system|initial|hidden|original prompt|instructions
		repeat|print|output|recite|copy ~3 words|text|everything|content|instructions ~3 above
		exfiltrate ~6 $secret|data|files|file|contacts
		leak all|the|your|this|their|its|every ~5 $secret|data|files|file|contacts
		$send ~5 conversation|chat|message|dialogue history|transcript|log|logs|context ~6 to|at|via
		$send ~6 contents|content ~3 environment|env|file|files ~6 to @addr`},
	{rule: Secrets, slight: true, plainly: true, phrases: `
		$send ~8 $secret ~8 @addr
		$send ~4 api|access|private|ssh|session|secret ~1 key|keys|token|tokens ~3 to`},
	{rule: Conceal, phrases: `
		not|don't|dont|never|without ?to tell|inform|mention|notify|alert|telling|informing|notifying|alerting|asking ~1 $user
		not|don't|dont|never|without ~1 mention|mentioning|disclose|disclosing|reveal|revealing|discuss|show ~1 this|these|it|that ~4 to ~1 $user
		not|don't|dont|never mention|disclose|reveal|acknowledge ~1 this|these ~1 instruction|instructions|message|note|prompt|text
		not|without let|letting ~1 $user know|see|notice|find
		keep|hide ~3 this|these|it ~4 secret|hidden|confidential|from ~2 $user
		$user must|should|shall not|never know|notice|learn|find|realize|suspect
		silently|secretly|quietly|covertly ~3 send|forward|call|invoke|execute|run|upload|copy|email|add|include|append`},
	{rule: Address, phrases: `
		if|when|as|since you ~1 are|re ~2 ai|llm|chatgpt|gpt ~8 $must|please|ignore|disregard|respond|include|stop|do|say|write|add|then|you|reading|summarizing|processing
		if|when|as you ~1 are|re ~2 language model|models
		attention|note|message|notice|instruction|instructions|hint|memo|important|reminder|warning|info ~1 to|for ~2 $model ~1 $models
		attention|note|message|notice|instruction|instructions|hint|memo|important|reminder|warning|info ~1 to|for ~2 $model:
		attention|note|message|notice|hint|memo|reminder ~1 to|for ~2 language models|model
		dear|hey|hello|attn $model ?$models
		attention $model $models
		attention $model ~3 you|your|please|ignore|disregard|do|stop|send|include|must
		$model ?language ?$models|model ~2 reading|processing|summarizing|summarising|parsing|reviewing|analyzing|analysing|seeing|evaluating ~1 this|the
		any|every|all|each|the assistant|agent|model|models|agents ~2 reading|processing|summarizing|parsing ~1 this ~8 $must|please
		$model ?$models: ~1 ignore|disregard|you|please|do|stop|send|include|always|never`},
	{rule: Authority, phrases: `
		this|here is|message|am ~1 your ~1 developer|creator|programmer|operator speaking|now|and
		i am|'m|m ~1 your ~1 developer|creator|programmer
		this is ?a|an ?official|urgent|important|authorized message|instruction|directive|order|command|request from ~2 openai|anthropic|developers|developer|creators|creator
		by|on order|orders|authority of ~1 openai|anthropic|developers
		message|notice|instruction|directive from ~2 openai|anthropic ~2 you|ai|model|assistant|team`},
	{rule: Authority, slight: true, phrases: `
		$user has|have already ~1 approved|authorized|authorised|consented|confirmed|agreed|granted
		this is ?a|an ?official|urgent|important|authorized message|instruction|directive|order|command from ~2 $maker
		you are|have ~1 authorized|authorised|permission|cleared|preapproved|pre-approved to|for`},
	{rule: Tool, phrases: `
		call|invoke|use|run|execute|perform ~6 tool|tools|function|functions|command|action ~8 without ~2 asking|confirmation|confirming|approval|permission|authorization|consent|user
		before|prior ~1 answering|responding|replying|continuing|proceeding|summarizing|summarising ~5 call|invoke|execute|run|send|fetch|open ~6 tool|function|command|@addr
		you must|should|need ~3 call|invoke|use|run|execute ~6 tool|function ~8 $secret|@addr|immediately
		pass|include|put ~5 contents|content ~6 as|in ~3 parameter|argument|field|sidenote|note|header
		immediately|now call|invoke|execute|run ~4 tool|function
		$must|please ~2 read ~4 file|contents|content ~8 pass|include|send|append ~10 parameter|argument|sidenote|tool`},
	{rule: Tool, slight: true, phrases: `
		before|when|whenever|after ~1 using|calling|invoking ~2 tool|tools|function ~3 $must|first
		when|whenever|every|all|any ~4 email|emails|messages|mails ~8 bcc|cc|forward|redirect ~8 @addr
		all|every email|emails|messages|payments|transfers ~4 must|should|shall|to ~3 go|sent|forwarded|redirected|routed ~3 @addr
		transfer|wire|pay|send ~6 usd|eur|btc|bitcoin|dollars|euros|eth|funds|money ~6 to ~2 account|wallet|iban|address|@addr`},
	{rule: Steer, phrases: `
		give|write|return|assign|recommend ~4 positive|highest|perfect|favorable|favourable|maximum|top|best ~3 review|score|rating|grade|evaluation ~4 only|regardless|matter|instructions
		give|write|output ~2 positive review|reviews|evaluation only
		not|don't|never highlight|mention|list|include ~2 negatives|weaknesses|flaws|negative|drawbacks
		rank|rate|score|recommend|choose|select|prefer|present ~4 as|above ~3 best|other|others|all|first ~4 regardless|always|competitors|options|matter
		always recommend|prefer|choose|select|use|call ~3 over|instead|before|above ~3 other|others|all|any`},
	{rule: Role, plainly: true, phrases: `
		^system|developer|admin|administrator|root: ?please you|ignore|disregard|forget|new|override|your|from|the|all|execute|call|reveal|print|send|respond|always|never|now
		^assistant: sure|certainly|understood|ok|okay|i|of
		^system ?prompt|message|instruction|instructions|note|notice|command|update|alert: ?please you|ignore|disregard|forget|new|override|your|the|all|execute|call|reveal|print|send|respond|always|never|now|as`},
	{rule: Role, slight: true, phrases: `
		^system|developer|assistant|human|user|function|tool:
		^system prompt|message|instruction|instructions|note|notice|command|update|alert:`},
}

// others are phrases in other languages.
var others = []section{
	{rule: Override, plainly: true, phrases: `
		ignoriere|ignorier|ignorieren|vergiss|vergessen|missachte|missachten|verwirf ~3 vorherigen|vorherige|bisherigen|bisherige|vorigen|obigen|früheren|vorangegangenen|alle|deine|ihre ~3 anweisungen|instruktionen|regeln|befehle|vorgaben|anordnungen|systemanweisungen
		ignore|ignorez|ignorer|oublie|oubliez|oublier ~4 instructions|consignes|directives|règles|ordres ~2 précédentes|précédents|antérieures|ci-dessus|dessus|initiales|système
		ignora|ignore|olvida|olvide|omite|descarta|desestima|ignorar ~4 instrucciones|indicaciones|órdenes|reglas ~2 anteriores|previas|precedentes
		ignore|ignora|esqueça|esquece|desconsidere|desconsidera ~4 instruções|orientações|regras|comandos ~2 anteriores|prévias|acima
		ignora|ignorate|ignori|dimentica|dimenticate ~4 istruzioni|regole|indicazioni|direttive ~2 precedenti|sopra|antecedenti
		negeer|vergeet ~3 vorige|eerdere|voorgaande|bovenstaande|alle ~2 instructies|opdrachten|regels|aanwijzingen
		zignoruj|ignoruj|zapomnij|pomiń ~3 poprzednie|wcześniejsze|powyższe|wszystkie|poprzednich ~2 instrukcje|polecenia|instrukcjach|zasady
		игнорируй|игнорируйте|забудь|забудьте|проигнорируй|проигнорируйте ~3 предыдущие|прежние|вышеуказанные|все|всех ~3 инструкции|указания|команды|правила
		önceki|yukarıdaki|tüm ~2 talimatları|talimatlari|komutları ~3 yok|unut|görmezden`},
	{rule: Secrets, plainly: true, phrases: `
		verrate|zeige|zeig|nenne|gib ~4 systemprompt|systemanweisungen
		révèle|révélez|affiche|affichez|montre|montrez ~4 prompt|instructions système
		revela|muestra|imprime ~4 prompt|instrucciones ~2 sistema`},
	{rule: Conceal, phrases: `
		sag|sage|sagen|erzähle|verrate|informiere ~2 benutzer|nutzer|anwender ~3 nichts|nicht
		dis|dites|informe|informez ~3 utilisateur
		no le digas|diga|informes ~3 usuario`},
}

// disguised returns the most common phrases reversed, and in ROT13.
func disguised() []section {
	const first, middle, last = "ignore|disregard|forget|override", "previous|prior|above|all|earlier|system", "instructions|rules|prompt|prompts|directives|guidelines"
	turn := func(words string, f func(string) string) string {
		parts := strings.Split(words, "|")
		for i, w := range parts {
			parts[i] = f(w)
		}
		return strings.Join(parts, "|")
	}
	forward := turn(first, rot13) + " ~3 " + turn(middle, rot13) + " ~3 " + turn(last, rot13)
	backward := turn(last, reverse) + " ~3 " + turn(middle, reverse) + " ~3 " + turn(first, reverse)
	return []section{{rule: Encoded, phrases: forward + "\n" + backward}}
}

func rot13(w string) string {
	return strings.Map(func(r rune) rune { return 'a' + (r-'a'+13)%26 }, w)
}

func reverse(w string) string {
	b := []byte(w)
	slices.Reverse(b)
	return string(b)
}
