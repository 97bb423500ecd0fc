package bm25

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
)

// Constants of BM25 (Okapi) and its extensions.
const (
	k1 = 1.5
	b  = 0.75
	// phraseBonus is the additional weight of two words that are adjacent in the query and in
	// the document.
	phraseBonus = 2
	// likeWeight and prefixWeight are the weights of a word that is only alike, or that only
	// begins with the word of the query.
	likeWeight   = 0.35
	prefixWeight = 0.5
	// minPrefix is the minimum length of a stem that matches as a prefix.
	minPrefix = 4
	// maxContinued limits the number of words matched by a prefix.
	maxContinued = 8
)

// Weights of a word by its position.
const (
	nameWeight        = 3.0
	skillNameWeight   = 2.5
	tagWeight         = 2.0
	exampleWeight     = 1.2
	descriptionWeight = 1.0
	summaryWeight     = 1.0
)

// Limits of a query and its result.
const (
	maxQueryWords = 64
	// DefaultLimit is the default number of hits.
	DefaultLimit = 5
	// MaxLimit is the maximum number of hits.
	MaxLimit = 100
	// maxTop is the number of skills named in a hit.
	maxTop = 3
	// leastScore is the minimum score of a hit.
	leastScore = 0.02
)

// Skill is a skill of a document.
type Skill struct {
	ID, Name, Description string
	Tags, Examples        []string
}

// Document is an item of the index.
type Document struct {
	// ID identifies the document. It is required.
	ID string
	// Kind is the kind of the item, such as "a2a" or "mcp"; Name is its name, and Title its
	// display name.
	Kind, Name, Title string
	// Summary describes the purpose of the item.
	Summary string
	Skills  []Skill
}

// Hit is a document found by a search.
type Hit struct {
	ID, Kind, Name, Summary string
	// Score is the relevance from 0 to 1. The best hit has the share of the query that its document
	// covers, rare words counting more than common ones; the others are relative to it.
	Score float64
	// Skills are the ids of the matching skills, best first, at most three.
	Skills []string
}

// Index is a search index of documents.
type Index struct {
	mu    sync.RWMutex // guards the fields below
	slots []slot
	byID  map[string]int
	dead  int
	terms map[string]*term
	// length is the total length of the current documents.
	length float64
	// sorted are all words, sorted.
	sorted []string
}

// slot is a document, or the remains of a dropped one.
type slot struct {
	doc    *Document // nil if it was dropped
	length float64
	terms  []string
	// pairs are the pairs of adjacent words, sorted.
	pairs []pair
}

// pair is a pair of adjacent words with its weight.
type pair struct {
	sum    uint32
	weight float32
}

// term is a stem with the documents that contain it, in the order of their slots.
type term struct {
	in   []posting
	live int // number of current documents among them
}

type posting struct {
	slot   int32
	weight float32
}

// New returns an empty Index.
func New() *Index {
	return &Index{byID: make(map[string]int), terms: make(map[string]*term)}
}

// Len returns the number of documents.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byID)
}

// Put adds a document, replacing the one with its ID. The Index retains it.
func (x *Index) Put(d *Document) {
	found := weigh(d)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dropLocked(d.ID)
	n := len(x.slots)
	s := slot{doc: d, length: found.length, terms: found.terms, pairs: found.inOrder()}
	for _, text := range found.terms {
		t := x.terms[text]
		if t == nil {
			t = new(term)
			x.terms[text] = t
			i, _ := slices.BinarySearch(x.sorted, text)
			x.sorted = slices.Insert(x.sorted, i, text)
		}
		t.in = append(t.in, posting{int32(n), float32(found.weights[text])})
		t.live++
	}
	x.slots = append(x.slots, s)
	x.byID[d.ID] = n
	x.length += s.length
}

// Drop removes a document.
func (x *Index) Drop(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dropLocked(id)
}

func (x *Index) dropLocked(id string) {
	n, ok := x.byID[id]
	if !ok {
		return
	}
	s := &x.slots[n]
	for _, text := range s.terms {
		x.terms[text].live--
	}
	x.length -= s.length
	*s = slot{}
	delete(x.byID, id)
	if x.dead++; x.dead > len(x.byID)+1000 {
		x.compactLocked()
	}
}

// compactLocked removes dropped documents from the lists.
func (x *Index) compactLocked() {
	moved := make([]int32, len(x.slots))
	var slots []slot
	for i, s := range x.slots {
		moved[i] = -1
		if s.doc != nil {
			moved[i] = int32(len(slots))
			x.byID[s.doc.ID] = len(slots)
			slots = append(slots, s)
		}
	}
	x.slots, x.dead = slots, 0
	for text, t := range x.terms {
		in := t.in[:0]
		for _, p := range t.in {
			if at := moved[p.slot]; at >= 0 {
				in = append(in, posting{at, p.weight})
			}
		}
		if t.in = slices.Clip(in); len(in) == 0 {
			delete(x.terms, text)
		}
	}
	x.sorted = slices.DeleteFunc(x.sorted, func(w string) bool { return x.terms[w] == nil })
}

