//go:build !noffmpeg

package av

/*
#include <string.h>
#include <libavcodec/codec_desc.h>
#include <libavutil/channel_layout.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libavutil/spherical.h>
#include <libavutil/stereo3d.h>
#include "packets.h"

static uint64_t layout_mask(const AVChannelLayout *l) { return l->order == AV_CHANNEL_ORDER_NATIVE ? l->u.mask : 0; }

static void set_layout(AVChannelLayout *l, int channels, uint64_t mask) {
    l->order = mask ? AV_CHANNEL_ORDER_NATIVE : AV_CHANNEL_ORDER_UNSPEC;
    l->nb_channels = channels;
    if (mask) l->u.mask = mask;
}

// Side data that decoders and muxers read, and the least that they read of it. The rest is left out: much of it is structs, which others
// must not be able to make too short.
static size_t least(enum AVPacketSideDataType type) {
    switch ((int)type) {
    case AV_PKT_DATA_PALETTE: return AVPALETTE_SIZE;
    case AV_PKT_DATA_NEW_EXTRADATA: return 1;
    case AV_PKT_DATA_PARAM_CHANGE: return 4;
    case AV_PKT_DATA_SKIP_SAMPLES: return 10;
    case AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL: return 8;
    case AV_PKT_DATA_DISPLAYMATRIX: return 9 * sizeof(int32_t);
    case AV_PKT_DATA_MASTERING_DISPLAY_METADATA: return sizeof(AVMasteringDisplayMetadata);
    case AV_PKT_DATA_CONTENT_LIGHT_LEVEL: return sizeof(AVContentLightMetadata);
    case AV_PKT_DATA_STEREO3D: return sizeof(AVStereo3D);
    case AV_PKT_DATA_SPHERICAL: return sizeof(AVSphericalMapping);
    case AV_PKT_DATA_CPB_PROPERTIES: return sizeof(AVCPBProperties);
    default: return 0;
    }
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Packets as bytes, all numbers little-endian: bytesMagic; a bytesHead; the container's name, the codec's extradata, the stream's side data;
// then each packet, a bytesPacket, its data and its side data. Side data are a type, a size and as many bytes. Numbers that are FFmpeg's own
// (codecs, formats, types of side data) hold within one major version of its libraries, which the head names.
const bytesMagic = "SPDLPKT1"

type bytesHead struct {
	Codec, Format uint32 // major versions of libavcodec and libavformat
	Stream        int32
	Flags         uint32 // of the piece
	Window        [2]float64
	Origin        int64

	ContainerDuration              int64
	Estimation                     int32
	TimeBase, Rate, Guess, Aspect  [2]int32
	Start, Duration, Frames        int64
	Disposition                    int32
	Type, ID                       int32
	Tag                            uint32
	SampleFormat                   int32 // or pixel format
	BitRate                        int64
	CodedBits, RawBits             int32
	Profile, Level                 int32
	Width, Height                  int32
	PixelAspect                    [2]int32
	Fields, Range, Primaries       int32
	Transfer, Space, Location      int32
	Delay                          int32
	SampleRate, Block, FrameSize   int32
	Padding, EndPadding, Preroll   int32
	Channels                       int32
	Mask                           uint64 // of the channels; 0: it is not said which they are
	NameBytes, Extradata, SideData uint32
	Packets                        uint64
}

type bytesPacket struct {
	PTS, DTS, Duration, Position int64
	Flags, Size, SideData        uint32
}

// Flags of a bytesHead.
const (
	bytesWindow = 1 << iota
	bytesFromStart
	bytesWhole
)

// packetFlags are those that travel. FFmpeg's TRUSTED, which lets a packet hold pointers, does not.
const packetFlags = C.AV_PKT_FLAG_KEY | C.AV_PKT_FLAG_CORRUPT | C.AV_PKT_FLAG_DISCARD | C.AV_PKT_FLAG_DISPOSABLE

const (
	bytesTimes     = 1 << 60 // ticks
	bytesChannels  = 512
	bytesExtradata = 1 << 28
)

// Bytes is the packets and what is known of their stream as bytes, in memory that alloc gives, for [PacketsOf] in another process.
func (p *Packets) Bytes(alloc func(n int) ([]byte, error)) ([]byte, error) {
	w := &bytesWriter{}
	p.write(w)
	b, err := alloc(w.n)
	if err != nil {
		return nil, err
	}
	w = &bytesWriter{to: b[:0]}
	p.write(w)
	return b, nil
}

// bytesWriter counts where there is nowhere to write.
type bytesWriter struct {
	to []byte
	n  int
}

func (w *bytesWriter) bytes(b []byte) {
	w.n += len(b)
	if w.to != nil {
		w.to = append(w.to, b...)
	}
}

func (w *bytesWriter) number(v any) {
	w.n += binary.Size(v)
	if w.to != nil {
		w.to, _ = binary.Append(w.to, binary.LittleEndian, v) // of fixed size
	}
}

func (p *Packets) write(w *bytesWriter) {
	h, s := p.head(), p.stream0()
	name := ""
	if f := p.p.format.iformat; f != nil {
		name = C.GoString(f.name)
	}
	side := kept(s.side_data, s.nb_side_data)
	h.NameBytes, h.Extradata, h.SideData = uint32(len(name)), uint32(s.codecpar.extradata_size), uint32(len(side))
	w.bytes([]byte(bytesMagic))
	w.number(h)
	w.bytes([]byte(name))
	w.bytes(seen(s.codecpar.extradata, C.size_t(s.codecpar.extradata_size)))
	writeSide(w, side)
	for _, packet := range unsafe.Slice(p.p.packet, p.p.n) {
		side := kept(packet.side_data, packet.side_data_elems)
		w.number(bytesPacket{
			int64(packet.pts), int64(packet.dts), int64(packet.duration), int64(packet.pos),
			uint32(packet.flags) & packetFlags, uint32(packet.size), uint32(len(side)),
		})
		w.bytes(seen(packet.data, C.size_t(packet.size)))
		writeSide(w, side)
	}
}

func seen(data *C.uint8_t, n C.size_t) []byte { return unsafe.Slice((*byte)(data), int(n)) }

func kept(all *C.AVPacketSideData, n C.int) (list []C.AVPacketSideData) {
	for _, d := range unsafe.Slice(all, int(n)) {
		if least := C.least(d._type); least > 0 && d.size >= least {
			list = append(list, d)
		}
	}
	return list
}

func writeSide(w *bytesWriter, list []C.AVPacketSideData) {
	for _, d := range list {
		w.number([2]uint32{uint32(d._type), uint32(d.size)})
		w.bytes(seen(d.data, d.size))
	}
}

func (p *Packets) head() bytesHead {
	f, s := p.p.format, p.stream0()
	c := s.codecpar
	h := bytesHead{
		Codec: uint32(C.avcodec_version() >> 16), Format: uint32(C.avformat_version() >> 16), Stream: int32(p.stream), Origin: int64(p.p.origin),
		ContainerDuration: int64(f.duration), Estimation: int32(f.duration_estimation_method),
		TimeBase: ratio(s.time_base), Rate: ratio(s.avg_frame_rate), Guess: ratio(s.r_frame_rate), Aspect: ratio(s.sample_aspect_ratio),
		Start: int64(s.start_time), Duration: int64(s.duration), Frames: int64(s.nb_frames), Disposition: int32(s.disposition),
		Type: int32(c.codec_type), ID: int32(c.codec_id), Tag: uint32(c.codec_tag), SampleFormat: int32(c.format), BitRate: int64(c.bit_rate),
		CodedBits: int32(c.bits_per_coded_sample), RawBits: int32(c.bits_per_raw_sample), Profile: int32(c.profile), Level: int32(c.level),
		Width: int32(c.width), Height: int32(c.height), PixelAspect: ratio(c.sample_aspect_ratio), Fields: int32(c.field_order),
		Range: int32(c.color_range), Primaries: int32(c.color_primaries), Transfer: int32(c.color_trc), Space: int32(c.color_space),
		Location: int32(c.chroma_location), Delay: int32(c.video_delay), SampleRate: int32(c.sample_rate), Block: int32(c.block_align),
		FrameSize: int32(c.frame_size), Padding: int32(c.initial_padding), EndPadding: int32(c.trailing_padding), Preroll: int32(c.seek_preroll),
		Channels: int32(c.ch_layout.nb_channels), Mask: uint64(C.layout_mask(&c.ch_layout)), Packets: uint64(p.p.n),
	}
	if p.Window != nil {
		h.Window, h.Flags = *p.Window, bytesWindow
	}
	if p.p.from_start != 0 {
		h.Flags |= bytesFromStart
	}
	if p.p.whole != 0 {
		h.Flags |= bytesWhole
	}
	return h
}

func ratio(r C.AVRational) [2]int32 { return [2]int32{int32(r.num), int32(r.den)} }

// PacketsOf is the packets that Bytes made bytes of. They may come from anywhere: what they say is checked before FFmpeg sees it, and what
// is wrong is an *Error. Nothing of b is kept.
func PacketsOf(b []byte) (*Packets, error) {
	if err := LoadContainers(); err != nil {
		return nil, NewError("packets", StatusUnsupported, "FFmpeg "+err.Error())
	}
	r := &bytesReader{b: b}
	if magic := r.take(len(bytesMagic)); string(magic) != bytesMagic {
		return nil, NewError("packets", StatusNotMedia, fmt.Sprintf("they begin with %.8q, want %q; want bytes that packets were made into", b[:min(len(b), 8)], bytesMagic))
	}
	var h bytesHead
	r.number(&h)
	if r.short {
		return nil, r.failed()
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	p := &Packets{p: C.media_packets_blank(), stream: int(h.Stream)}
	if p.p == nil {
		return nil, NewError("packets", StatusNoMemory, "")
	}
	p.holders.Store(1)
	if err := p.read(r, &h); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// bytesReader takes what is there, and zeros once it was short.
type bytesReader struct {
	b     []byte
	at    int
	short bool
}

func (r *bytesReader) take(n int) []byte {
	if r.short = r.short || n > len(r.b)-r.at; r.short {
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *bytesReader) number(v any) {
	if b := r.take(binary.Size(v)); b != nil {
		_, _ = binary.Decode(b, binary.LittleEndian, v) // of fixed size
	}
}

func (r *bytesReader) failed() error {
	return NewError("packets", StatusTruncated, fmt.Sprintf("got %d bytes, want more", len(r.b)))
}

func damaged(format string, args ...any) error {
	return NewError("packets", StatusCorrupt, fmt.Sprintf(format, args...))
}

// check refuses what no demuxer says, and what FFmpeg believes without looking.
func (h *bytesHead) check() error {
	if codec, format := uint32(C.avcodec_version()>>16), uint32(C.avformat_version()>>16); h.Codec != codec || h.Format != format {
		return NewError("packets", StatusUnsupported, fmt.Sprintf("made with libavcodec %d and libavformat %d, these are %d and %d; use one build on both sides, or send the source and the window",
			h.Codec, h.Format, codec, format))
	}
	d := C.avcodec_descriptor_get(uint32(h.ID))
	if h.Type != C.AVMEDIA_TYPE_VIDEO && h.Type != C.AVMEDIA_TYPE_AUDIO || d == nil || int32(d._type) != h.Type {
		return damaged("codec %d of kind %d, want one of a video or a sound", h.ID, h.Type)
	}
	if h.ID == C.AV_CODEC_ID_WRAPPED_AVFRAME { // whose packets are pointers
		return NewError("packets", StatusUnsupported, "codec wrapped_avframe, whose packets hold for one process alone")
	}
	if h.SampleFormat != -1 && !h.knownFormat() {
		return damaged("format %d, want one of FFmpeg's in memory", h.SampleFormat)
	}
	if (h.Width != 0 || h.Height != 0) && C.av_image_check_size(C.uint(h.Width), C.uint(h.Height), 0, nil) < 0 {
		return damaged("a picture of %dx%d", h.Width, h.Height)
	}
	if h.Channels < 0 || h.Channels > bytesChannels || h.Mask != 0 && bits.OnesCount64(h.Mask) != int(h.Channels) {
		return damaged("%d channels of %#x", h.Channels, h.Mask)
	}
	if h.TimeBase[0] < 1 || h.TimeBase[1] < 1 {
		return damaged("ticks of %d/%d s", h.TimeBase[0], h.TimeBase[1])
	}
	return h.checkRanges()
}

func (h *bytesHead) knownFormat() bool {
	if h.Type == C.AVMEDIA_TYPE_AUDIO {
		return C.av_get_sample_fmt_name(h.SampleFormat) != nil
	}
	d := C.av_pix_fmt_desc_get(h.SampleFormat)
	return d != nil && d.flags&C.AV_PIX_FMT_FLAG_HWACCEL == 0
}

func (h *bytesHead) checkRanges() error {
	for _, r := range [][2]int32{h.Rate, h.Guess, h.Aspect, h.PixelAspect} {
		if r[0] < 0 || r[1] < 0 {
			return damaged("a rate or an aspect of %d/%d", r[0], r[1])
		}
	}
	for name, v := range map[string]int32{
		"stream": h.Stream, "bits a coded sample": h.CodedBits, "bits a raw sample": h.RawBits, "rate": h.SampleRate, "block": h.Block, "frame": h.FrameSize,
		"padding": h.Padding, "padding at the end": h.EndPadding, "preroll": h.Preroll, "delay": h.Delay, "duration's estimation": h.Estimation,
	} {
		if v < 0 {
			return damaged("%s %d, want 0 or more", name, v)
		}
	}
	for name, v := range map[string]int32{
		"bits": max(h.CodedBits, h.RawBits), "delay": h.Delay, "field order": h.Fields, "range": h.Range, "primaries": h.Primaries, "transfer": h.Transfer,
		"matrix": h.Space, "chroma": h.Location, "estimation": h.Estimation,
	} {
		if v < 0 || v > 255 {
			return damaged("%s %d, want 0 to 255", name, v)
		}
	}
	for _, t := range []int64{h.Origin, h.Start, h.Duration, h.ContainerDuration} {
		if !isTime(t) {
			return damaged("a time of %d ticks", t)
		}
	}
	if from, to := h.Window[0], h.Window[1]; !(from <= to) || math.IsInf(from, 0) || math.IsInf(to, 0) {
		return damaged("a window from %v to %v s", from, to)
	} else if h.Flags&bytesWindow == 0 && (math.Float64bits(from) != 0 || math.Float64bits(to) != 0) {
		return damaged("a window from %v to %v s of packets that are said to have none", from, to)
	}
	if h.Frames < 0 || h.BitRate < 0 || h.Flags >= bytesWhole<<1 || h.Extradata > bytesExtradata {
		return damaged("%d frames, %d bits a second, flags %#x, %d bytes of extradata", h.Frames, h.BitRate, h.Flags, h.Extradata)
	}
	return nil
}

// isTime is a time in ticks that can be reckoned with, or none.
func isTime(t int64) bool { return t == math.MinInt64 || t >= -bytesTimes && t <= bytesTimes }

func (p *Packets) read(r *bytesReader, h *bytesHead) error {
	if err := p.readStream(r, h); err != nil {
		return err
	}
	one := C.av_packet_alloc()
	if one == nil {
		return NewError("packets", StatusNoMemory, "")
	}
	defer C.av_packet_free(&one)
	for i := range h.Packets {
		var b bytesPacket
		r.number(&b)
		data := r.take(int(b.Size))
		if r.short {
			return r.failed()
		}
		if err := b.check(i); err != nil {
			return err
		}
		if C.av_new_packet(one, C.int(b.Size)) < 0 {
			return NewError("packets", StatusNoMemory, "")
		}
		copy(seen(one.data, C.size_t(b.Size)), data)
		one.pts, one.dts, one.duration, one.pos, one.flags = C.int64_t(b.PTS), C.int64_t(b.DTS), C.int64_t(b.Duration), C.int64_t(b.Position), C.int(b.Flags)
		if err := readSide(r, b.SideData, func(kind C.enum_AVPacketSideDataType, n C.size_t) *C.uint8_t {
			return C.av_packet_new_side_data(one, kind, n)
		}); err != nil {
			return err
		}
		if C.media_packets_append(p.p, one) != StatusOK {
			return NewError("packets", StatusNoMemory, "")
		}
	}
	if r.at != len(r.b) {
		return damaged("%d bytes behind the last packet", len(r.b)-r.at)
	}
	return nil
}

func (b *bytesPacket) check(i uint64) error {
	switch {
	case b.Size > math.MaxInt32-C.AV_INPUT_BUFFER_PADDING_SIZE:
		return damaged("packet %d of %d bytes", i, b.Size)
	case !isTime(b.PTS) || !isTime(b.DTS) || b.Duration < 0 || b.Duration > bytesTimes:
		return damaged("packet %d at %d, %d, for %d ticks", i, b.PTS, b.DTS, b.Duration)
	case b.Flags&^uint32(packetFlags) != 0:
		return damaged("packet %d has flags %#x", i, b.Flags)
	}
	return nil
}

// readSide gives each of n side data room of its kind.
func readSide(r *bytesReader, n uint32, room func(C.enum_AVPacketSideDataType, C.size_t) *C.uint8_t) error {
	given := uint64(0) // a bit for each type: FFmpeg has one of each
	for range n {
		var d [2]uint32
		r.number(&d)
		data := r.take(int(d[1]))
		if r.short {
			return r.failed()
		}
		kind := C.enum_AVPacketSideDataType(d[0])
		if least := C.least(kind); least == 0 || C.size_t(d[1]) < least || d[1] > bytesExtradata {
			return damaged("side data of type %d in %d bytes", d[0], d[1])
		} else if given&(1<<kind) != 0 {
			return damaged("side data of type %d twice", d[0])
		}
		given |= 1 << kind
		to := room(kind, C.size_t(d[1]))
		if to == nil {
			return NewError("packets", StatusNoMemory, "the side data")
		}
		copy(seen(to, C.size_t(d[1])), data)
	}
	return nil
}

func (p *Packets) readStream(r *bytesReader, h *bytesHead) error {
	name, extradata := r.take(int(h.NameBytes)), r.take(int(h.Extradata))
	if r.short {
		return r.failed()
	}
	f, s := p.p.format, p.stream0()
	if f.iformat = demuxer(name); f.iformat == nil {
		return NewError("packets", StatusUnsupported, fmt.Sprintf("container %.40q, which this FFmpeg does not know", name))
	}
	if err := h.codec(s.codecpar, extradata); err != nil {
		return err
	}
	f.duration, f.duration_estimation_method = C.int64_t(h.ContainerDuration), C.enum_AVDurationEstimationMethod(h.Estimation)
	s.time_base, s.avg_frame_rate, s.r_frame_rate, s.sample_aspect_ratio = rational(h.TimeBase), rational(h.Rate), rational(h.Guess), rational(h.Aspect)
	s.start_time, s.duration, s.nb_frames, s.disposition = C.int64_t(h.Start), C.int64_t(h.Duration), C.int64_t(h.Frames), C.int(h.Disposition)
	p.p.origin = C.int64_t(h.Origin)
	if h.Flags&bytesFromStart != 0 {
		p.p.from_start = 1
	}
	if h.Flags&bytesWhole != 0 {
		p.p.whole = 1
	}
	if h.Flags&bytesWindow != 0 {
		p.Window = &[2]float64{h.Window[0], h.Window[1]}
	}
	return readSide(r, h.SideData, func(kind C.enum_AVPacketSideDataType, n C.size_t) *C.uint8_t {
		return C.av_stream_new_side_data(s, kind, n)
	})
}

// demuxer is FFmpeg's of exactly that name; nil: there is none.
func demuxer(name []byte) *C.AVInputFormat {
	text := C.CString(string(name))
	defer C.free(unsafe.Pointer(text))
	f := C.av_find_input_format(text)
	if f == nil || C.GoString(f.name) != string(name) {
		return nil
	}
	return f
}

func rational(r [2]int32) C.AVRational { return C.AVRational{C.int(r[0]), C.int(r[1])} }

func (h *bytesHead) codec(c *C.AVCodecParameters, extradata []byte) error {
	c.codec_type, c.codec_id, c.codec_tag, c.format = h.Type, uint32(h.ID), C.uint32_t(h.Tag), C.int(h.SampleFormat)
	c.bit_rate, c.bits_per_coded_sample, c.bits_per_raw_sample = C.int64_t(h.BitRate), C.int(h.CodedBits), C.int(h.RawBits)
	c.profile, c.level, c.width, c.height, c.sample_aspect_ratio = C.int(h.Profile), C.int(h.Level), C.int(h.Width), C.int(h.Height), rational(h.PixelAspect)
	c.field_order, c.color_range, c.color_primaries, c.color_trc = uint32(h.Fields), uint32(h.Range), uint32(h.Primaries), uint32(h.Transfer)
	c.color_space, c.chroma_location, c.video_delay = uint32(h.Space), uint32(h.Location), C.int(h.Delay)
	c.sample_rate, c.block_align, c.frame_size = C.int(h.SampleRate), C.int(h.Block), C.int(h.FrameSize)
	c.initial_padding, c.trailing_padding, c.seek_preroll = C.int(h.Padding), C.int(h.EndPadding), C.int(h.Preroll)
	C.set_layout(&c.ch_layout, C.int(h.Channels), C.uint64_t(h.Mask))
	if len(extradata) == 0 {
		return nil
	}
	if c.extradata = (*C.uint8_t)(C.av_mallocz(C.size_t(len(extradata) + C.AV_INPUT_BUFFER_PADDING_SIZE))); c.extradata == nil {
		return NewError("packets", StatusNoMemory, "the extradata")
	}
	c.extradata_size = C.int(len(extradata))
	copy(seen(c.extradata, C.size_t(len(extradata))), extradata)
	return nil
}
