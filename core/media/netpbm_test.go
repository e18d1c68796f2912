//go:build !noffmpeg

package media

import (
	"fmt"
	"math"
	"testing"
)

// Whatever the largest value, it is white, and what lies between is scaled by it; comments may be anywhere in the head.
func TestNetpbmSamplesAreScaledByTheLargestValue(t *testing.T) {
	op := compiled(t, Config{Resize: Size{1, 4}})
	for _, largest := range []int{1, 7, 100, 254, 255, 256, 1023, 65534, 65535} {
		values := []int{0, largest / 3, largest / 2, largest}
		var binary []byte
		for _, v := range values {
			if largest > 255 {
				binary = append(binary, byte(v>>8))
			}
			binary = append(binary, byte(v))
		}
		for name, data := range map[string][]byte{
			"P5": append(fmt.Appendf(nil, "P5 4 # wide\n1\n#\n%d\n", largest), binary...),
			"P2": fmt.Appendf(nil, "P2\n4 1\n%d\n%d %d %d %d\n", largest, values[0], values[1], values[2], values[3]),
			"P7": append(fmt.Appendf(nil, "P7\nWIDTH 4\nHEIGHT 1\nDEPTH 1\nMAXVAL %d\nTUPLTYPE GRAYSCALE\nENDHDR\n", largest), binary...),
		} {
			if name == "P7" && largest == 1 { // bits, in bytes or packed
				continue
			}
			row := make([]byte, op.RowBytes())
			if _, err := worker(t, nil).Row(row, data, op, Draw{}); err != nil {
				t.Fatalf("%s, largest %d: %v", name, largest, err)
			}
			for i, v := range values {
				if want := byte(math.RoundToEven(float64(v) / float64(largest) * 255)); row[3*i] != want {
					t.Errorf("%s: %d of %d is %d, want %d", name, v, largest, row[3*i], want)
				}
			}
		}
	}
}