// bag holds the words of a document with their weights.
type bag struct {
	terms   []string
	weights map[string]float64
	pairs   map[uint32]float64
	length  float64
}

// inOrder returns the pairs, sorted.
func (bg *bag) inOrder() []pair {
	pairs := make([]pair, 0, len(bg.pairs))
	for sum, weight := range bg.pairs {
		pairs = append(pairs, pair{sum, float32(weight)})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.sum, b.sum) })
	return pairs
}

// together returns a hash of two adjacent words.
func together(a, b string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(a))
	h.Write([]byte{0})
	h.Write([]byte(b))
	return h.Sum32()
}

// weigh counts the words of a document.
func weigh(d *Document) *bag {
	bg := &bag{weights: make(map[string]float64), pairs: make(map[uint32]float64)}
	bg.add(d.Name, nameWeight)
	bg.add(d.Title, nameWeight)
	bg.add(d.Summary, summaryWeight)
	for i := range d.Skills {
		s := &d.Skills[i]
		bg.add(s.ID, skillNameWeight)
		if s.Name != s.ID {
			bg.add(s.Name, skillNameWeight)
		}
		bg.add(s.Description, descriptionWeight)
		for _, t := range s.Tags {
			bg.add(t, tagWeight)
		}
		for _, e := range s.Examples {
			bg.add(e, exampleWeight)
		}
	}
	return bg
}

// add counts the words of a text, and the pairs of adjacent words.
func (bg *bag) add(text string, weight float64) {
	last := ""
	for _, w := range words(text) {
		if w != "" {
			bg.count(w, weight)
			bg.length += weight
			if last != "" {
				bg.pairs[together(last, w)] += weight
			}
		}
		last = w
	}
	for _, w := range compounds(text) {
		bg.count(w, weight)
	}
}

func (bg *bag) count(text string, weight float64) {
	if _, ok := bg.weights[text]; !ok {
		bg.terms = append(bg.terms, text)
	}
	bg.weights[text] += weight
}

// wanted is a word of a query, or a pair if second is not empty, with its weight. For a word that
// only resembles one of the query, likeOf is that one.
type wanted struct {
	text, second string
	likeOf       string
	weight       float64
}

// want returns the terms of a query.
func (x *Index) want(query string) []wanted {
	stems := queryStems(query)
	var all []wanted
	at := make(map[[2]string]int)
	add := func(w wanted) {
		if i, ok := at[[2]string{w.text, w.second}]; ok {
			all[i].weight = max(all[i].weight, w.weight)
			return
		}
		at[[2]string{w.text, w.second}] = len(all)
		all = append(all, w)
	}
	last := ""
	for _, w := range stems {
		if w != "" {
			add(wanted{text: w, weight: 1})
			if last != "" {
				add(wanted{text: last, second: w, weight: phraseBonus})
			}
		}
		last = w
	}
	for _, w := range compounds(query) {
		add(wanted{text: w, weight: 1})
		stems = append(stems, w)
	}
	for _, w := range stems {
		if w == "" {
			continue
		}
		for _, like := range alike[w] {
			add(wanted{text: like, likeOf: w, weight: likeWeight})
		}
		for _, longer := range x.continued(w) {
			add(wanted{text: longer, likeOf: w, weight: prefixWeight})
		}
	}
	return all
}

// continued returns longer words that begin with a stem.
func (x *Index) continued(w string) []string {
	if len(w) < minPrefix {
		return nil
	}
	var found []string
	i, _ := slices.BinarySearch(x.sorted, w)
	for ; i < len(x.sorted) && strings.HasPrefix(x.sorted[i], w) && len(found) < maxContinued; i++ {
		if x.sorted[i] != w && x.terms[x.sorted[i]].live > 0 {
			found = append(found, x.sorted[i])
		}
	}
	return found
}

// Corpus describes a collection of which an Index holds some documents. The zero Corpus is the
// Index itself.
type Corpus struct {
	// Size is the number of documents, and Counts the number of those that contain a word. If
	// Counts is not nil, other words of the query do not count.
	Size   int
	Counts map[string]int
}

// Search returns the documents that match a query, best first, at most limit; zero means
// DefaultLimit. Documents with equal scores are sorted by ID.
func (x *Index) Search(query string, limit int) []Hit { return x.SearchIn(query, limit, Corpus{}) }

// SearchIn is like Search for an Index that holds those documents of a corpus that match the
// query. The rarer a word is in the corpus, the more it weighs.
func (x *Index) SearchIn(query string, limit int, in Corpus) []Hit {
	limit = min(cmp.Or(max(limit, 0), DefaultLimit), MaxLimit)
	x.mu.RLock()
	defer x.mu.RUnlock()
	terms := x.want(query)
	best := x.best(x.scores(terms, in), limit)
	hits := make([]Hit, 0, len(best))
	covered := 0.0
	for i, r := range best {
		if i == 0 {
			covered = x.coverage(r.slot, terms, in)
		}
		score := r.score / best[0].score
		if score < leastScore {
			break
		}
		score *= covered
		d := x.slots[r.slot].doc
		hits = append(hits, Hit{
			ID: d.ID, Kind: d.Kind, Name: d.Name, Summary: d.Summary,
			Score: math.Round(score*1000) / 1000, Skills: top(d, terms),
		})
	}
	return hits
}

