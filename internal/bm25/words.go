package bm25

import (
	"slices"
	"strings"
	"unicode"
)

// words returns the stems of a text, in order. Stop words become empty stems, so that the words
// around them do not form a phrase.
func words(text string) []string {
	var stems []string
	for _, w := range split(text) {
		if stopWords[w] {
			stems = append(stems, "")
			continue
		}
		stems = append(stems, stem(w))
	}
	return stems
}

// split returns the words of a text in lower case. It splits identifiers: pr_review, prReview
// and PRReview are two words each.
func split(text string) []string {
	var all []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			if r != '\'' && r != '’' {
				end()
			}
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			lowerBefore := unicode.IsLower(runes[i-1])
			lowerAfter := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			plural := i+2 == len(runes) || i+2 < len(runes) && !unicode.IsLetter(runes[i+2]) // plurals like URLs, APIs
			if lowerBefore || unicode.IsUpper(runes[i-1]) && lowerAfter && !plural {
				end()
			}
		}
		if word.Len() < maxWord {
			word.WriteRune(r)
		}
	}
	end()
	return all
}

// Stems returns the words under which a document is found, each once.
func (d *Document) Stems() []string { return weigh(d).terms }

// Stems returns the words of a text as documents contain them, each once. Stop words are not among them.
func Stems(text string) []string { return distinct(append(words(text), compounds(text)...)) }

// Terms returns the words of a query, each once. Stop words are not among them.
func Terms(query string) []string { return distinct(append(queryStems(query), compounds(query)...)) }

// LooseTerms returns the words with a meaning similar to those of a query, and the beginnings of
// words ("transl*") that match it with a lower weight.
func LooseTerms(query string) []string {
	var all []string
	for _, w := range Terms(query) {
		all = append(all, alike[w]...)
		if len(w) >= minPrefix {
			all = append(all, w+"*")
		}
	}
	return distinct(all)
}

// queryStems returns the words of a query.
func queryStems(query string) []string {
	stems := words(query)
	return stems[:min(len(stems), maxQueryWords)]
}

// distinct returns the words that are not empty, each once.
func distinct(words []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(words, func(w string) bool {
		again := w == "" || seen[w]
		seen[w] = true
		return again
	})
}

// compounds returns the stems of words with dashes, joined to one word: email for e-mail.
func compounds(text string) []string {
	var all []string
	for _, field := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if w := strings.Trim(field, "-"); strings.Contains(w, "-") && len(w) <= maxWord {
			all = append(all, stem(strings.ToLower(strings.ReplaceAll(w, "-", ""))))
		}
	}
	return all
}

// maxWord limits the length of a word, in bytes.
const maxWord = 64

// suffixes are removed from words; the longest one that leaves enough bytes is used.
var suffixes = []string{
	"izations", "isations", "ization", "isation", "ations", "ators", "izing", "ising", "ation", "ator", "ating", "ated",
	"ates", "izer", "iser", "ized", "ised", "izes", "ises", "ments", "ement", "ment", "ness", "ings", "ions", "able", "ible",
	"ical", "ing", "ers", "ors", "ion", "ies", "ied", "ize", "ise", "ate", "ive", "ily", "ity", "al", "er", "or", "es", "ed",
	"ly", "ic", "e", "s", "y",
}

// leastStem is the minimum length of the rest, in bytes.
const leastStem = 4

// stem removes the suffix of a word, so that its forms become equal: translate, translator and
// translations become transl. It uses no dictionary.
func stem(w string) string {
	w = strings.TrimSuffix(w, "'s")
	for _, s := range suffixes {
		if rest, ok := strings.CutSuffix(w, s); ok && len(rest) >= leastStem {
			return undouble(rest)
		}
	}
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// undouble removes a doubled consonant: plann, of planning, becomes plan.
func undouble(s string) string {
	if n := len(s); n > leastStem && s[n-1] == s[n-2] && !strings.ContainsRune("aeiouls", rune(s[n-1])) {
		return s[:n-1]
	}
	return s
}

// set returns the set of words in a text.
func set(text string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// stopWords are ignored, because they do not distinguish queries or agents.
var stopWords = set(`a about agent agents all also am an and any are as at be been being but by can could did do does
	doing for from get give given had has have help helps her here him his how i if in into is it its just let like
	me my need needs not of on one or other our out over please provide provides she should so some such than that the
	their them then there these they thing things this those to up us use used useful user users using various very via
	want wants was we what when where which while who whom whose why will with would you your`)

// alike are groups of words with similar meanings. A query for one of them also finds the
// others, with a lower score.
var alike = groups(
	"mail email inbox",
	"picture image photo photograph illustration drawing",
	"video clip movie film",
	"sound audio voice speech spoken",
	"bug defect issue ticket",
	"code program software programming",
	"test tests testing qa",
	"weather forecast rain snow temperature sunny umbrella",
	"cocktail drink beverage bar mixology",
	"package parcel shipment delivery shipping",
	"pet animal cat dog",
	"kubernetes k8s cluster",
	"server site website service",
	"flight airline plane airport fly",
	"hotel accommodation lodging room",
	"trip travel journey vacation holiday itinerary",
	"currency exchange fx euro dollar yen pound franc usd eur gbp jpy",
	"buy purchase order shop shopping",
	"meeting calendar appointment schedule",
	"summary summarize digest tldr shorten condense",
	"search find lookup locate discover",
	"document doc file pdf paper",
	"security vulnerability cve threat exploit",
	"invoice bill receipt",
	"stock share equity ticker",
	"recipe cooking dish meal cook",
	"translate translation localize language english french german spanish italian japanese chinese korean portuguese russian arabic hindi",
	"write draft compose author",
	"proofread grammar spelling edit polish",
	"chart graph plot visualize diagram",
	"database sql query table",
	"news headline article",
	"doctor medical health patient clinical symptom",
	"law legal contract clause attorney",
	"map route direction navigate driving",
	"restaurant food dining eat",
	"hire recruit candidate resume cv job",
	"pay payment charge reimburse reimbursement expense refund money",
	"song music playlist track",
	"error failure crash outage incident",
	"deploy release rollout ship",
	"company business firm corporate",
	"teach learn tutor explain lesson",
	"remember memory note recall",
	"notify tell message remind alert",
	"city location place address",
	"cost price quote",
	"customer client support",
	"approve approval permission",
)

// groups returns for each stem the other stems of its groups.
func groups(lines ...string) map[string][]string {
	m := make(map[string][]string)
	for _, line := range lines {
		var stems []string
		for w := range strings.FieldsSeq(line) {
			stems = append(stems, stem(w))
		}
		for _, a := range stems {
			for _, b := range stems {
				if a != b {
					m[a] = append(m[a], b)
				}
			}
		}
	}
	return m
}
