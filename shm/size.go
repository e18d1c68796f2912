package shm

// SlotBytes is the memory one slot of such a ring takes in the data segment; nothing is made. It returns ErrArgument
// when the configuration makes no sense.
func SlotBytes(c Config) (uint64, error) {
	c, err := c.withDefaults()
	if err != nil {
		return 0, err
	}
	g, err := newGeometry(&c)
	if err != nil {
		return 0, err
	}
	return g.slotStride, nil
}