// scores returns the score of each slot.
func (x *Index) scores(terms []wanted, corpus Corpus) []float64 {
	scores := make([]float64, len(x.slots))
	average := x.length / float64(max(len(x.byID), 1))
	n := float64(max(corpus.Size, len(x.byID)))
	for _, w := range terms {
		in := x.having(&w)
		if len(in) == 0 {
			continue
		}
		having := float64(len(in))
		if w.second == "" && corpus.Counts != nil {
			having = min(float64(corpus.Counts[w.text]), n)
			if having == 0 {
				continue
			}
		}
		idf := rarity(n, having)
		for _, p := range in {
			tf := float64(p.weight)
			scores[p.slot] += w.weight * idf * tf * (k1 + 1) / (tf + k1*(1-b+b*x.slots[p.slot].length/average))
		}
	}
	return scores
}

// rarity is the inverse document frequency of a word that some of n documents contain.
func rarity(n, having float64) float64 { return math.Log(1 + (n-having+0.5)/(having+0.5)) }

// coverage returns the share of the words of a query that a document contains, from 0 to 1. A word
// counts by its rarity in the corpus, and in part if the document only has one that resembles it.
func (x *Index) coverage(slot int, terms []wanted, corpus Corpus) float64 {
	n := float64(max(corpus.Size, len(x.byID)))
	found := make(map[string]float64) // by word of the query
	for _, w := range terms {
		if w.second == "" && slices.Contains(x.slots[slot].terms, w.text) {
			word := cmp.Or(w.likeOf, w.text)
			found[word] = max(found[word], w.weight)
		}
	}
	sum, all := 0.0, 0.0
	for _, w := range terms {
		if w.second != "" || w.likeOf != "" {
			continue
		}
		having := float64(len(x.having(&w)))
		if corpus.Counts != nil {
			having = min(float64(corpus.Counts[w.text]), n)
		}
		sum += rarity(n, having) * found[w.text]
		all += rarity(n, having)
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// having returns the current documents that contain a word or pair.
func (x *Index) having(w *wanted) []posting {
	t := x.terms[w.text]
	if t == nil || t.live == 0 {
		return nil
	}
	if w.second != "" {
		return x.sideBySide(w)
	}
	if t.live == len(t.in) {
		return t.in
	}
	in := make([]posting, 0, t.live)
	for _, p := range t.in {
		if x.slots[p.slot].doc != nil {
			in = append(in, p)
		}
	}
	return in
}

// sideBySide returns the current documents that contain a pair.
func (x *Index) sideBySide(w *wanted) []posting {
	a, b := x.terms[w.text], x.terms[w.second]
	if b == nil {
		return nil
	}
	if len(b.in) < len(a.in) {
		a, b = b, a
	}
	var in []posting
	sum := together(w.text, w.second)
	for _, p := range a.in { // the rarer word
		s := &x.slots[p.slot]
		i, ok := slices.BinarySearchFunc(s.pairs, sum, func(p pair, sum uint32) int { return cmp.Compare(p.sum, sum) })
		if ok {
			in = append(in, posting{p.slot, s.pairs[i].weight})
		}
	}
	return in
}

// ranked is a slot with its score.
type ranked struct {
	slot  int
	score float64
}

// best returns the slots with the highest scores, best first.
func (x *Index) best(scores []float64, limit int) []ranked {
	var found []ranked
	before := func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.slots[a.slot].doc.ID, x.slots[b.slot].doc.ID))
	}
	for i, score := range scores {
		r := ranked{i, score}
		if score <= 0 || len(found) == limit && before(r, found[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(found, r, before)
		found = slices.Insert(found, at, r)
		found = found[:min(len(found), limit)]
	}
	return found
}

// top returns the ids of the skills of a document that match the terms best.
func top(d *Document, terms []wanted) []string {
	type fit struct {
		id    string
		score float64
	}
	var fits []fit
	for i := range d.Skills {
		bg := weigh(&Document{Skills: d.Skills[i : i+1]})
		score := 0.0
		for _, w := range terms {
			tf := bg.weights[w.text]
			if w.second != "" {
				tf = bg.pairs[together(w.text, w.second)]
			}
			if tf > 0 {
				score += w.weight * tf / (tf + k1)
			}
		}
		if score > 0 {
			fits = append(fits, fit{d.Skills[i].ID, score})
		}
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(b.score, a.score) })
	var ids []string
	for _, f := range fits[:min(len(fits), maxTop)] {
		ids = append(ids, f.id)
	}
	return ids
}
