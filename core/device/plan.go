package device

// Plan is what an uploader is told.
type Plan struct {
	Device   int    `json:"device"`    // ordinal
	InFlight int    `json:"in_flight"` // batches that are copied at a time
	Copies   []Copy `json:"copies"`    // of the tensors on the device
}

// Copy is one tensor on the device, by the names in the schema.
type Copy struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Decode *Decode `json:"decode,omitempty"` // nil: what lies in the slot
	Finish *Finish `json:"finish,omitempty"` // nil: the bytes as they are
}

// Decode has the device decode pictures: From is ragged, each row a file or pixels, and To [rows, H, W, 3] bytes, or what Finish makes of
// them.
type Decode struct {
	Places  string `json:"places"` // a tensor, [rows, PlaceInts] of i32: what each row of From is
	H       int    `json:"h"`
	W       int    `json:"w"`
	Bicubic bool   `json:"bicubic"`
}

// The numbers of a row of Decode.Places.
const (
	PlaceKind   = iota // NoPicture, Pixels or JPEG
	PlaceWidth         // of the file
	PlaceHeight        //
	PlaceBoxX          // the part of it that is resized,
	PlaceBoxY
	PlaceBoxW
	PlaceBoxH
	PlaceResW // to this,
	PlaceResH
	PlaceX // and from where on that becomes the row; negative: zeros come first
	PlaceY
	PlaceFlip // 1: left and right change places then
	PlaceInts
)

// What a row of Decode's From is.
const (
	NoPicture = iota // nothing: a row of zeros
	Pixels           // the row as it shall be, [H, W, 3]
	JPEG             // a file for the device to decode
)

// Bounds of what a device decodes; other files are the processor's.
const (
	MaxPictureBytes = 128 << 20 // of its pixels
	MaxTaps         = 68        // coefficients of a pixel in each direction
)

// Finish makes of [rows, height, width, channels] bytes the numbers byte * Scale + Bias, [rows, channels, height, width]; of 4 channels at most.
type Finish struct {
	DType string    `json:"dtype"` // f32, f16 or bf16
	Scale []float32 `json:"scale"` // one a channel
	Bias  []float32 `json:"bias"`
}

// ExitFinal is an uploader's exit code when trying again is of no use, as without a driver.
const ExitFinal = 3
