package bus

// Inject puts bytes at an address that need not be an envelope.
func (m *Memory) Inject(at Address, data []byte) error {
	m.begin()
	return m.broker.put(at, data)
}
