package httpfront

// MaxCards is maxCards.
const MaxCards = maxCards

// CardsKept returns how many card documents f caches.
func CardsKept(f *Front) int {
	f.cards.mu.Lock()
	defer f.cards.mu.Unlock()
	return len(f.cards.docs)
}
