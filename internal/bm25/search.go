package bm25

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
)

// The constants of BM25 (Okapi), and of what is added to it.
const (
	k1 = 1.5
	b  = 0.75
	// phraseBonus is how much more two words count that stand side by side in the query
	// and in the document.
	phraseBonus = 2
	// likeWeight and prefixWeight are how much a word counts that is only alike, or only
	// begins like the word of the query.
	likeWeight   = 0.35
	prefixWeight = 0.5
	// minPrefix is the length of the shortest stem whose continuations count.
	minPrefix = 4
	// maxContinued is how many of them count.
	maxContinued = 8
)

// How often a word counts by where it stands.
const (
	nameWeight        = 3.0
	skillNameWeight   = 2.5
	tagWeight         = 2.0
	exampleWeight     = 1.2
	descriptionWeight = 1.0
	summaryWeight     = 1.0
)

// Limits of a query and of its answer.
const (
	maxQueryWords = 64
	// DefaultLimit is how many hits are returned if the caller does not say.
	DefaultLimit = 5
	// MaxLimit is how many are returned at most.
	MaxLimit = 100
	// maxTop is how many skills of a hit are named.
	maxTop = 3
	// leastScore is the score below which a hit is none.
	leastScore = 0.02
)

// Skill is something that a document can do.
type Skill struct {
	ID, Name, Description string
	Tags, Examples        []string
}

// Document is what can be found.
type Document struct {
	// ID identifies the document. It is required.
	ID string
	// Kind is what it is, such as "a2a" or "mcp"; Name is its name, and Title another
	// one, for people.
	Kind, Name, Title string
	// Summary says what it is for.
	Summary string
	Skills  []Skill
}

// Hit is a document that was found.
type Hit struct {
	ID, Kind, Name, Summary string
	// Score is how well it fits, from 0 to 1, relative to the best.
	Score float64
	// Skills are the ids of those that fit, the best first, at most three.
	Skills []string
}

// Index finds documents.
type Index struct {
	mu    sync.RWMutex // guards the fields below
	slots []slot
	byID  map[string]int
	dead  int
	terms map[string]*term
	// length is the sum of the lengths of the living documents.
	length float64
	// sorted are the single words in order.
	sorted []string
}

// slot is a document, or what is left of one.
type slot struct {
	doc    *Document // nil if it was dropped
	length float64
	terms  []string
	// pairs are the words that stand side by side, in order.
	pairs []pair
}

// pair is two words that stand side by side, and how much they count together.
type pair struct {
	sum    uint32
	weight float32
}

// term is a stem with the documents that have it, in the order of their slots.
type term struct {
	in   []posting
	live int // how many of them are living
}

type posting struct {
	slot   int32
	weight float32
}

// New returns an empty Index.
func New() *Index {
	return &Index{byID: make(map[string]int), terms: make(map[string]*term)}
}

// Len returns how many documents there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byID)
}

// Put adds a document, in place of the one with its ID. The Index keeps it.
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
			x.sortLocked(text)
		}
		t.in = append(t.in, posting{int32(n), float32(found.weights[text])})
		t.live++
	}
	x.slots = append(x.slots, s)
	x.byID[d.ID] = n
	x.length += s.length
}

// sortLocked puts a new word among the others.
func (x *Index) sortLocked(text string) {
	i, _ := slices.BinarySearch(x.sorted, text)
	x.sorted = slices.Insert(x.sorted, i, text)
}

// Drop forgets a document.
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

// compactLocked takes what was dropped out of the lists.
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

// bag is the words of a document with their weights.
type bag struct {
	terms   []string
	weights map[string]float64
	pairs   map[uint32]float64
	length  float64
}

func newBag() *bag {
	return &bag{weights: make(map[string]float64), pairs: make(map[uint32]float64)}
}

// inOrder returns the pairs in order.
func (bg *bag) inOrder() []pair {
	pairs := make([]pair, 0, len(bg.pairs))
	for sum, weight := range bg.pairs {
		pairs = append(pairs, pair{sum, float32(weight)})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.sum, b.sum) })
	return pairs
}

// together returns a short name of two words that stand side by side.
func together(a, b string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(a))
	h.Write([]byte{0})
	h.Write([]byte(b))
	return h.Sum32()
}

// weigh counts the words of a document.
func weigh(d *Document) *bag {
	bg := newBag()
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

// add counts the words of a text, and each two that stand side by side.
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

// wanted is a word of a query, or two if second is not empty, and how much it counts.
type wanted struct {
	text, second string
	weight       float64
}

// want returns the terms of a query.
func (x *Index) want(query string) []wanted {
	stems := words(query)
	stems = stems[:min(len(stems), maxQueryWords)]
	var all []wanted
	at := make(map[[2]string]int)
	add := func(text, second string, weight float64) {
		if i, ok := at[[2]string{text, second}]; ok {
			all[i].weight = max(all[i].weight, weight)
			return
		}
		at[[2]string{text, second}] = len(all)
		all = append(all, wanted{text, second, weight})
	}
	last := ""
	for _, w := range stems {
		if w != "" {
			add(w, "", 1)
			if last != "" {
				add(last, w, phraseBonus)
			}
		}
		last = w
	}
	for _, w := range compounds(query) {
		add(w, "", 1)
		stems = append(stems, w)
	}
	for _, w := range stems {
		if w == "" {
			continue
		}
		for _, like := range alike[w] {
			add(like, "", likeWeight)
		}
		for _, longer := range x.continued(w) {
			add(longer, "", prefixWeight)
		}
	}
	return all
}

// continued returns words that begin with a stem and are longer.
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

// Search returns the documents that fit a query, the best first, at most limit; zero
// means DefaultLimit. Equal documents come in the order of their IDs.
func (x *Index) Search(query string, limit int) []Hit {
	limit = min(cmp.Or(max(limit, 0), DefaultLimit), MaxLimit)
	x.mu.RLock()
	defer x.mu.RUnlock()
	terms := x.want(query)
	best := x.best(x.scores(terms), limit)
	hits := make([]Hit, 0, len(best))
	for _, r := range best {
		score := r.score / best[0].score
		if score < leastScore {
			break
		}
		d := x.slots[r.slot].doc
		hits = append(hits, Hit{
			ID: d.ID, Kind: d.Kind, Name: d.Name, Summary: d.Summary,
			Score: math.Round(score*1000) / 1000, Skills: top(d, terms),
		})
	}
	return hits
}

// scores returns the score of each slot.
func (x *Index) scores(terms []wanted) []float64 {
	scores := make([]float64, len(x.slots))
	n := float64(len(x.byID))
	average := x.length / max(n, 1)
	for _, w := range terms {
		in := x.having(&w)
		if len(in) == 0 {
			continue
		}
		idf := math.Log(1 + (n-float64(len(in))+0.5)/(float64(len(in))+0.5))
		for _, p := range in {
			tf := float64(p.weight)
			scores[p.slot] += w.weight * idf * tf * (k1 + 1) / (tf + k1*(1-b+b*x.slots[p.slot].length/average))
		}
	}
	return scores
}

// having returns the living documents that have what is wanted.
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

// sideBySide returns the living documents that have two words side by side.
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
	for _, p := range a.in { // the rarer one
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

// best returns the slots with the highest scores, in order.
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

// top returns the ids of the skills of a document that fit the terms best.
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
