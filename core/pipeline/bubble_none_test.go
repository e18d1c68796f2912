//go:build !go1.25

package pipeline

import (
	"runtime"
	"testing"
)

// bubble runs body as it is: this Go cannot make time virtual.
func bubble(t *testing.T, body func(t *testing.T)) { body(t) }

func pause(moments int) {
	for range moments {
		runtime.Gosched()
	}
}
