package audio

/*
#include "convolve.h"
#include "effects.h"
*/
import "C"

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Reverb lets a row sound as in a room: it is convolved with an impulse response of energy 1, as torchaudio.functional.fftconvolve does,
// and begins where the response is loudest (the direct sound), so that nothing is delayed, as in Kaldi's wav-reverberate. It keeps its length.
// A response of as many channels as the row has is one of each; of another its first counts.
type Reverb struct {
	P float64 // probability that it happens; 0: never
	Files
}

// maxResponse is the longest impulse response, in frames.
const maxResponse = 1 << 20

func (cfg *Config) checkReverb() error {
	r := cfg.Reverb
	if r == nil {
		return nil
	}
	if !(r.P >= 0 && r.P <= 1) {
		return wrong("reverb.p", "got %v, want a probability from 0 to 1", r.P)
	}
	if len(r.From) == 0 {
		return wrong("reverb.from", "got no impulse responses, want one or more")
	}
	return cfg.checkFiles("reverb", &r.Files)
}

// reverberate puts the row into a room that is drawn, if one is.
func (w *Worker) reverberate(j *job, wave planes, draw Draw) error {
	chance, which := draw.uniforms(drawReverb, 0)
	if chance >= w.op.cfg.Reverb.P {
		return nil
	}
	at := int(which * float64(len(w.op.rooms.paths)))
	room, err := w.op.rooms.get(at)
	if err != nil {
		return err
	}
	for c := range j.channels {
		x := w.mixed.get(wave.n)
		copy(x, wave.channel(c))
		h := room.channel(c)
		energy := float64(C.audio_deviation(floats(h), C.size_t(len(h)), 0))
		if !(energy > 0) || math.IsInf(energy, 1) {
			return w.op.rooms.failed(at, w.bad(j, CauseUnsupported, "its energy is %v; want an impulse response", energy))
		}
		w.convolver.run(x, h, 1/math.Sqrt(energy), loudest(h), wave.channel(c))
	}
	return nil
}

// checkResponse refuses what is too long to be an impulse response.
func checkResponse(w Wave) error {
	if w.Frames > maxResponse {
		return &Error{cause: CauseTooLarge, Detail: fmt.Sprintf("got %d frames, want an impulse response of at most %d", w.Frames, maxResponse)}
	}
	return nil
}

// loudest is where |x| is largest, the first of several.
func loudest(x []float32) int {
	at, most := 0, float32(0)
	for i, v := range x {
		if v = max(v, -v); v > most {
			at, most = i, v
		}
	}
	return at
}

// convolver has the tables of the transform that was used last, and its memory.
type convolver struct {
	turns, room []float64
}

// keepPoints bounds what is kept.
const keepPoints = 1 << 18

// run is n frames of by * h convolved with x, from frame `from` on; to is not x.
func (v *convolver) run(x, h []float32, by float64, from int, to []float32) {
	if len(x) == 0 {
		return
	}
	points := 1 << bits.Len(uint(max(4, min(2*len(h), len(x)+len(h)))-1))
	if len(v.turns) != points {
		v.turns, v.room = make([]float64, points), make([]float64, 4*points)
		C.audio_convolve_turns(C.size_t(points), doubles(v.turns))
	}
	C.audio_convolve(floats(x), C.size_t(len(x)), floats(h), C.size_t(len(h)), C.double(by), C.size_t(from), C.size_t(points),
		doubles(v.turns), doubles(v.room), floats(to))
	if points > keepPoints {
		*v = convolver{}
	}
}

func doubles(x []float64) *C.double { return (*C.double)(unsafe.Pointer(unsafe.SliceData(x))) }
