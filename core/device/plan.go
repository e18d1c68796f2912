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
	Finish *Finish `json:"finish,omitempty"` // nil: the bytes as they are
}

// Finish makes of [rows, height, width, channels] bytes the numbers byte * Scale + Bias, [rows, channels, height, width]; of 4 channels at most.
type Finish struct {
	DType string    `json:"dtype"` // f32, f16 or bf16
	Scale []float32 `json:"scale"` // one a channel
	Bias  []float32 `json:"bias"`
}

// ExitFinal is an uploader's exit code when trying again is of no use, as without a driver.
const ExitFinal = 3
