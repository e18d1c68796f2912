package web

import (
	"net"
	"net/http"
	"sync"
)

// connections is how many are open at a time at most: the page may not take the descriptors that consumers and files need.
const connections = 100

// crowd keeps the connections few. Beyond the limit the one that has rested for longest is closed, or, where none rests, the oldest: whoever
// comes is served, so that a probe is answered however many others hold on.
type crowd struct {
	mu      sync.Mutex
	clock   uint64 // of changes
	members map[net.Conn]member
}

type member struct {
	rests bool   // no request of its is under way
	since uint64 // by the clock
}

// changed is for http.Server.ConnState.
func (c *crowd) changed(conn net.Conn, to http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to == http.StateClosed || to == http.StateHijacked {
		delete(c.members, conn)
		return
	}
	c.clock++
	if to == http.StateNew && len(c.members) >= connections {
		leaves := c.first()
		delete(c.members, leaves)
		_ = leaves.Close() // its goroutine sees that
	} else if _, here := c.members[conn]; !here && to != http.StateNew {
		return // it was closed this moment
	}
	c.members[conn] = member{rests: to != http.StateActive, since: c.clock}
}

// first is who is to leave first.
func (c *crowd) first() (leaves net.Conn) {
	for conn, m := range c.members {
		if was := c.members[leaves]; leaves == nil || m.rests && !was.rests || m.rests == was.rests && m.since < was.since {
			leaves = conn
		}
	}
	return leaves
}
