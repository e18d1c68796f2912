package store

import (
	"context"

	"github.com/zeebo/xxh3"
)

// MaxFetch is the largest object that Fetch reads, in bytes.
const MaxFetch = 4 << 30

// Fetch reads a whole object, by a client of the zero Options that is for this call alone.
func Fetch(ctx context.Context, name string) ([]byte, error) {
	data, _, err := Reach(ctx, name, 0)
	return data, err
}

// Distant is a large object that is read in parts, by a client of its own.
type Distant struct {
	*Reader
	end context.CancelFunc
}

// Size is the object's length in bytes.
func (d *Distant) Size() int64 { return d.object.Size }

// Version is the object's.
func (d *Distant) Version() int64 { return d.object.Version() }

// Close ends it, and what it reads ahead.
func (d *Distant) Close() {
	d.end()
	d.client.Close()
}

// Version is a number that tells one version of an object from another; 0: the store does not tell them apart.
func (o *Object) Version() int64 {
	if o.ETag == "" && o.Modified == "" {
		return 0
	}
	return int64(xxh3.HashString(o.ETag+"\x00"+o.Modified) | 1)
}

// Reach is Fetch of an object of less than large bytes, and of others too where large is 0 or the store gives no parts of objects. Of the rest it reads
// the beginning; whoever reads them closes them.
func Reach(ctx context.Context, name string, large int64) ([]byte, *Distant, error) {
	c, err := New(Options{})
	if err != nil {
		return nil, nil, err
	}
	data := []byte{}
	all, err := c.readLarge(ctx, question{name: name, limit: MaxFetch, large: large, room: func(n int) []byte {
		data = make([]byte, n)
		return data
	}})
	if err == nil && all.large != nil {
		var o *Object
		if o, err = c.versionOf(ctx, all.large); err == nil {
			r := c.Reader(o)
			ctx, end := context.WithCancel(ctx)
			r.Until(ctx, nil)
			return nil, &Distant{r, end}, nil
		}
	}
	c.Close()
	if err != nil {
		return nil, nil, err
	}
	return data[:all.n], nil, nil
}
