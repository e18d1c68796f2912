package audio

// Stream is what a sample says of itself before it is decoded.
type Stream struct {
	Format   string  `json:"format"` // as Info's
	Codec    string  `json:"codec"`  // FFmpeg's name, such as "mp3" or "pcm_s16le"
	Rate     int     `json:"rate"`
	Channels int     `json:"channels"`
	Frames   int64   `json:"frames"`  // as its header counts them; -1: only decoding tells
	Seconds  float64 `json:"seconds"` // what the container claims; negative: nothing
	Start    float64 `json:"start"`   // of the file's clock, when the first frame is heard
}

// Probe reads a sample's header and, where that does not tell all, decodes its first frame.
func Probe(src Source) (Stream, error) {
	op, err := Compile(Config{})
	if err != nil {
		return Stream{}, err
	}
	w, err := op.NewWorker()
	if err != nil {
		return Stream{}, err
	}
	defer w.Close()
	s, err := w.probe(src)
	if err != nil && w.in.isFFmpegs() {
		s, err = w.probe(src)
	}
	return s, err
}

func (w *Worker) probe(src Source) (Stream, error) {
	var info Info
	err := w.in.open(w, src, &info)
	if err != nil {
		return Stream{}, err
	}
	s := Stream{Format: info.Format, Rate: info.Rate, Channels: info.Channels, Frames: info.Frames, Start: w.in.origin}
	switch w.in.reading {
	case byFFmpeg:
		w.in.other.facts(&s)
		return s, nil
	case asMP3:
		s.Codec = "mp3"
		if s.Frames = w.in.mp3.counted(); s.Frames >= 0 {
			break
		}
		if s.Frames, err = w.in.mp3.upTo(&info, -1); err != nil {
			return Stream{}, err
		}
	case asFLAC:
		s.Codec = "flac"
	case asAAC:
		s.Codec = "aac"
	case asOpus:
		s.Codec = "opus"
	case asPCM:
		s.Codec = encodings[w.in.pcm.Encoding].codec
	}
	s.Seconds = -1
	if s.Frames >= 0 {
		s.Seconds = float64(s.Frames) / float64(s.Rate)
	}
	return s, nil
}
