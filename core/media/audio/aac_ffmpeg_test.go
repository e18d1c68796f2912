//go:build !noffmpeg

package audio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Streams of all rates, windows, books and ways to code two channels have FFmpeg's samples, noise included, but for the rounding of floats.
func TestAACIsFFmpegs(t *testing.T) {
	for _, k := range aacKinds() {
		for name, with := range map[string]aacWith{
			"long": {}, "windows": {windows: true}, "middle": {windows: true, middle: true}, "intensity": {windows: true, intensity: true},
			"noise": {windows: true, noise: true}, "filters": {windows: true, filters: true}, "spliced": {windows: true, spliced: true}, "all": aacAll,
		} {
			t.Run(fmt.Sprintf("%v %s", k, name), func(t *testing.T) {
				r := rand.New(rand.NewPCG(11, uint64(k.rate)))
				packets := drawnAAC(r, k, 60, with)
				oursIsFFmpegs(t, asAAC, "ADTS", k.adts(packets, k.rate%2 == 1))
				oursIsFFmpegs(t, asAAC, "MP4", k.mp4(packets, aacFile{each: 7}))
			})
		}
	}
}

// So are files of encoders.
func TestAACOfEncodersIsFFmpegs(t *testing.T) {
	for name := range aacEncoders {
		oursIsFFmpegs(t, asAAC, name, testdata(t, name))
	}
}

// How many samples there are, and which is the first, is what FFmpeg makes of an MP4's edits and tables; what is odd in them is FFmpeg's.
func TestLengthsOfAACAreFFmpegs(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, k := range []aacKind{aacStereo, {8, 1}} {
		packets := drawnAAC(r, k, 60, aacWith{windows: true, noise: true})
		for what, c := range map[string]struct {
			file aacFile
			by   reading
		}{
			"no edit": {aacFile{}, asAAC}, "from 1024": {aacFile{edits: []mp4Edit{{100000, 1024}}}, asAAC}, "from 1": {aacFile{edits: []mp4Edit{{100000, 1}}}, asAAC},
			"from 2112": {aacFile{edits: []mp4Edit{{100000, 2112}}}, asAAC}, "from 2048": {aacFile{edits: []mp4Edit{{100000, 2048}}}, asAAC},
			"until 700 ms": {aacFile{edits: []mp4Edit{{700, 1024}}}, asAAC}, "from 0 until 512 ms": {aacFile{edits: []mp4Edit{{512, 0}}}, asAAC},
			"later": {aacFile{edits: []mp4Edit{{300, -1}, {900, 1024}}}, asAAC}, "places of 64 bits": {aacFile{wide: true, each: 4}, asAAC},
			"tables behind": {aacFile{late: true, each: 1}, asAAC}, "a short last one": {aacFile{last: 77, edits: []mp4Edit{{100000, 1024}}}, asAAC},
			"no doubled rate": {aacFile{config: slices.Concat(configOf(k), []byte{0x56, 0xe5, 0})}, asAAC},
			"a doubled rate":  {aacFile{config: slices.Concat(configOf(k), []byte{0x56, 0xe5, 0x80 | byte(k.rate-3)<<3})}, byFFmpeg},
			"QuickTime":       {aacFile{mov: true, edits: []mp4Edit{{100000, 2112}}}, asAAC},
			"a short chunk":   {aacFile{each: 7, short: true, edits: []mp4Edit{{100000, 1024}}}, byFFmpeg},
			"chunks":          {aacFile{each: 7, edits: []mp4Edit{{100000, 1024}}}, asAAC},
			"two edits":       {aacFile{edits: []mp4Edit{{300, 1024}, {400, 20000}}}, byFFmpeg}, "other ticks": {aacFile{scale: 90000}, byFFmpeg},
			"shown later":                {aacFile{stbl: box("ctts", uint32(0), uint32(1), uint32(60), uint32(0))}, byFFmpeg},
			"fragments":                  {aacFile{more: box("mvex", box("trex", uint32(0), uint32(1), uint32(1), uint32(1024), uint32(0), uint32(0)))}, byFFmpeg},
			"iTunes":                     {aacFile{more: iTunes(" 00000000 00000840 000001CA 00000000003F31F6 00000000")}, asAAC},
			"iTunes, and edit":           {aacFile{more: iTunes(" 00000000 00000840 000001CA 00000000003F31F6 00000000"), edits: []mp4Edit{{100000, 1024}}}, asAAC},
			"iTunes, less than the edit": {aacFile{more: iTunes(" 00000000 00000400 000001CA 00000000003F31F6 00000000"), edits: []mp4Edit{{100000, 2112}}}, byFFmpeg},
			"iTunes, elsewhere":          {aacFile{more: box("free", "iTunSMPB")}, byFFmpeg}, "iTunes, too few": {aacFile{more: iTunes(" 0 840")}, byFFmpeg},
		} {
			got, want, read := byBoth(t, what, k.mp4(packets, c.file))
			if len(got) != len(want) {
				t.Errorf("%v, %s: %d samples, FFmpeg has %d", k, what, len(got), len(want))
				continue
			}
			nearFFmpegs(t, got, want)
			if read != c.by {
				t.Errorf("%v, %s: read by %d, want %d", k, what, read, c.by)
			}
		}
	}
}

