package store

import "context"

// Fetch reads a whole object of at most limit bytes, by a client of the zero Options that is for this call alone.
func Fetch(ctx context.Context, name string, limit int64) ([]byte, error) {
	c, err := New(Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	data := []byte{}
	n, err := c.ReadAll(ctx, name, limit, func(n int) []byte {
		data = make([]byte, n)
		return data
	})
	if err != nil {
		return nil, err
	}
	return data[:n], nil
}
