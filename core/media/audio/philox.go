package audio

// Draw says what is random about a sample: equal draws give equal rows on any thread.
type Draw struct{ Seed, Epoch, Index uint64 }

// What is drawn, each an operation of its own; core/media's have the numbers below (philox.c).
const (
	drawCrop          = 16
	drawSpeed         = 17
	drawNoise         = 18
	drawGain          = 19
	drawInvert        = 20
	drawFrequencyMask = 21
	drawTimeMask      = 22
	drawReverb        = 23
)

// uniform is the first of uniforms' of block 0.
func (d Draw) uniform(op uint32) float64 {
	u, _ := d.uniforms(op, 0)
	return u
}

// uniforms are the two uniforms in [0, 1) that core/media/philox.c defines for operation op and a block.
func (d Draw) uniforms(op, block uint32) (float64, float64) {
	c := d.words(op, block)
	return uniform53(c[0], c[1]), uniform53(c[2], c[3])
}

func uniform53(a, b uint32) float64 { return (float64(a>>5)*(1<<26) + float64(b>>6)) / (1 << 53) }

// words are those that uniforms are made of.
func (d Draw) words(op, block uint32) [4]uint32 {
	return philox([4]uint32{uint32(d.Index), uint32(d.Index >> 32), uint32(d.Epoch), op<<24 | block}, [2]uint32{uint32(d.Seed), uint32(d.Seed >> 32)})
}

// philox is Philox4x32-10 (Salmon et al., SC 2011).
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k[0], uint32(b), uint32(a>>32) ^ c[3] ^ k[1], uint32(a)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}