func iTunes(data string) []byte {
	item := box("----", box("mean", uint32(0), "com.apple.iTunes"), box("name", uint32(0), "iTunSMPB"), box("data", uint32(1), uint32(0), data))
	hdlr := box("hdlr", uint64(0), "mdirappl", make([]byte, 9))
	return box("udta", box("meta", uint32(0), hdlr, box("ilst", item)))
}

// What libfaac encoded says so in its first packet, by which FFmpeg knows its delay.
func TestDelayOfFAACIsFFmpegs(t *testing.T) {
	for name, by := range map[string]reading{"libfaac 1.30": asAAC, "libfaac 1.28 (UNSTABLE)": asAAC, "libfaacx1.28": byFFmpeg, "libfaac x": byFFmpeg, "another 1.30": asAAC} {
		for at := range 2 {
			d := aacDraw{aacKind: aacStereo, r: rand.New(rand.NewPCG(12, 12))}
			var packets [][]byte
			for i := range 20 {
				if i == at {
					d.name = name
				}
				packets = append(packets, d.packet())
			}
			if at > 0 && name[:8] == "libfaac " {
				by = byFFmpeg
			}
			for what, file := range map[string][]byte{"ADTS": aacStereo.adts(packets, false), "MP4": aacStereo.mp4(packets, aacFile{}),
				"edited": aacStereo.mp4(packets, aacFile{edits: []mp4Edit{{100000, 1024}}})} {
				got, want, read := byBoth(t, name, file)
				if len(got) != len(want) || read != by {
					t.Fatalf("%q in packet %d, %s: %d samples, FFmpeg has %d; read by %d, want %d", name, at, what, len(got), len(want), read, by)
				}
				nearFFmpegs(t, got, want)
			}
		}
	}
}

func configOf(k aacKind) []byte {
	return []byte{2<<3 | byte(k.rate>>1), byte(k.rate<<7) | byte(k.channels<<3)}
}

// What is not as encoders write it is FFmpeg's: another kind in the middle, noise between, what is coded in ways that nobody uses.
func TestOddAACIsFFmpegs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	packets := drawnAAC(r, aacStereo, 20, aacWith{})
	sound, other := aacStereo.adts(packets, false), aacKind{3, 2}.adts(drawnAAC(r, aacKind{3, 2}, 20, aacWith{}), false)
	doubled := slices.Clone(packets)
	doubled[5] = slices.Concat(doubled[5], doubled[6])
	// A filling of SBR's kind in place of the end, and what rises short behind what falls long.
	sbr := append(slices.Clone(packets[:3]), spectralBandReplication(r))
	w := workerOf(t, Config{Channels: 1})
	defer w.Close()
	for what, file := range map[string][]byte{
		"noise between": slices.Concat(sound, bytes.Repeat([]byte{7}, 999), sound), "cut": sound[:len(sound)-50], "another rate": slices.Concat(sound, other),
		"two packets in one": aacStereo.adts(doubled, false), "SBR": aacStereo.adts(sbr, false),
	} {
		for range 2 {
			_, info, err := w.Wave(Source{Bytes: file}, Draw{})
			if w.in.reading != byFFmpeg {
				t.Errorf("%s: FFmpeg was not asked: %+v, %v", what, info, err)
			}
			if _, _, err := w.Wave(Source{Bytes: sound}, Draw{}); err != nil || w.in.reading != asAAC {
				t.Errorf("after %s, a sound one: %v", what, err)
			}
		}
	}
}

// spectralBandReplication is a packet of silence with a filling that doubles the rate.
func spectralBandReplication(r *rand.Rand) []byte {
	d := aacDraw{aacKind: aacStereo, r: r}
	d.o.put(1<<4, 7)
	d.o.put(0, 1)
	for range 2 {
		d.o.put(100, 8)
		d.o.put(0, 11) // long windows, no bands
		d.o.put(0, 3)
	}
	d.o.put(6<<4|2, 7)
	d.o.put(13<<12, 16)
	d.o.put(7, 3)
	return d.o.b
}
