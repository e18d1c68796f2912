package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

const long = 10_000 // of a kind, in the long form

// Count is how many damaged files of each sort are to be tried: few, unless the environment asks for more.
func Count(few int) int {
	if n, err := strconv.Atoi(os.Getenv("SPDL_DAMAGE")); err == nil {
		return n
	}
	if os.Getenv("SPDL_FAULT_LONG") != "" {
		return long
	}
	return few
}

// A Try is given one damaged file, in memory of its own without a byte behind it, and what was done to it.
type Try func(what string, bad []byte)

// Cuts tries n beginnings of the file, from none of it to all but its last byte; every one if it is not longer.
func Cuts(whole []byte, n int, try Try) {
	n = min(n, len(whole))
	for i := range n {
		size := i * len(whole) / n
		try(fmt.Sprintf("cut to %d of %d bytes", size, len(whole)), exactly(whole[:size]))
	}
}

// Flips tries n copies of the file with one to eight bits flipped. Every second one is repaired. A PNG is also damaged
// below its compression, every fourth time.
func Flips(whole []byte, n int, try Try) {
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(len(whole)), uint64(i)))
		bad, what := exactly(whole), "flips"
		if inner := unpackPNG(whole); i%4 == 3 && inner != nil {
			flip(r, inner.pixels)
			bad, what = inner.pack(), "flips below the compression"
		} else {
			flip(r, bad)
		}
		if i%2 == 1 {
			Repair(whole, bad)
			what += ", repaired"
		}
		try(fmt.Sprintf("%s, number %d", what, i), bad)
	}
}

// flip flips bits anywhere, or close together.
func flip(r *rand.Rand, b []byte) {
	if len(b) == 0 {
		return
	}
	at, near := r.IntN(len(b)), r.IntN(2) == 0
	for range 1 + r.IntN(8) {
		b[at] ^= 1 << r.IntN(8)
		if at = r.IntN(len(b)); near {
			at = min(at, 64) // headers are where the numbers are
		}
	}
}

func exactly(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// Repair makes the checksums of a damaged file right again, where it is of a format with some: PNG, FLAC, Ogg, zip, tar. They are looked
// for where the whole file has them.
func Repair(whole, bad []byte) {
	if len(bad) != len(whole) && !bytes.HasPrefix(bad, pngMagic) {
		return
	}
	switch {
	case bytes.HasPrefix(whole, pngMagic):
		repairPNG(bad)
	case bytes.HasPrefix(whole, []byte("fLaC")):
		repairFLAC(whole, bad)
	case bytes.HasPrefix(whole, []byte("OggS")):
		repairOgg(whole, bad)
	case bytes.HasPrefix(whole, []byte("PK\x03\x04")):
		repairZip(whole, bad)
	case len(whole) >= tarBlock && string(whole[257:262]) == "ustar":
		repairTar(whole, bad)
	}
}
