package store

import "context"

// MaxFetch is the largest object that Fetch reads, in bytes.
const MaxFetch = 4 << 30

// Fetch reads a whole object, by a client of the zero Options that is for this call alone.
func Fetch(ctx context.Context, name string) ([]byte, error) {
	c, err := New(Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	data := []byte{}
	n, err := c.ReadLarge(ctx, name, MaxFetch, func(n int) []byte {
		data = make([]byte, n)
		return data
	})
	if err != nil {
		return nil, err
	}
	return data[:n], nil
}
